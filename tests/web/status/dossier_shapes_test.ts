/**
 * The documents of mcsrvstat.us and mcstatus.io, member by member, as those services describe them:
 * servers whose replies are bytes of the test, found by a scan.
 */
import { assert, assertEquals, AssertionError, assertMatch } from "@std/assert";
import { openFreshStatuses } from "../../../src/app/status_api/open_fresh_statuses.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { settingsOf } from "../../app/status_api/bench.ts";
import { type Client, clientOf } from "../http/client.ts";
import {
  ANN,
  BOB,
  dossierNetwork,
  ICON,
  NOBODY,
  PNG,
  withScannedServers,
} from "./dossier_servers.ts";

type Document = Readonly<Record<string, unknown>>;

/** How long a status may count as fresh, seconds: of the database, or of a probe. */
const DATABASE_S = [60];
const PROBE_S = [30, 60, 300];

/** Reads the document of a path, and checks its times, which a scan or probe determines. */
async function read(get: Client, path: string, freshS: readonly number[]): Promise<Document> {
  const { status, text, headers } = await get(`GET ${path}`);
  assertEquals([status, headers["content-type"]], [200, "application/json"], `${path}: ${text}`);
  assertEquals(headers["access-control-allow-origin"], "*");
  const document = JSON.parse(text);
  if ("debug" in document) {
    const { cachetime, cacheexpire, ...debug } = document.debug;
    assert(Number.isInteger(cachetime) && cachetime > 1.7e9 && cachetime < 2e9, `${cachetime}`);
    assert(freshS.includes(cacheexpire - cachetime), path);
    if (debug.error?.ping) debug.error.ping = REASON;
    assertEquals(typeof debug.cachehit, "boolean");
    if (freshS === PROBE_S) delete debug.cachehit; // the result of one probe is shared
    return { ...document, debug };
  }
  const { retrieved_at, expires_at, ...rest } = document;
  assert(retrieved_at > 1.7e12 && retrieved_at < 2e12, `${retrieved_at}`);
  assert(freshS.includes((expires_at - retrieved_at) / 1000), path);
  if (document.online && freshS === DATABASE_S) assertEquals(headers["x-cache-hit"], "true", path);
  const left = headers["x-cache-time-remaining"];
  assertEquals(left !== undefined && /^\d+$/.test(left), headers["x-cache-hit"] === "true");
  return rest;
}

/** The member `debug` of mcsrvstat.us. */
const debug = (apiversion: number, more: Document = {}) => ({
  ...{ ping: true, query: false, bedrock: false, srv: false, querymismatch: false },
  ...{ ipinsrv: false, cnameinsrv: false, animatedmotd: false, cachehit: true, apiversion },
  ...more,
});
/** Why there is no status, in words of the product's own. */
const REASON = "a text";
const UNREACHED = { ping: false, query: false, error: { ping: REASON } };
const BEDROCK = { bedrock: true };
const NO_ADDRESS = {
  ...UNREACHED,
  cachehit: false,
  error: { ip: "DNS lookup failed, no IP detected." },
};
const at = (ip: string, port = 25565) => ({ online: true, ip, port });
const down = (ip: string, port = 25565) => ({ online: false, ip, port });
const plain = (...lines: readonly string[]) => ({ raw: lines, clean: lines, html: lines });
const NAMED = { version: "Paper 1.21.4", software: "Paper", eula_blocked: false };
const PROTOCOL = { version: 769, name: "1.21.4" };
const WORLD = { raw: "world", clean: "world", html: "world" };
const RED_LINES = {
  raw: ["§cHello", "<World>"],
  clean: ["Hello", "<World>"],
  html: [
    '<span style="color: #FF5555">Hello</span>',
    '<span style="color: #FF5555">&lt;World&gt;</span>',
  ],
};
const INFO = {
  raw: ["§6Welcome to", "§cour & server"],
  clean: ["Welcome to", "our & server"],
  html: [
    '<span style="color: #FFAA00">Welcome to</span>',
    '<span style="color: #FF5555">our &amp; server</span>',
  ],
};
const BED_MOTD = {
  raw: ["§aBed§lrock"],
  clean: ["Bedrock"],
  html: [
    '<span style="color: #55FF55">Bed</span>' +
    '<span style="color: #55FF55"><span style="font-weight: bold;">rock</span></span>',
  ],
};
const SECOND_LINE = { raw: "Second line", clean: "Second line", html: "Second line" };

/** The members of mcstatus.io that are always there. */
const host = (name: string, port = 25565, ip: string | null = name) => ({
  ...{ host: name, port, ip_address: ip, eula_blocked: false },
});
const on = (name: string, port?: number, ip?: string) => ({
  online: true,
  ...host(name, port, ip),
});
const off = (name: string, port?: number, ip?: string | null) => ({
  online: false,
  ...host(name, port, ip),
});
const spans = (text: string) => `<span><span>${text}</span></span>`;
const motd = (text: string) => ({ raw: text, clean: text, html: spans(text) });
const version = (name: string, protocol: number | null = 769) => ({
  ...{ name_raw: name, name_clean: name, name_html: spans(name), protocol },
});
const player = (name: string) => ({
  ...{ uuid: "", name_raw: name, name_clean: name, name_html: spans(name) },
});
const BARE = { icon: null, mods: [], plugins: [], software: null, srv_record: null };
const PAPER = { ...BARE, version: version("Paper 1.21.4"), software: "Paper" };
const ANN_AND_BOB = [player("Ann"), player("Bob")];

/** Documents by path; `names`: what differs with `--names`. */
const DOCUMENTS: Readonly<Record<string, readonly [Document, names?: Document]>> = {
  // A Java server with Query and an icon
  "/3/45.33.32.1": [{
    ...at("45.33.32.1"),
    ...NAMED,
    debug: debug(3, { query: true }),
    protocol: PROTOCOL,
    icon: ICON,
    map: WORLD,
    motd: RED_LINES,
    players: { online: 2, max: 20 },
    plugins: [{ name: "WorldEdit", version: "7.3.0" }, { name: "Vault", version: "" }],
  }, {
    players: {
      ...{ online: 2, max: 20 },
      list: [{ name: "Ann", uuid: "" }, { name: "Bob", uuid: "" }],
    },
  }],
  "/2/45.33.32.1:25565": [{
    ...at("45.33.32.1"),
    ...NAMED,
    debug: debug(2, { query: true }),
    protocol: 769,
    icon: ICON,
    map: "world",
    motd: RED_LINES,
    players: { online: 2, max: 20 },
    plugins: { names: ["WorldEdit", "Vault"], raw: ["WorldEdit 7.3.0", "Vault"] },
  }, { players: { online: 2, max: 20, list: ["Ann", "Bob"] } }],
  "/v2/status/java/45.33.32.1": [{
    ...on("45.33.32.1"),
    ...PAPER,
    icon: ICON,
    players: { online: 2, max: 20, list: [] },
    motd: {
      raw: "§cHello\n<World>",
      clean: "Hello\n<World>",
      html: '<span><span style="color: #ff5555;">Hello</span>\n' +
        '<span style="color: #ff5555;">&lt;World&gt;</span></span>',
    },
    plugins: [{ name: "WorldEdit", version: "7.3.0" }, { name: "Vault", version: null }],
  }, { players: { online: 2, max: 20, list: ANN_AND_BOB } }],
  // It has no Bedrock edition
  "/bedrock/3/45.33.32.1": [{
    ...down("45.33.32.1", 19132),
    debug: debug(3, { ...UNREACHED, ...BEDROCK, cachehit: false }),
  }],
  "/v2/status/bedrock/45.33.32.1": [off("45.33.32.1", 19132)],
  // A Bedrock server
  "/bedrock/3/45.33.32.9": [{
    ...at("45.33.32.9", 19132),
    debug: debug(3, BEDROCK),
    version: "1.21.60",
    protocol: { version: 776, name: "1.21.60" },
    map: SECOND_LINE,
    motd: BED_MOTD,
    players: { online: 3, max: 10 },
    gamemode: "Survival",
    serverid: "987654321",
  }],
  "/bedrock/2/bed.example.org": [{
    ...at("45.33.32.9", 19132),
    hostname: "bed.example.org",
    debug: debug(2, BEDROCK),
    version: "1.21.60",
    protocol: 776,
    map: "Second line",
    motd: BED_MOTD,
    players: { online: 3, max: 10 },
    gamemode: "Survival",
    serverid: "987654321",
  }],
  "/v2/status/bedrock/BED.example.org": [{
    ...on("bed.example.org", 19132, "45.33.32.9"),
    version: { name: "1.21.60", protocol: 776 },
    players: { online: 3, max: 10 },
    motd: {
      raw: "§aBed§lrock\nSecond line",
      clean: "Bedrock\nSecond line",
      html: '<span><span style="color: #55ff55;">Bed</span>' +
        '<span style="color: #55ff55;font-weight: bold;">rock</span>\n' +
        "<span>Second line</span></span>",
    },
    ...{ gamemode: "Survival", server_id: "987654321", edition: "MCPE" },
  }],
  // An Education server without number and mode
  "/v2/status/bedrock/45.33.32.10": [{
    ...on("45.33.32.10", 19132),
    version: { name: "1.21.60", protocol: 776 },
    players: { online: 0, max: 30 },
    motd: motd("School"),
    ...{ gamemode: null, server_id: null, edition: "MCEE" },
  }],
  // A kick, and a server that has gone
  ...offline("45.33.32.2"),
  ...offline("45.33.32.12"),
  // Hidden players
  "/3/45.33.32.3": [{
    ...at("45.33.32.3"),
    ...NAMED,
    debug: debug(3),
    protocol: PROTOCOL,
    motd: plain("Hidden"),
    players: { online: 0, max: 0 },
  }],
  "/v2/status/java/45.33.32.3": [{
    ...on("45.33.32.3"),
    ...PAPER,
    players: { online: null, max: null, list: [] },
    motd: motd("Hidden"),
  }],
  // Query off
  "/3/plain.example.org": [{
    ...at("45.33.32.4"),
    ...NAMED,
    hostname: "plain.example.org",
    debug: debug(3),
    protocol: PROTOCOL,
    motd: plain("Silent"),
    players: { online: 2, max: 20 },
  }, {
    players: {
      ...{ online: 2, max: 20 },
      list: [{ name: "Ann", uuid: "" }, { name: "Bob", uuid: "" }],
    },
  }],
  "/v2/status/java/Plain.Example.org:25565": [{
    ...on("plain.example.org", 25565, "45.33.32.4"),
    ...PAPER,
    players: { online: 2, max: 20, list: [] },
    motd: motd("Silent"),
  }, { players: { online: 2, max: 20, list: ANN_AND_BOB } }],
  // Mods
  "/3/45.33.32.5": [{
    ...at("45.33.32.5"),
    debug: debug(3),
    version: "1.16.5",
    software: "Forge",
    eula_blocked: false,
    protocol: { version: 754, name: "1.16.5" },
    motd: plain("Modded"),
    players: { online: 0, max: 5 },
    mods: [{ name: "minecraft", version: "1.16.5" }, { name: "spark", version: "1.9" }],
  }],
  "/2/45.33.32.5": [{
    ...at("45.33.32.5"),
    debug: debug(2),
    version: "1.16.5",
    software: "Forge",
    eula_blocked: false,
    protocol: 754,
    motd: plain("Modded"),
    players: { online: 0, max: 5 },
    mods: { names: ["minecraft", "spark"], raw: ["minecraft 1.16.5", "spark 1.9"] },
  }],
  "/v2/status/java/45.33.32.5": [{
    ...on("45.33.32.5"),
    ...BARE,
    software: "Forge",
    version: version("1.16.5", 754),
    players: { online: 0, max: 5, list: [] },
    motd: motd("Modded"),
    mods: [{ name: "minecraft", version: "1.16.5" }, { name: "spark", version: "1.9" }],
  }],
  // Text in place of a sample
  "/3/45.33.32.6": [{
    ...at("45.33.32.6"),
    ...NAMED,
    debug: debug(3),
    protocol: PROTOCOL,
    motd: plain("Text"),
    players: { online: 1, max: 9 },
  }, { info: INFO }],
  "/2/45.33.32.6": [{
    ...at("45.33.32.6"),
    ...NAMED,
    debug: debug(2),
    protocol: 769,
    motd: plain("Text"),
    players: { online: 1, max: 9 },
  }, { info: INFO }],
  "/v2/status/java/45.33.32.6": [{
    ...on("45.33.32.6"),
    ...PAPER,
    players: { online: 1, max: 9, list: [] },
    motd: motd("Text"),
  }, {
    players: {
      ...{ online: 1, max: 9 },
      list: [
        {
          ...{ uuid: "", name_raw: "§6Welcome to", name_clean: "Welcome to" },
          name_html: '<span><span style="color: #ffaa00;">Welcome to</span></span>',
        },
        {
          ...{ uuid: "", name_raw: "§cour & server", name_clean: "our & server" },
          name_html: '<span><span style="color: #ff5555;">our &amp; server</span></span>',
        },
      ],
    },
  }],
  // Colours as components, hexadecimal and as codes
  "/3/45.33.32.7": [{
    ...at("45.33.32.7"),
    ...NAMED,
    debug: debug(3),
    protocol: PROTOCOL,
    motd: {
      raw: [`§x§1§2§a§b§e§fHex§6§l bold§r "q" & 'a'`, "§c§kmagic§astring§r end"],
      clean: [`Hex bold "q" & 'a'`, "magicstring end"],
      html: [
        '<span style="color: #12ABEF">Hex</span><span style="color: #FFAA00">' +
        '<span style="font-weight: bold;"> bold</span></span> &quot;q&quot; &amp; &#39;a&#39;',
        '<span style="color: #FF5555"><span class="minecraft-formatted--obfuscated">magic</span>' +
        '</span><span style="color: #55FF55">string</span> end',
      ],
    },
    players: { online: 0, max: 9 },
  }],
  "/v2/status/java/45.33.32.7": [{
    ...on("45.33.32.7"),
    ...PAPER,
    players: { online: 0, max: 9, list: [] },
    motd: {
      raw: `§x§1§2§a§b§e§fHex§6§l bold§r "q" & 'a'\n§c§kmagic§astring§r end`,
      clean: `Hex bold "q" & 'a'\nmagicstring end`,
      html: '<span><span style="color: #12abef;">Hex</span>' +
        '<span style="color: #ffaa00;font-weight: bold;"> bold</span>' +
        "<span> &quot;q&quot; &amp; &#39;a&#39;</span>\n" +
        '<span class="minecraft-format-obfuscated" style="color: #ff5555;">magic</span>' +
        '<span style="color: #55ff55;">string</span><span> end</span></span>',
    },
  }],
  // A protocol number without a name
  "/3/45.33.32.8": [{
    ...at("45.33.32.8"),
    debug: debug(3),
    version: "1.21.4",
    protocol: PROTOCOL,
    eula_blocked: false,
    motd: plain("Old"),
    players: { online: 0, max: 9 },
  }],
  "/v2/status/java/45.33.32.8": [{
    ...on("45.33.32.8"),
    ...BARE,
    version: version("1.21.4"),
    players: { online: 0, max: 9, list: [] },
    motd: motd("Old"),
  }],
  // Query alone
  "/3/45.33.32.13": [{
    ...at("45.33.32.13"),
    debug: debug(3, { ping: false, query: true }),
    version: "1.21.4",
    software: "vanilla",
    eula_blocked: false,
    map: WORLD,
    motd: plain("Query"),
    players: { online: 2, max: 20 },
  }, {
    players: {
      ...{ online: 2, max: 20 },
      list: [{ name: "Ann", uuid: "" }, { name: "Bob", uuid: "" }],
    },
  }],
  "/v2/status/java/45.33.32.13": [{
    ...on("45.33.32.13"),
    ...BARE,
    software: "vanilla",
    version: version("1.21.4", null),
    players: { online: 2, max: 20, list: [] },
    motd: motd("Query"),
  }, { players: { online: 2, max: 20, list: ANN_AND_BOB } }],
  // IPv6
  ...six("2600:3c01::1"),
  ...six("[2600:3c01::1]"),
  ...six("2600:3c01::1:25565"),
  ...six("[2600:3C01::1]:25565"),
  // SRV: the port of the record, and the requested one
  "/3/play.example.org": [{
    ...at("45.33.32.11", 25570),
    ...NAMED,
    hostname: "mc.example.net",
    debug: debug(3, { srv: true }),
    protocol: PROTOCOL,
    motd: plain("Behind SRV"),
    players: { online: 0, max: 8 },
  }],
  "/2/play.example.org:25565": [{
    ...at("45.33.32.11", 25570),
    ...NAMED,
    hostname: "mc.example.net",
    debug: debug(2, { srv: true }),
    protocol: 769,
    motd: plain("Behind SRV"),
    players: { online: 0, max: 8 },
  }],
  "/v2/status/java/play.example.org": [{
    ...on("play.example.org", 25565, "45.33.32.11"),
    ...PAPER,
    players: { online: 0, max: 8, list: [] },
    motd: motd("Behind SRV"),
    srv_record: { host: "mc.example.net", port: 25570 },
  }],
  // Names without an address, and with another port
  "/3/none.example.org": [{
    ...down("127.0.0.1"),
    hostname: "none.example.org",
    debug: debug(3, NO_ADDRESS),
  }],
  "/2/none.example.org": [{
    ...down("127.0.0.1"),
    hostname: "none.example.org",
    debug: debug(2, NO_ADDRESS),
  }],
  "/v2/status/java/none.example.org": [{
    ...off("none.example.org", 25565, null),
    srv_record: null,
  }],
  "/v2/status/java/none.example.org:25570": [{
    ...off("none.example.org", 25570, null),
    srv_record: null,
  }],
  "/v2/status/bedrock/none.example.org": [off("none.example.org", 19132, null)],
};

/** The documents of a Java server that is offline. */
function offline(ip: string): Readonly<Record<string, readonly [Document]>> {
  return {
    [`/3/${ip}`]: [{ ...down(ip), debug: debug(3, UNREACHED) }],
    [`/2/${ip}`]: [{ ...down(ip), debug: debug(2, UNREACHED) }],
    [`/v2/status/java/${ip}`]: [{ ...off(ip), srv_record: null }],
  };
}

/** The documents of the server with an IPv6 address, in a form of the address. */
function six(text: string): Readonly<Record<string, readonly [Document, Document]>> {
  const ip = "2600:3c01::1";
  const common = { debug: debug(3), ...NAMED, protocol: PROTOCOL, motd: plain("Six") };
  const players = { online: 2, max: 20 };
  return {
    [`/3/${text}`]: [{ ...at(ip), ...common, players }, {
      players: { ...players, list: [{ name: "Ann", uuid: "" }, { name: "Bob", uuid: "" }] },
    }],
    [`/v2/status/java/${text}`]: [{
      ...on(ip),
      ...PAPER,
      players: { ...players, list: [] },
      motd: motd("Six"),
    }, { players: { ...players, list: ANN_AND_BOB } }],
  };
}

/** Compares all documents with the table, and reports all differences at once. */
async function compare(
  get: Client,
  freshS: readonly number[],
  expectedOf: (document: Document, names: Document | undefined) => Document,
  before: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const wrong: string[] = [];
  for (const [path, [document, names]] of Object.entries(DOCUMENTS)) {
    await before();
    const given = await read(get, path, freshS);
    try {
      assertEquals(given, expectedOf(document, names));
    } catch (error) {
      if (!(error instanceof AssertionError)) throw error;
      wrong.push(`${path}\n${error.message}`);
    }
  }
  assertEquals(wrong.length, 0, wrong.join("\n"));
}

Deno.test("documents from a database have the members that the imitated services document", () =>
  withScannedServers(async (data) => {
    for (const hasNames of [false, true]) {
      const get = clientOf({ data, statusApi: { hasNames } });
      await compare(
        get,
        DATABASE_S,
        (document, names) => hasNames ? { ...document, ...names } : document,
      );
    }
  }));

/** The document after a probe: the sample of players has its UUIDs. */
function probed(document: Document, names: Document | undefined): Document {
  const whole = { ...document, ...names } as Document;
  const ids: Readonly<Record<string, string>> = { Ann: ANN, Bob: BOB };
  const isQuery = whole.motd !== undefined && JSON.stringify(whole.motd).includes("Query");
  const text = JSON.stringify(whole, (_key, value) => {
    const id = ids[value?.name ?? value?.name_raw] ??
      (value?.name_raw?.includes("§") ? NOBODY : undefined);
    return value?.uuid === "" && id !== undefined && !isQuery ? { ...value, uuid: id } : value;
  });
  const { players, debug, ...rest } = JSON.parse(text);
  delete debug?.cachehit;
  const isV2 = debug?.apiversion === 2 && players?.list !== undefined;
  return {
    ...rest,
    ...debug && { debug },
    ...players && { players: isV2 ? { ...players, uuid: ids } : players },
  };
}

Deno.test("documents from probes have the same members, and UUIDs of players", async () => {
  const network = dossierNetwork();
  network.removeServer({ host: "45.33.32.12", port: 25565 });
  const words = "45.33.32.0/28,2600:3c01::1,play.example.org,plain.example.org,bed.example.org," +
    "none.example.org";
  const settings = { ...settingsOf(words), hasNames: true };
  await network.run((async () => {
    await using fresh = await openFreshStatuses(settings, {
      ...{ network, allProtocols: PROTOCOLS },
      isOptedOut: () => Promise.resolve(false),
      report: (line) => {
        throw new Error(line);
      },
    });
    const get = clientOf({ statusApi: { hasNames: true, fresh: fresh.statuses } });
    const later = () => new Promise<void>((done) => void network.clock.after(5000, done));
    await compare(get, PROBE_S, probed, later); // a server is probed under one name in 5 s
  })());
});

Deno.test("/simple, icons and addresses that are not valid get what the services answer", () =>
  withScannedServers(async (data) => {
    const get = clientOf({ data, statusApi: { hasNames: false } });
    for (
      const [path, expected] of [
        ["/simple/45.33.32.1", 200],
        ["/simple/45.33.32.9", 404],
        ["/simple/45.33.32.12", 404],
        ["/simple/none.example.org", 404],
        ["/simple/play.example.org", 200],
        ["/simple/[2600:3c01::1]:25565", 200],
        ["/bedrock/simple/45.33.32.9", 200],
        ["/bedrock/simple/45.33.32.1", 404],
      ] as const
    ) {
      const { status, text } = await get(`GET ${path}`);
      assertEquals([status, text], [expected, ""], path);
    }
    for (const prefix of ["/icon", "/v2/icon"]) {
      const own = await get(`GET ${prefix}/45.33.32.1`);
      assertEquals([own.status, own.headers["content-type"]], [200, "image/png"]);
      assertEquals(own.bytes, PNG);
      for (const host of ["45.33.32.4", "45.33.32.12", "none.example.org"]) {
        const { status, headers, bytes } = await get(`GET ${prefix}/${host}`);
        assertEquals([status, headers["content-type"]], [200, "image/png"], host);
        assertEquals(bytes, (await get("GET /v2/icon")).bytes);
        const size = new DataView(bytes.buffer, bytes.byteOffset + 16);
        assertEquals([size.getUint32(0), size.getUint32(4)], [64, 64]);
      }
    }
    for (
      const text of ["a..b", "x:99999", "a%20b", "%3Cscript%3E", "-.-:1:2", "[::1", "x".repeat(300)]
    ) {
      for (const route of ["status/java", "status/bedrock", "icon"]) {
        const { status, headers, text: body } = await get(`GET /v2/${route}/${text}`);
        assertEquals([status, body], [400, "Invalid address value"], text);
        assertMatch(headers["content-type"], /^text\/plain/);
      }
      for (const version of [2, 3]) {
        const document = await read(get, `/${version}/${text}`, DATABASE_S);
        assertEquals(document, { ...down("127.0.0.1"), debug: debug(version, NO_ADDRESS) }, text);
      }
      assertEquals((await get(`GET /simple/${text}`)).status, 404);
    }
  }));
