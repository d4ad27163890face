/** Servers whose replies are written here as bytes, a scan of them, and the dashboard of its database. */
import { crc32, deflateSync } from "node:zlib";
import { concat, u16, u32, u64 } from "../../../src/core/bytes.ts";
import { type Endpoint, parseAddress } from "../../../src/core/address.ts";
import type {
  Responder,
  StreamAct,
  StreamResponder,
} from "../../../src/fleet/simulate/responder.ts";
import { scan } from "../../../src/library/scan.ts";
import { parseDatabaseLocation } from "../../../src/store/database_location.ts";
import { SimulatedNetwork } from "../../../src/testing/simulated_network.ts";
import { openDashboardData } from "../../../src/web/data/open_dashboard_data.ts";
import type { DashboardData } from "../../../src/web/queries/dashboard_data.ts";

const encode = (text: string) => new TextEncoder().encode(text);

/** A PNG of 64×64 grey pixels. */
export const PNG: Uint8Array = pngOf(64);
export const ICON = `data:image/png;base64,${PNG.toBase64()}`;
export const ANN = "069a79f4-44e9-4726-a5be-fca90e38aaf5";
export const BOB = "61699b2e-d327-4a01-9f1e-0ea8c3f06bc6";

function pngOf(size: number): Uint8Array {
  const chunk = (type: string, data: Uint8Array) => {
    const body = concat(encode(type), data);
    return concat(u32(data.length), body, u32(crc32(body)));
  };
  const rows = new Uint8Array(size * (size + 1)).map((_, i) => i % (size + 1) === 0 ? 0 : 0x80);
  return concat(
    Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a),
    chunk("IHDR", concat(u32(size), u32(size), Uint8Array.of(8, 0, 0, 0, 0))),
    chunk("IDAT", new Uint8Array(deflateSync(rows))),
    chunk("IEND", new Uint8Array()),
  );
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  do {
    bytes.push((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    value >>>= 7;
  } while (value > 0);
  return Uint8Array.from(bytes);
}

/** A Java server that sends a status; `kick`: that refuses the request with a kick of before 1.7. */
function java(status: unknown): StreamResponder {
  return {
    accept: () => {
      let received = new Uint8Array();
      let frames = 0;
      return {
        opening: [],
        receive: (bytes) => {
          received = concat(received, bytes);
          const acts: StreamAct[] = [];
          while (received.length > 0) {
            if (received[0] === 0xfe || status === "kick") return [...acts, ...kick(status)];
            const size = received[0] + 1; // all frames of a client are shorter than 128 bytes
            if (received.length < size) break;
            const frame = received.subarray(1, size);
            received = received.slice(size);
            frames++;
            if (frame[0] === 1) acts.push({ bytes: concat([frame.length], frame) });
            else if (frames > 1) acts.push({ bytes: statusFrame(JSON.stringify(status)) });
          }
          return acts;
        },
      };
    },
  };
}

function kick(status: unknown): readonly StreamAct[] {
  if (status !== "kick") return ["close"];
  const text = "Protocol error";
  const utf16 = Uint8Array.from([...text].flatMap((char) => [0, char.charCodeAt(0)]));
  return [{ bytes: concat([0xff], u16(text.length), utf16) }, "close"];
}

function statusFrame(json: string): Uint8Array {
  const text = encode(json);
  const body = concat([0], varint(text.length), text);
  return concat(varint(body.length), body);
}

const MAGIC = Uint8Array.fromHex("00ffff00fefefefefdfdfdfd12345678");

/** A Bedrock server with an advertisement. */
function bedrock(advertisement: string): Responder {
  return {
    respond: (datagram) => {
      if (datagram[0] !== 1 && datagram[0] !== 2) return [];
      const text = encode(advertisement);
      const time = datagram.subarray(1, 9);
      return [concat([0x1c], time, u64(123456789n), MAGIC, u16(text.length), text)];
    },
  };
}

/** A server that replies in Query, with pairs of a full stat and names of players. */
function query(pairs: Readonly<Record<string, string>>, players: readonly string[]): Responder {
  return {
    respond: (datagram) => {
      if (datagram[0] !== 0xfe || datagram[1] !== 0xfd) return [];
      const session = datagram.subarray(3, 7);
      if (datagram[2] === 9) return [concat([9], session, encode("9513307\0"))];
      if (datagram.length < 15) return []; // a basic stat
      const values = Object.entries(pairs).map(([key, value]) => `${key}\0${value}\0`).join("");
      const names = players.map((name) => `${name}\0`).join("");
      const text = `splitnum\0\u0080\0${values}\0\u0001player_\0\0${names}\0`;
      return [concat([0], session, Uint8Array.from(text, (char) => char.charCodeAt(0)))];
    },
  };
}

const VERSION = { name: "Paper 1.21.4", protocol: 769 };
const SAMPLE = [{ name: "Ann", id: ANN }, { name: "Bob", id: BOB }];
const PLAYERS = { max: 20, online: 2, sample: SAMPLE };
export const NOBODY = "00000000-0000-0000-0000-000000000000";
const PAIRS = {
  hostname: "Hello",
  gametype: "SMP",
  game_id: "MINECRAFT",
  version: "1.21.4",
  plugins: "Paper on Bukkit 1.21.4: WorldEdit 7.3.0; Vault",
  map: "world",
  numplayers: "2",
  maxplayers: "20",
  hostport: "25565",
  hostip: "127.0.0.1",
};

/** The servers with Server List Ping, by address; all on port 25565 but the last. */
const STATUSES: Readonly<Record<string, unknown>> = {
  "45.33.32.1": {
    version: VERSION,
    players: PLAYERS,
    description: { text: "§cHello\n<World>" },
    favicon: ICON,
  },
  "45.33.32.2": "kick",
  "45.33.32.3": { version: VERSION, description: "Hidden" },
  "45.33.32.4": { version: VERSION, players: PLAYERS, description: { text: "Silent" } },
  "45.33.32.5": {
    version: { name: "1.16.5", protocol: 754 },
    players: { max: 5, online: 0 },
    description: "Modded",
    forgeData: {
      channels: [],
      mods: [{ modId: "minecraft", modmarker: "1.16.5" }, { modId: "spark", modmarker: "1.9" }],
      fmlNetworkVersion: 2,
    },
  },
  "45.33.32.6": {
    version: VERSION,
    players: {
      max: 9,
      online: 1,
      sample: [{ name: "§6Welcome to", id: NOBODY }, { name: "§cour & server", id: NOBODY }],
    },
    description: "Text",
  },
  "45.33.32.7": {
    version: VERSION,
    players: { max: 9, online: 0 },
    description: {
      text: "",
      extra: [
        { text: "Hex", color: "#12AbEf" },
        { text: " bold", color: "gold", bold: true },
        { text: " \"q\" & 'a'\n" },
        { text: "magic", obfuscated: true, color: "red" },
        "§astring§r end",
      ],
    },
  },
  "45.33.32.8": { version: { protocol: 769 }, players: { max: 9, online: 0 }, description: "Old" },
  "2600:3c01::1": { version: VERSION, players: PLAYERS, description: "Six" },
  "45.33.32.11": {
    version: VERSION,
    players: { max: 8, online: 0, sample: [] },
    description: "Behind SRV",
  },
  "45.33.32.12": { version: VERSION, players: PLAYERS, description: "Gone" },
};

/** Names and what leads to them. */
export function dossierNetwork(): SimulatedNetwork {
  const network = new SimulatedNetwork();
  const on = (host: string, port: number): Endpoint => ({ address: parseAddress(host)!, port });
  for (const [host, status] of Object.entries(STATUSES)) {
    network.streams.host(on(host, host === "45.33.32.11" ? 25570 : 25565), java(status));
  }
  network.datagrams.host(on("45.33.32.1", 25565), query(PAIRS, ["Ann", "Bob"]));
  network.datagrams.host(
    on("45.33.32.13", 25565),
    query({ ...PAIRS, plugins: "", hostname: "Query" }, ["Ann", "Bob"]),
  );
  network.datagrams.host(
    on("45.33.32.9", 19132),
    bedrock(
      "MCPE;§aBed§lrock;776;1.21.60;3;10;987654321;Second line;Survival;1;19132;19133;",
    ),
  );
  network.datagrams.host(on("45.33.32.10", 19132), bedrock("MCEE;School;776;1.21.60;0;30"));
  network.addName("play.example.org", ["45.33.32.14"], { host: "mc.example.net", port: 25570 });
  network.addName("mc.example.net", ["45.33.32.11"]);
  network.addName("plain.example.org", ["45.33.32.4"]);
  network.addName("bed.example.org", ["45.33.32.9"]);
  return network;
}

/** Scans the servers, then the one again that has gone since; runs a test with the database. */
export async function withScannedServers(
  test: (data: DashboardData) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/servers.db`;
    const network = dossierNetwork();
    const run = (words: readonly string[], name: string) =>
      network.run(Array.fromAsync(scan(words, {
        network,
        output: [path],
        checkpoint: `${folder}/${name}`,
        downAfter: 1,
        iHavePermission: true,
        contact: "admin@example.org",
        allowPrivate: true,
      })));
    const names = ["play.example.org", "plain.example.org", "bed.example.org"];
    await run([...names, "45.33.32.0/28", "2600:3c01::1"], "first");
    network.removeServer({ host: "45.33.32.12", port: 25565 });
    await run(["45.33.32.12"], "second");
    const location = parseDatabaseLocation(path)!;
    await using data = await openDashboardData(location, {
      resolve: (path) => path,
      password: () => Promise.resolve(undefined),
    }, (line) => {
      throw new Error(line);
    });
    await test(data);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
