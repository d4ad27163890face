/** Tests of src/store/groups/group_rules.ts. */
import { assert, assertEquals } from "@std/assert";
import {
  aliasPairs,
  type Count,
  type GroupRow,
  hasEqualCounts,
  isRandomGuid,
  joinedGroups,
  joinEndpoints,
  joinGuids,
  joinPorts,
  type Pair,
  ruleOf,
} from "../../../src/store/groups/group_rules.ts";
import { Random } from "../../../src/fleet/random.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

function row(id: number, rest: Partial<GroupRow> = {}): GroupRow {
  const { host = "192.0.2.1", port = 25565 } = rest;
  return {
    ...{ id, key: `${host}:${port}`, hostname: null, host, port, protocol: "slp", edition: "java" },
    ...{ proxy: null, software: "Paper", version: "1.21", map: null, motd: "Sky2", slots: 20 },
    ...{ plain: "Sky2", guid: null },
    ...{ players: 3, online: true, repliedAt: 1000, aliasOf: null },
    ...rest,
  };
}

const ids = (pairs: readonly Pair[]) => pairs.map(([one, other]) => [one.id, other.id]);
const joined = (joins: readonly { readonly pair: Pair }[]) => ids(joins.map(({ pair }) => pair));

Deno.test("a row with a name and a row without one of the same endpoint are joined", () => {
  const named = row(2, { hostname: "play.example.org", key: "play.example.org", motd: "Hub" });
  assertEquals(joined(joinEndpoints([row(1), named])), [[1, 2]]);
  const others: readonly Partial<GroupRow>[] = [
    { port: 25566 },
    { host: "192.0.2.2" },
    { protocol: "raknet" },
    { repliedAt: 1001 + HOUR_MS },
    { repliedAt: null },
  ];
  for (const other of others) {
    assertEquals(
      joined(joinEndpoints([row(1), { ...named, ...other }])),
      [],
      JSON.stringify(other),
    );
  }
});

Deno.test("an endpoint's rows of different times are joined only if the replies are equal", () => {
  const later = { repliedAt: 1000 + 48 * HOUR_MS, hostname: "a.example.org", key: "a" };
  assertEquals(joined(joinEndpoints([row(1), row(2, later)])), [[1, 2]]);
  for (const other of [{ motd: "Other" }, { slots: 21 }, { version: "1.20" }, { software: null }]) {
    assertEquals(joined(joinEndpoints([row(1), row(2, { ...later, ...other })])), []);
  }
});

Deno.test("rows with one random GUID are joined, also of a server that moved", () => {
  const guid = "13253860892328930865";
  const [one, other] = [row(1, { guid }), row(2, { guid, host: "198.51.100.7" })];
  assertEquals(joined(joinGuids([one, other])), [[1, 2]]);
  const moved = { ...other, repliedAt: 9e9, players: 19 };
  assertEquals(joined(joinGuids([{ ...one, online: false }, moved])), [[1, 2]]);
  assertEquals(joined(joinGuids([row(1), row(2)])), []);
  for (const rest of [{ motd: "Other" }, { version: "1.20" }, { slots: 9 }, { players: 9 }]) {
    const liar = row(3, { guid, host: "203.0.113.1", ...rest });
    assertEquals(joined(joinGuids([one, other, liar])), [], JSON.stringify(rest));
  }
  for (const plain of ["A Minecraft Server", "Hi", null]) {
    assertEquals(joined(joinGuids([one, other].map((row) => ({ ...row, plain })))), []);
  }
});

Deno.test("small and constant GUIDs are no random ones", () => {
  for (const guid of ["13253860892328930865", "99999999999999999"]) assert(isRandomGuid(guid));
  const constant = [
    "0",
    "1234567890123456",
    "18446744073709551615",
    "7092165985996863344",
    "-1",
    "",
  ];
  for (const guid of constant) assert(!isRandomGuid(guid), guid);
});

Deno.test("an alias makes a pair with the row that it names, and only on its own address", () => {
  const alias = row(2, { port: 19132, aliasOf: "192.0.2.1:25565" });
  assertEquals(ids(aliasPairs([row(1), alias, row(3, { port: 25566 })])), [[1, 2]]);
  assertEquals(ids(aliasPairs([row(1), { ...alias, host: "192.0.2.2" }])), []);
  assertEquals(ids(aliasPairs([row(1, { aliasOf: "192.0.2.1:25565" })])), []);
  const v6 = row(1, { host: "2001:db8::1" });
  const other = row(2, { host: "2001:db8::1", port: 1, aliasOf: "[2001:db8::1]:25565" });
  assertEquals(ids(aliasPairs([v6, other])), [[1, 2]]);
});

Deno.test("a pair of Geyser and a Java server has its own rule", () => {
  const geyser = row(2, { edition: "bedrock", proxy: "geyser" });
  assertEquals(ruleOf([row(1), geyser]), "bridge");
  assertEquals(ruleOf([geyser, row(1)]), "bridge");
  assertEquals(ruleOf([row(1), row(2, { proxy: "velocity" })]), "counts");
});

Deno.test("an address with the same players on more than 100 ports shows one server there", () => {
  const ports = (count: number, rest: Partial<GroupRow> = {}) =>
    Array.from({ length: count }, (_, i) => row(i + 1, { port: i + 1, ...rest }));
  assertEquals(joinPorts(ports(101)).length, 100);
  assertEquals(joinPorts(ports(100)), []);
  // A hosting company's servers with the same MOTD have players of their own, or none.
  assertEquals(joinPorts(ports(500, { players: 0 })), []);
  assertEquals(joinPorts(ports(500, { players: null })), []);
  assertEquals(joinPorts(ports(500).map((one, i) => ({ ...one, players: 1 + i % 20 }))), []);
  assertEquals(joinPorts(ports(500).map((one, i) => ({ ...one, host: `192.0.2.${i % 9}` }))), []);
});

const counts = (...players: readonly number[]): Count[] =>
  players.map((players, i) => ({ at: i * 10 * MINUTE_MS, players }));

Deno.test("equal counts over time need eight equal ones, three numbers, and few others", () => {
  const players = [1, 2, 3, 2, 1, 0, 5, 6, 5];
  const one = counts(...players);
  const later = (by: number) => one.map(({ at, players }) => ({ at: at + by, players }));
  assert(hasEqualCounts(one, later(0)));
  assert(hasEqualCounts(later(2 * MINUTE_MS), one));
  assert(!hasEqualCounts(one, later(2 * MINUTE_MS + 1)));
  assert(!hasEqualCounts(one.slice(1), later(0)), "7 counts");
  assert(!hasEqualCounts(counts(1, 2, 1, 2, 1, 2, 1, 2, 1), counts(1, 2, 1, 2, 1, 2, 1, 2, 1)));
  const [few, many] = [[...players, 7, 8], [...players, 7, 8, 9]];
  assert(hasEqualCounts(counts(...few), counts(...players, 17, 18)), "8 of 10");
  assert(!hasEqualCounts(counts(...many), counts(...players, 17, 18, 19)), "8 of 11");
  assert(!hasEqualCounts([], []));
  assert(!hasEqualCounts(one, []));
});

Deno.test("counts that stay equal, and empty servers, say nothing", () => {
  const same = counts(...Array(50).fill(4));
  assert(!hasEqualCounts(same, same));
  const empty = counts(...Array(50).fill(0));
  assert(!hasEqualCounts(empty, empty));
  const repeated = counts(1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
  assert(!hasEqualCounts(repeated, repeated), "three changes");
});

Deno.test("groups are joined rows, and their first row is online, named, full and old, in this order", () => {
  const rows = [
    row(1, { online: false, players: 90 }),
    row(2, { players: 1 }),
    row(3, { players: 9 }),
    row(4, { players: 9 }),
    row(5, { hostname: "play.example.org", key: "play.example.org", players: null }),
    row(6),
    row(7),
  ];
  const join = (one: number, other: number) => ({
    pair: [rows[one - 1], rows[other - 1]] as const,
    rule: other === 5 ? "endpoint" as const : "counts" as const,
  });
  const groups = joinedGroups([join(1, 2), join(4, 3), join(6, 7), join(2, 3), join(2, 5)]);
  assertEquals(groups.map((group) => group.map(({ id }) => id)), [[5, 3, 4, 2, 1], [6, 7]]);
  assertEquals(groups[0][0], {
    ...{ id: 5, key: "play.example.org", endpoint: "192.0.2.1:25565", online: true },
    rules: ["endpoint"],
  });
  assertEquals(groups[0][3].rules, ["counts", "endpoint"]);
});

/** Changes of the players of a server with visitors of its own, at polls of a watch. */
function visits(random: Random, polls: number, start = 0): Count[] {
  let players = random.below(6);
  return Array.from({ length: polls }, (_, i) => {
    players = Math.max(0, players + random.below(3) - 1);
    return { at: start + i * MINUTE_MS, players };
  });
}

Deno.test("servers with players of their own never have equal counts, sides of one server do", () => {
  const random = new Random(41);
  let found = 0;
  for (let i = 0; i < 3000; i++) {
    const one = visits(random, 50);
    assert(!hasEqualCounts(one, visits(random, 50, random.below(MINUTE_MS))), `servers ${i}`);
    const side = one.map(({ at, players }) => ({ at: at + random.below(MINUTE_MS), players }));
    if (hasEqualCounts(one, side)) found++;
  }
  assert(found > 2900, `${found} of 3000`);
});
