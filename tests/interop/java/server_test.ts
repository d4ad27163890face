/** A query and a scan of Java servers of node-minecraft-protocol. */
import { assert, assertEquals } from "@std/assert";
import { concat } from "../../../src/core/bytes.ts";
import { readNdjson } from "../../../src/fleet/judge/verify_rows.ts";
import * as slp from "../../../src/protocols/slp/mod.ts";
import { blocksweep, javaScript, Peer, run, scan } from "../processes.ts";
import { comparable } from "../rows.ts";

const PORT = 25565;
/** A PNG of one pixel, and its SHA-256. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA" +
  "AABJRU5ErkJggg==";
const PIXEL_HASH = "6b7fa434f92a8b80aab02d9bf1a12e49ffcae424e4013a1c4f68b67e3d2bbcd0";

/** A server: its configuration (see peers/server.ts), and the expected row. */
interface Case {
  readonly host: string;
  readonly options: Record<string, unknown>;
  readonly columns: Record<string, unknown>;
  readonly facts?: Record<string, unknown>;
}

const CONFIGURED: Case = {
  host: "127.77.2.1",
  options: {
    version: "1.21.4",
    motd: "§6Inter§lop ✓ 你好",
    maxPlayers: 42,
    favicon: `data:image/png;base64,${PIXEL}`,
  },
  columns: {
    ...{ name: "Interop ✓ 你好", motd: "§6Inter§lop ✓ 你好", motd_plain: "Interop ✓ 你好" },
    ...{ version: "1.21.4", protocol_version: 769, favicon_hash: PIXEL_HASH },
    ...{ players_online: 0, players_max: 42, players: [] },
    ...{ software: "node-minecraft-protocol", software_confidence: "C" },
  },
  facts: {
    version_name: "1.21.4",
    keys: ["version", "players", "description", "favicon"],
    ...{ sample_size: 0, favicon_size: 70 },
  },
};

/** A player is online, and the list of players is empty, as this library sends it. */
const BUSY: Case = {
  host: "127.77.2.2",
  options: {
    ...{ version: "1.8.8", motd: "busy" },
    status: { players: { max: 9, online: 3, sample: [] } },
  },
  columns: {
    ...{ name: "busy", motd: "busy", motd_plain: "busy" },
    ...{ version: "1.8.8", protocol_version: 47 },
    ...{ players_online: 3, players_max: 9, players: [] },
    ...{ software: "node-minecraft-protocol", software_confidence: "B" },
  },
  facts: { version_name: "1.8.8", sample_size: 0 },
};

/** A hook changes the status, which then looks like that of other software. */
const DISGUISED: Case = {
  host: "127.77.2.3",
  options: {
    version: "1.16.5",
    status: {
      version: { name: "Paper 1.16.5", protocol: 754 },
      players: {
        ...{ max: 9, online: 2 },
        sample: [{ name: "Ann", id: "0" }, { name: "Bob_7", id: "1" }],
      },
      description: { text: "a", color: "red", extra: [{ text: "b", bold: true }, "c"] },
    },
  },
  columns: {
    ...{ name: "abc", motd: "§ca§lb§cc", motd_plain: "abc" },
    ...{ version: "1.16.5", protocol_version: 754 },
    ...{ players_online: 2, players_max: 9, players: ["Ann", "Bob_7"] },
    ...{ software: "Paper", software_confidence: "A" },
  },
  facts: { version_name: "Paper 1.16.5", sample_size: 2 },
};

/** A server for every version repeats the client's protocol number, even an invalid one. */
const ANY_VERSION: Case = {
  host: "127.77.2.4",
  options: { version: false, motd: "which?" },
  columns: {
    ...{ name: "which?", motd: "which?", motd_plain: "which?" },
    ...{ version: "1.21.1", protocol_version: slp.ANY_PROTOCOL },
    ...{ players_online: 0, players_max: 20, players: [] },
    ...{ software: "node-minecraft-protocol", software_confidence: "C" },
  },
  facts: { version_name: "1.21.1", sample_size: 0 },
};

/** A server that closes the connection of a client without a version. */
const PARTICULAR: Case = {
  host: "127.77.2.5",
  options: { version: "1.20.4", motd: "who?", closesOn: slp.ANY_PROTOCOL },
  columns: {
    ...{ name: "who?", motd: "who?", motd_plain: "who?" },
    ...{ version: "1.20.4", protocol_version: 765 },
    ...{ players_online: 0, players_max: 20, players: [] },
    ...{ software: "node-minecraft-protocol", software_confidence: "C" },
  },
  facts: { version_name: "1.20.4", sample_size: 0 },
};

/** A server that closes the connection instead of sending a status, except for legacy pings. */
const OLD: Case = {
  host: "127.77.2.6",
  options: { version: "1.20.4", motd: "old §athings", maxPlayers: 7, closesOn: "all" },
  columns: {
    ...{ name: "old things", motd: "old §athings", motd_plain: "old things" },
    ...{ version: "1.20.4", protocol_version: 765, players_online: 0, players_max: 7 },
    extras: { slp: { form: "legacy 1.4", version_name: "1.20.4", request: "fe01fa" } },
  },
};

const CASES = [CONFIGURED, BUSY, DISGUISED, ANY_VERSION, PARTICULAR, OLD];

/** All columns of a row. */
function rowOf({ host, columns, facts }: Case) {
  const status = {
    ...{ form: "status", motd_form: "object", keys: ["version", "players", "description"] },
    version_keys: ["name", "protocol"],
    players_keys: ["max", "online", "sample"],
    ...facts,
  };
  const place = { host, port: PORT, protocol: "slp", protocols: ["slp"], edition: "java" };
  return { ...place, flags: [], extras: { slp: status }, ...columns };
}

function start(): Promise<Peer> {
  const servers = CASES.map(({ host, options }) => ({ host, port: PORT, ...options }));
  return Peer.start(javaScript("server.ts", JSON.stringify(servers)), /^ready$/m);
}

/**
 * Packets that a server received, as it decoded them. The eight bytes of a ping are two numbers.
 */
function packetsAt({ host }: Case, log: string): string[] {
  const lines = log.split("\n").filter((line) => line.startsWith(`${host} `));
  return lines.map((line) => line.slice(host.length + 1).replace(/\[-?\d+,-?\d+\]/, "[…]"));
}

/** A status request as the servers decode it. */
const queried = ({ host }: Case, protocolVersion: number) => [
  `set_protocol ${
    JSON.stringify({ protocolVersion, serverHost: host, serverPort: PORT, nextState: 1 })
  }`,
  "ping_start {}",
];
const PING = 'ping {"time":[…]}';
const LEGACY = 'legacy_server_list_ping {"payload":1}';

Deno.test("query: servers of node-minecraft-protocol give rows as configured", async () => {
  await using servers = await start();
  for (const one of CASES) {
    const command = ["query", `${one.host}:${PORT}`, "--protocol", "slp", "--json"];
    const rows = readNdjson(await run(blocksweep(...command)));
    assertEquals<unknown>(rows.map(comparable), [rowOf(one)]);
  }
  const log = await servers.end();
  for (const one of [CONFIGURED, BUSY, DISGUISED, ANY_VERSION]) {
    assertEquals(packetsAt(one, log), [...queried(one, slp.ANY_PROTOCOL), PING]);
  }
  const again = (one: Case) => [...queried(one, slp.ANY_PROTOCOL), ...queried(one, 765)];
  assertEquals(packetsAt(PARTICULAR, log), [...again(PARTICULAR), PING]);
  assertEquals(packetsAt(OLD, log), [...again(OLD), ...queried(OLD, 47), LEGACY]);
});

Deno.test("scan: one sweep in every protocol finds the same servers", async () => {
  await using servers = await start();
  const { rows } = await scan("127.77.2.0/29", "-p", String(PORT));
  const byHost = rows.map(comparable).toSorted((a, b) => a.host! < b.host! ? -1 : 1);
  assertEquals<unknown>(byHost, CASES.map(rowOf));
  const log = await servers.end();
  assertEquals(packetsAt(CONFIGURED, log), queried(CONFIGURED, slp.ANY_PROTOCOL));
  assertEquals(packetsAt(OLD, log).at(-1), LEGACY);
});

/** Sends a legacy ping, and reads the kick. */
async function kick(hostname: string, data: slp.LegacyPing["data"]) {
  using connection = await Deno.connect({ hostname, port: PORT });
  await connection.write(slp.encodeLegacyPing({ data }));
  let bytes = new Uint8Array();
  for await (const chunk of connection.readable) {
    bytes = concat(bytes, chunk);
    if (bytes.length === slp.legacyReplyEnd(bytes)) break;
  }
  return slp.decodeLegacyReply(bytes);
}

Deno.test("slp: replies of these servers to all legacy pings are decoded", async () => {
  await using _servers = await start();
  const { host } = CONFIGURED;
  const status = { motd: "§6Inter§lop ✓ 你好", online: 0, max: 42 };
  const beta = { form: "beta", protocol: null, version: null, ...status };
  const later = { form: "1.4", protocol: 769, version: "1.21.4", ...status };
  for (const data of ["none", "01", { protocol: 78, host, port: PORT }] as const) {
    const reply = await kick(host, data);
    assert(reply !== undefined);
    assertEquals<unknown>([reply.status, reply.flags], [data === "none" ? beta : later, []]);
  }
});
