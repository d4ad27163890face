/** Covers src/inspect/merge.ts and src/core/record.ts. */
import { assertEquals } from "@std/assert";
import { mergeReplies } from "../../src/inspect/merge.ts";
import type { ServerRecord } from "../../src/core/record.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

const CONTEXT = {
  endpoint: { address: 1n, port: 19133 },
  seenAt: 5,
  latencyMs: 2.5,
  scanId: "scan",
  requestedAs: "play.example.org",
};

const reply = (protocol: string, columns: Partial<ServerRecord>, flags: string[] = []) => ({
  protocol,
  statement: { columns, flags, facts: { of: protocol } },
});

Deno.test("mergeReplies() takes each column from the most precise protocol", () => {
  const row = mergeReplies([
    reply("query", {
      ...{ name: "Q", motd: "Q", version: "v1.21.50", map: "world", players_online: 3 },
      ...{ software: "PocketMine-MP 5.20.0", players: ["Ann"], gamemode: "SMP" },
    }, ["motdNul"]),
    reply("raknet", {
      ...{ name: "R", motd: "R", version: "1.21.50", map: "level", players_online: 3 },
      ...{ software: "PocketMine-MP", guid: "9", gamemode: "Survival" },
    }, ["badUtf8", "motdNul"]),
  ], CONTEXT);
  assertEquals([row.name, row.motd, row.version, row.gamemode], ["R", "R", "1.21.50", "Survival"]);
  assertEquals([row.map, row.software, row.players], ["world", "PocketMine-MP 5.20.0", ["Ann"]]);
  assertEquals([row.protocol, row.protocols], ["raknet", ["raknet", "query"]]);
  assertEquals(row.flags, ["badUtf8", "motdNul"]);
  assertEquals(row.extras, { raknet: { of: "raknet" }, query: { of: "query" } });
  assertEquals([row.host, row.port, row.guid], ["::1", 19133, "9"]);
  assertEquals([row.latency_ms, row.seen_at, row.scan_id], [2.5, 5, "scan"]);
  assertEquals(row.requested_as, "play.example.org");
});

Deno.test("mergeReplies() ranks protocols by the list, and other names last", () => {
  const { protocol, protocols, name, map } = mergeReplies([
    reply("unlisted", { name: "U", map: "u" }),
    reply("lan", { name: "L", map: "l" }),
    reply("nethernet", { name: "N" }),
    reply("query", { name: "Q", map: "q" }),
    reply("slp", { name: "S", map: "s" }),
  ], CONTEXT);
  assertEquals(protocols, ["nethernet", "slp", "query", "lan", "unlisted"]);
  assertEquals([protocol, name, map], ["nethernet", "N", "q"]);
});

Deno.test("mergeReplies() fills missing values, and distinguishes zero from null", () => {
  const row = mergeReplies([
    reply("raknet", { players_online: 4, players_max: null, version: null }),
    reply("query", { players_online: 0, players_max: null, version: "1.20" }),
  ], CONTEXT);
  assertEquals([row.players_online, row.players_max, row.version], [0, null, "1.20"]);
  assertEquals(row.flags, []);
});

Deno.test("mergeReplies() flags columns with different values in two protocols", () => {
  const differ = (a: Partial<ServerRecord>, b: Partial<ServerRecord>) =>
    mergeReplies([reply("raknet", a), reply("query", b)], CONTEXT).flags;
  assertEquals(differ({ edition: "bedrock" }, { edition: "java" }), ["editionDiffers"]);
  assertEquals(differ({ motd_plain: "a" }, { motd_plain: "b" }), ["motdDiffers"]);
  assertEquals(differ({ version: "1.2" }, { version: "1.3" }), ["versionDiffers"]);
  assertEquals(differ({ version: "1.2" }, { version: "v1.2" }), []);
  assertEquals(differ({ players_max: 5 }, { players_max: 6 }), ["playersDiffer"]);
  assertEquals(differ({ players_max: 5 }, {}), []);
  const agree = [[0, 5], [20, 25], [100, 120], [1000, 1250], [7, 7]];
  const disagree = [[0, 6], [20, 26], [100, 126], [1000, 1251], [40, 0]];
  for (const [counts, flags] of [[agree, []], [disagree, ["playersDiffer"]]] as const) {
    for (const [a, b] of counts) {
      assertEquals(differ({ players_online: a }, { players_online: b }), flags, `${a} ${b}`);
    }
  }
});

Deno.test("mergeReplies() rounds latencies to microseconds", () => {
  const latency = (latencyMs: number | null) =>
    mergeReplies([reply("slp", {})], { ...CONTEXT, latencyMs }).latency_ms;
  assertEquals([0.6511110000000002, 4.98, 0, null].map(latency), [0.651, 4.98, 0, null]);
});

Deno.test("a value that does not fit its column is omitted, and flagged once", () => {
  const loop: unknown[] = [];
  loop.push(loop);
  const wrong: Record<string, unknown[]> = {
    players_online: [NaN, Infinity, 1.5, 2 ** 53, "3", 3n, [3]],
    name: [3, 3n, true, ["a"], {}, "x".repeat(65_537), Symbol("a"), () => "a"],
    joinable: [1, "true"],
    players: ["Ann", [3], loop, [["Ann"]], ["x".repeat(65_536)], Array(65_537).fill("")],
    plugins: [["A"], [{ name: "A" }], [{ name: "x".repeat(65_536), version: null }]],
    host: ["10.0.0.1"],
    seen_at: [7],
    no_such_column: ["a"],
  };
  for (const [column, values] of Object.entries(wrong)) {
    for (const value of values) {
      const columns = { [column]: value, version: "1.21", map: "" };
      const row = mergeReplies([reply("query", columns, ["badUtf8"])], CONTEXT);
      const right = mergeReplies([reply("query", { version: "1.21", map: "" })], CONTEXT);
      assertEquals(row, { ...right, flags: ["badColumn", "badUtf8"] }, column);
    }
  }
});

Deno.test("valid values are kept, up to a text with the length of a datagram", () => {
  const columns = {
    name: "x".repeat(65_536),
    players_online: -0,
    players: Array(655).fill("y".repeat(99)),
    plugins: [{ name: "A", version: null }, { name: "B", version: "1" }],
    joinable: false,
    favicon_hash: null,
    map: undefined,
  };
  const row = mergeReplies([reply("query", columns)], CONTEXT);
  assertEquals(row.flags, []);
  assertEquals([row.name, row.players], [columns.name, columns.players]);
  assertEquals([row.plugins, row.joinable, row.map], [columns.plugins, false, null]);
});

Deno.test("of two protocols that fill the same columns first, the one of higher rank does", () => {
  const fillsFirst = ["players_online"] as const;
  const [one, other, last] = PROTOCOLS.slice(0, 3);
  const allProtocols = [
    { ...one, fillsFirst },
    { ...other, fillsFirst },
    { ...last, fillsFirst: undefined },
  ];
  const replies = allProtocols.map(({ name }, i) =>
    reply(name, { players_online: i, map: `${i}` })
  );
  const merged = (...given: typeof replies) => {
    const { players_online, map } = mergeReplies(given, { ...CONTEXT, allProtocols });
    return [players_online, map];
  };
  assertEquals(merged(...replies), [0, "0"]);
  assertEquals(merged(...replies.toReversed()), [0, "0"]);
  assertEquals(merged(replies[1], replies[2]), [1, "1"]);
});
