import { assert, assertEquals } from "@std/assert";
import { type Endpoint, parseEndpoint } from "../../../src/core/address.ts";
import { emptyRecord, serverId, type ServerRecord } from "../../../src/core/record.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { CLIENT_GUID } from "../../../src/protocols/raknet/mod.ts";
import { Aliases } from "../../../src/scan/rows/aliases.ts";
import { Random } from "../../../src/fleet/random.ts";
import { scanFleet } from "../scan_harness.ts";
import { SimpleAliases } from "../inspect_stage/simple_aliases.ts";

type Columns = Partial<ServerRecord>;

const KEY = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
const GUID = "5335687477053034848";
const BEDROCK = {
  protocol: "raknet",
  protocols: ["raknet"],
  edition: "bedrock",
  version: "1.21.50",
  guid: GUID,
};
const VANILLA = {
  protocol: "slp",
  protocols: ["slp"],
  edition: "java",
  software: "vanilla",
  version: "1.21.4",
  motd: "A Minecraft Server",
  motd_plain: "A Minecraft Server",
  players_online: 0,
  players_max: 20,
};
const OWN = { motd: "§aSky Kingdom", motd_plain: "Sky Kingdom" };
const PROXY = { ...VANILLA, ...OWN, software: "Velocity", proxy: "velocity", players_online: 7 };
const GEYSER = { ...BEDROCK, ...OWN, proxy: "geyser", players_online: 0, players_max: 20 };
const QUERY = { ...VANILLA, ...OWN, protocol: "query", protocols: ["query"] };

/** The value of `alias_of` for each of these rows. */
function aliases(...rows: readonly (readonly [where: string, columns: Columns])[]) {
  const seen = new Aliases(KEY, PROTOCOLS);
  return rows.map(([where, columns]) => {
    const endpoint: Endpoint = parseEndpoint(where)!;
    return seen.of({ ...emptyRecord(endpoint, 0), ...columns }, endpoint);
  });
}

const A = "192.0.2.1:19132";
const A2 = "192.0.2.1:19133";
const B = "198.51.100.1:19132";
const V6 = "[2001:db8::1]:19133";

const SAME: readonly [name: string, first: string, one: Columns, second: string, other: Columns][] =
  [
    ["a GUID on two ports", A, BEDROCK, A2, BEDROCK],
    ["a GUID on two addresses, whatever the MOTD turns to", A, BEDROCK, B, { ...BEDROCK, ...OWN }],
    ["a GUID over IPv4 and IPv6", A, BEDROCK, V6, BEDROCK],
    [
      "the same players on a host",
      ...[A, { ...VANILLA, players_online: 2, players: ["Ann", "Bob"] }] as const,
      ...[A2, { ...VANILLA, players_online: 2, players: ["Bob", "Ann"] }] as const,
    ],
    ["a proxy with two ports", A, PROXY, A2, PROXY],
    ["Geyser beside Java", A, VANILLA_OWN(), A2, GEYSER],
    ["Java beside Geyser", A, GEYSER, A2, VANILLA_OWN()],
    [
      "Geyser beside Java with two lines and a ;",
      ...[A, { ...VANILLA, ...motd("§aa;b c\nsecond line") }] as const,
      ...[A2, { ...GEYSER, ...motd("§aa:b c") }] as const,
    ],
    ["a Query port that names the game's", A, VANILLA_OWN(), A2, { ...QUERY, port_v4: 19132 }],
    ["a game's port that Query has named", A2, { ...QUERY, port_v4: 19132 }, A, VANILLA_OWN()],
  ];

function VANILLA_OWN(): Columns {
  return { ...VANILLA, ...OWN };
}

function motd(text: string): Columns {
  return { motd: text, motd_plain: text.replace(/§./g, "").replace("\n", " ") };
}

for (const [name, first, one, second, other] of SAME) {
  Deno.test(`Aliases recognises: ${name}`, () => {
    assertEquals(aliases([first, one], [second, other]), [null, first]);
  });
}

const FULL = { ...VANILLA, players_online: 3 };
const DIFFERENT: readonly [string, string, Columns, string, Columns][] = [
  ["default servers of a hosting network", A, VANILLA, B, VANILLA],
  ["default servers on the ports of one host", A, VANILLA, A2, VANILLA],
  ["default servers with as many players", A, FULL, A2, FULL],
  ["equal servers of a network on two addresses", A, VANILLA_OWN(), B, VANILLA_OWN()],
  ["equal servers of a network on one host", A, VANILLA_OWN(), A2, VANILLA_OWN()],
  ["servers without a GUID", A, { ...BEDROCK, guid: null }, A2, { ...BEDROCK, guid: null }],
  ["a GUID that is a clock", A, { ...BEDROCK, guid: "1700000000000" }, B, {
    ...BEDROCK,
    guid: "1700000000000",
  }],
  ["GUID 0, of memory that was not set", ...twice({ ...BEDROCK, guid: "0" })],
  ["RakNet's unassigned GUID", ...twice({ ...BEDROCK, guid: "18446744073709551615" })],
  ["our own GUID, echoed", ...twice({ ...BEDROCK, guid: String(CLIENT_GUID) })],
  ["a GUID with two versions", A, BEDROCK, B, { ...BEDROCK, version: "1.20.0" }],
  ["a GUID that is one more", A, BEDROCK, B, { ...BEDROCK, guid: "5335687477053034849" }],
  [
    "the same players on two addresses",
    ...twice({ ...VANILLA, players_online: 1, players: ["Ann"] }),
  ],
  [
    "other players",
    ...[A, { ...VANILLA, players_online: 1, players: ["Ann"] }] as const,
    ...[A2, { ...VANILLA, players_online: 1, players: ["Bob"] }] as const,
  ],
  [
    "a list of players that holds text",
    ...[A, { ...FULL, players: ["a", "b", "c", "Visit us"] }] as const,
    ...[A2, { ...FULL, players: ["a", "b", "c", "Visit us"] }] as const,
  ],
  [
    "a list of players with codes",
    ...[A, { ...FULL, players: ["§aVisit us"], flags: ["sampleText"] }] as const,
    ...[A2, { ...FULL, players: ["§aVisit us"], flags: ["sampleText"] }] as const,
  ],
  ["proxies of two addresses", A, PROXY, B, PROXY],
  ["proxies with nobody on them", A, { ...PROXY, players_online: 0 }, A2, {
    ...PROXY,
    players_online: 0,
  }],
  ["proxies as they are set up", A, { ...PROXY, ...motd("A Velocity Server") }, A2, {
    ...PROXY,
    ...motd("A Velocity Server"),
  }],
  ["proxies with icons of their own", A, { ...PROXY, favicon_hash: "aa" }, A2, {
    ...PROXY,
    favicon_hash: "bb",
  }],
  ["Geyser on another host", A, VANILLA_OWN(), B, GEYSER],
  ["Geyser with a text of its own", A, VANILLA_OWN(), A2, {
    ...GEYSER,
    ...motd("Another Kingdom"),
  }],
  ["Geyser with other slots", A, VANILLA_OWN(), A2, { ...GEYSER, players_max: 100 }],
  ["Geyser beside a server with the default text", A, VANILLA, A2, {
    ...GEYSER,
    ...VANILLA_MOTD(),
  }],
  ["Bedrock software with the MOTD of a Java server", A, VANILLA_OWN(), A2, {
    ...GEYSER,
    proxy: null,
  }],
  ["a Query port that names another port", A, VANILLA_OWN(), A2, { ...QUERY, port_v4: 25565 }],
  ["a Query port with a default MOTD: containers all name 25565", A, VANILLA, A2, {
    ...QUERY,
    ...VANILLA_MOTD(),
    port_v4: 19132,
  }],
  ["Query ports of two games", A, { ...QUERY, port_v4: 1 }, A2, { ...QUERY, port_v4: 2 }],
];

function VANILLA_MOTD(): Columns {
  return motd(VANILLA.motd);
}

function twice(columns: Columns): [string, Columns, string, Columns] {
  return [A, columns, B, columns];
}

for (const [name, first, one, second, other] of DIFFERENT) {
  Deno.test(`Aliases distinguishes: ${name}`, () => {
    assertEquals(aliases([first, one], [second, other]), [null, null]);
  });
}

Deno.test("Aliases names the first of any number of rows", () => {
  const named = { ...VANILLA_OWN(), players_online: 1, players: ["Ann"] };
  const both = { ...named, ...BEDROCK };
  assertEquals(
    aliases([A, BEDROCK], [B, both], ["198.51.100.1:25565", named], [V6, BEDROCK]),
    [null, A, A, A],
  );
});

Deno.test("Aliases names none of two Java servers that may be behind Geyser", () => {
  const java = VANILLA_OWN();
  assertEquals(aliases([A, java], [A2, java], ["192.0.2.1:19134", GEYSER]), [null, null, null]);
});

Deno.test("Aliases counts equal replies on more than a hundred ports of a host as one server", () => {
  const rows = Array.from({ length: 102 }, (_, i) => [`192.0.2.1:${1000 + i}`, VANILLA] as const);
  assertEquals(aliases(...rows), [
    ...Array(100).fill(null),
    "192.0.2.1:1000",
    "192.0.2.1:1000",
  ]);
});

Deno.test("Aliases agrees with a simple implementation for any rows", () => {
  const random = new Random(20261122);
  const pick: <T>(...values: T[]) => T = (...values) => random.pick(values);
  let aliasesSeen = 0;
  for (let round = 0; round < 150; round++) {
    const seen = new Aliases(KEY, PROTOCOLS);
    const simple = new SimpleAliases((text) => text === "A Minecraft Server" || text === "Lobby");
    const hosts: Endpoint["address"][] = Array.from(
      { length: 1 + random.below(4) },
      () => random.below(4) === 0 ? (1n << 120n) + BigInt(random.below(8)) : random.below(2 ** 32),
    );
    const printed: (string | null)[] = [];
    for (let i = 0; i < 250; i++) {
      const endpoint = { address: random.pick(hosts), port: 1000 + i };
      const protocols = pick(["raknet"], ["query"], ["slp"], ["raknet", "query"]);
      const online = pick(0, 1, 2, null);
      const record: ServerRecord = {
        ...emptyRecord(endpoint, 0),
        ...motd(pick("Sky", "A Minecraft Server", "Lobby", "§aSky;Kingdom", "Sky:Kingdom\nb")),
        ...{ protocols, protocol: protocols[0], players_online: online },
        edition: pick("java", "bedrock", null),
        proxy: pick("velocity", "geyser", "geyser", null),
        version: pick("1.21.50", "1.21.4", null),
        software: pick("Paper", null),
        players_max: pick(20, 2 ** 40, null),
        players: pick(null, null, [], ["Ann", "Bob"], ["Bob", "Ann"], ["Cy"]),
        flags: pick([], ["sampleText"]),
        port_v4: pick(null, 1000 + random.below(i + 1)),
        guid: pick(null, null, GUID, "99999999999", String(CLIENT_GUID), `${i}${GUID.slice(4)}`),
        favicon_hash: pick(null, "aa"),
      };
      if (random.below(9) === 0) Object.assign(record, { motd: null, motd_plain: null });
      const wanted = simple.of(record, endpoint);
      assertEquals(seen.of(record, endpoint), wanted, JSON.stringify(record));
      printed.push(wanted);
    }
    aliasesSeen += printed.filter((one) => one !== null).length;
  }
  assert(aliasesSeen > 5000 && aliasesSeen < 35_000, String(aliasesSeen));
});

Deno.test("Aliases is bounded, and still recognises earlier rows", () => {
  const seen = new Aliases(KEY, PROTOCOLS);
  const of = (address: number) => {
    const endpoint = { address, port: 19132 };
    const guid = String(2n ** 50n + BigInt(address % 600_000));
    return seen.of({ ...emptyRecord(endpoint, 0), ...BEDROCK, guid }, endpoint);
  };
  for (let i = 0; i < 600_000; i++) assert(of(i) === null);
  assertEquals(of(600_000), "0.0.0.0:19132");
  // the signatures of the first row were not stored, because the table was full
  assertEquals(of(600_000 + 599_999), null);
});

Deno.test("a server on two ports has one row and one alias row", async () => {
  const range = { start: 0x7f100000, end: 0x7f100100 };
  for (const kind of ["bdsTwoPorts", "geyserBesideJava"]) {
    const fleet = { servers: 25, range, seed: 8, software: [kind] };
    const ports = (protocol: string) => protocol === "query" ? [25565] : [19132, 19133];
    const { rows, verdict, state } = await scanFleet({ fleet, ports });
    assertEquals(verdict.faults, []);
    assertEquals([rows.length, state.aliases], [50, 25]);
    const ids = new Set(rows.filter((row) => row.alias_of === null).map(serverId));
    for (const { alias_of } of rows) assert(alias_of === null || ids.has(alias_of));
  }
});

Deno.test("a server on every port has one row, and an alias row for each further port", async () => {
  const range = { start: 0x7f100000, end: 0x7f100040 };
  const fleet = { servers: 3, range, seed: 8, software: ["bdsEveryPort"] };
  const ports = () => Array.from({ length: 20 }, (_, i) => 19120 + i);
  const { rows, verdict, state } = await scanFleet({ fleet, ports });
  assertEquals(verdict.faults, []);
  assertEquals([rows.length, state.aliases], [60, 57]);
});

Deno.test("scan() counts no aliases in a mixed fleet", async () => {
  const fleet = { servers: 150, range: { start: 0x7f100000, end: 0x7f100200 }, seed: 4 };
  const { rows, state } = await scanFleet({ fleet });
  assertEquals([state.aliases, rows.filter((row) => row.alias_of !== null).length], [0, 0]);
});

Deno.test("a protocol declares the flag for lists of players that are lines of text", () => {
  const columns = { ...VANILLA, players_online: 1, players: ["Visit us"], flags: ["linesOfText"] };
  const added = { ...PROTOCOLS[0], name: "added", playersAreTextFlag: "linesOfText" };
  for (const allProtocols of [PROTOCOLS, [...PROTOCOLS, added]]) {
    const seen = new Aliases(KEY, allProtocols);
    const found = [A, A2].map((where) => {
      const endpoint = parseEndpoint(where)!;
      return seen.of({ ...emptyRecord(endpoint, 0), ...columns }, endpoint);
    });
    assertEquals(found, [null, allProtocols === PROTOCOLS ? A : null]);
  }
});
