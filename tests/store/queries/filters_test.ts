/**
 * Covers src/store/queries/filters.ts, src/store/queries/players_filter.ts,
 * src/store/queries/network_filter.ts, src/store/queries/unknown_filter.ts, src/store/queries/named_filter.ts and
 * src/store/queries/server_conditions.ts: filters are compared with predicates of records.
 */
import { assert, assertEquals } from "@std/assert";
import type { ServerRecord } from "../../../src/core/record.ts";
import { parseAddress } from "../../../src/core/address.ts";
import type { ServerFilters } from "../../../src/store/queries/filters.ts";
import { countServers, selectServers } from "../../../src/store/server_queries.ts";
import type { UnknownColumn } from "../../../src/store/queries/unknown_filter.ts";
import { addTags } from "../../../src/store/rows/server_tags.ts";
import { Store } from "../../../src/store/store.ts";
import { parseTarget, type RangeTarget } from "../../../src/targets/parse.ts";
import { onEngines } from "../databases.ts";
import { record } from "../records.ts";

/** A server of the database, and whether it counts as online. */
interface Stored {
  readonly record: ServerRecord;
  readonly online: boolean;
}

/** Whether a server matches the value of a filter. */
type Predicates = {
  readonly [name in keyof ServerFilters]-?: (
    value: NonNullable<ServerFilters[name]>,
    one: Stored,
  ) => boolean;
};

const contains = (text: string | null, part: string) =>
  text !== null && text.toLowerCase().includes(part.toLowerCase());

const MATCHES: Predicates = {
  online: (value, { online }) => online === value,
  software: (value, { record: { software } }) => value.some((part) => contains(software, part)),
  version: (value, { record: { version } }) =>
    value.some((start) => version === start || !!version?.startsWith(`${start}.`)),
  edition: (value, { record: { edition } }) => edition !== null && value.includes(edition),
  protocol: (value, { record: { protocols } }) => value.some((name) => protocols.includes(name)),
  confidence: (value, { record: { software_confidence: confidence } }) =>
    confidence !== null && value.includes(confidence),
  noAliases: (value, { record: { alias_of: alias } }) => !value || alias === null,
  port: (value, { record: { port } }) => value.includes(port),
  network: (value, { record: { host } }) => {
    const address = parseAddress(host)!;
    return value.map(range).some(({ start, end }) =>
      typeof start === typeof address && start <= address && address < end
    );
  },
  flag: (value, { record: { flags } }) => value.some((flag) => flags.includes(flag)),
  tag: (value, { record }) => value.some((tag) => tagsOf(record).includes(tag)),
  minPlayers: (value, { record: { players_online: players } }) =>
    players !== null && players >= value,
  maxPlayers: (value, { record: { players_online: players } }) =>
    players !== null && players <= value,
  full: (value, { record: { players_online: players, players_max: slots } }) =>
    players !== null && slots !== null && slots > 0 &&
    (value ? players >= slots : players < slots),
  text: (value, { record: { name, motd_plain: motd, map, software } }) =>
    value.every((part) => [name, motd, map, software].some((one) => contains(one, part))),
  mods: (value, { record: { extras } }) => {
    const names = Object.keys(extras?.slp?.mods ?? {});
    return value.includes(names.length > 0 ? "yes" : "no") ||
      names.some((name) => value.some((part) => name.includes(part)));
  },
  plugins: (value, { record: { plugins } }) => {
    const names = (plugins ?? []).map(({ name }) => name);
    return value.includes(names.length > 0 ? "yes" : "no") ||
      names.some((name) => value.some((part) => name.includes(part)));
  },
  down: (value, { online, record: { seen_at: at } }) => !online && at < value,
  replied: (value, { record: { seen_at: at } }) => at >= value,
  stale: (value, { record: { seen_at: at } }) => at < value,
  unknown: (value, { record }) =>
    value.every((name) =>
      name === "protocol" ? record.protocols.length === 0 : (record[name] ?? "") === ""
    ),
  named: (value, { record: { requested_as, name, port } }) =>
    value.some((wanted) => {
      const [text, wantedPort] = wanted.split(":");
      const isName = requested_as?.split(" ")[0] === text || name?.toLowerCase() === text;
      return isName && (wantedPort === undefined || port === Number(wantedPort));
    }),
  since: (value, { record: { seen_at: at } }) => at > value,
};

/** A function that returns random whole numbers below a limit: a linear congruential generator. */
function randomNumbers(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 2 ** 32 * limit);
  };
}

/** The tags that the test gives to a server. */
const tagsOf = ({ port, map }: ServerRecord) => [`port ${port}`, ...map === "sky" ? ["sky"] : []];

const range = (text: string) => (parseTarget(text) as RangeTarget).range;
const FLAGS = ["cutShort", "countClamped", "formatted", "absent"];
const NETWORKS = [
  "10.0.0.0/24",
  "10.0.0.0/8",
  "10.0.1.3",
  "2001:db8::/120",
  "::/0",
  "192.0.2.0/24",
];

function randomServers(random: (limit: number) => number): Stored[] {
  const one = <T>(...values: T[]) => values[random(values.length)];
  return Array.from({ length: 150 }, (_, i) => ({
    online: random(3) > 0,
    record: record(one(19132, 25565, 1 + random(4)), {
      host: random(4) === 0 ? `2001:db8::${i.toString(16)}` : `10.0.${random(3)}.${i}`,
      software: one("Paper", "Purpur", "PocketMine-MP 5.1", null),
      edition: one("java", "bedrock", "java|bedrock", null),
      protocols: one(["slp"], ["slp", "query"], ["raknet"], ["sqp|raknet"], []),
      software_confidence: one("A", "B", "|", null),
      alias_of: one(null, null, "10.0.0.1:1"),
      version: one("1.2", "1.21", "1.21.4", "1.210", "", null),
      name: one("Skyblock", "Zebra", "Host.example", null),
      requested_as: i % 20 === 0
        ? `host${i}.example`
        : i % 7 === 0
        ? `srv${i}.example SRV host.example:25565`
        : null,
      map: one("sky", "world", null),
      flags: FLAGS.slice(0, 3).filter(() => random(4) === 0).sort(),
      players_online: one(null, 0, random(100)),
      players_max: one(null, -1, 0, 20, 100),
      plugins: one(null, [], [{ name: "essentials", version: "1" }]),
      extras: one(null, { slp: { mods_count: 1, mods: { create: "0.5" } } }),
      seen_at: 1000 + random(50),
    }),
  }));
}

function randomFilters(random: (limit: number) => number): ServerFilters {
  const one = <T>(...values: T[]) => values[random(values.length)];
  const some = <T>(values: readonly T[]) => values.filter(() => random(3) === 0);
  const all: Required<ServerFilters> = {
    online: random(2) === 0,
    software: some(["p", "PAPER", "mp 5", "absent"]),
    version: some(["1.2", "1.21", "1.21.4", "2"]),
    edition: some(["java", "bedrock", "pocket"]),
    protocol: some(["slp", "query", "raknet", "sqp"]),
    confidence: some(["A", "B", "C"]),
    noAliases: random(4) > 0,
    port: some([19132, 25565, 1, 2, 60000]),
    network: some(NETWORKS),
    flag: some(FLAGS),
    minPlayers: random(60),
    maxPlayers: random(100),
    full: random(2) === 0,
    text: one(["sky"], ["z"], ["paper"], ["sky", "p"], ["absent"]),
    mods: some(["yes", "no", "crea", "absent"]),
    plugins: some(["yes", "no", "ess", "absent"]),
    down: 1000 + random(50),
    replied: 1000 + random(50),
    stale: 1000 + random(50),
    unknown: one(
      ...(["edition", "software", "version", "protocol"] as const).map((name) => [name]),
      ["edition", "version"],
    ) as UnknownColumn[],
    named: some([
      "host0.example",
      "host20.example:25565",
      "host40.example",
      "host.example",
      "srv7.example",
      "zebra:1",
    ]),
    since: 1000 + random(50),
    tag: some(["port 19132", "port 2", "sky", "absent"]),
  };
  const entries = Object.entries(all);
  const wanted = new Set([
    entries[random(entries.length)],
    ...entries.filter(() => random(9) === 0),
  ]);
  return Object.fromEntries(wanted);
}

onEngines("random filters select the servers that fulfil their predicates", async (database) => {
  const random = randomNumbers(7);
  const servers = randomServers(random);
  await new Store(database, () => Promise.resolve()).write(servers.map(({ record }) => record));
  await database.run("update servers set changed_at = first_seen");
  const host = database.engine === "postgres" ? "host(address)" : "address";
  const ids = await database.rows(`select id, ${host} as host, port from servers`);
  const idOf = new Map(ids.map(({ id, host, port }) => [`${host} ${port}`, Number(id)]));
  for (const { online, record: { host, port } } of servers) {
    if (online) continue;
    await database.run(
      "update server_state set online = false where server = ?",
      [idOf.get(`${host} ${port}`)!],
    );
  }
  await database.transaction(() =>
    addTags(
      database,
      servers.map(({ record }) => {
        return { id: idOf.get(`${record.host} ${record.port}`)!, tags: tagsOf(record) };
      }),
    )
  );
  const used = new Set<string>();
  for (let round = 0; round < 300; round++) {
    const filters = randomFilters(random);
    const given = Object.entries(filters) as [keyof ServerFilters, never][];
    const expected = servers.filter((one) =>
      given.every(([name, value]) => MATCHES[name](value, one))
    ).map(({ record: { host, port } }) => `${host} ${port}`).sort();
    const selection = {
      ...filters,
      sort: "name",
      limit: round % 2 === 0 ? 1000 : undefined,
    } as const;
    const found = await Array.fromAsync(
      selectServers(database, selection),
      ({ host, port }) => `${host} ${port}`,
    );
    assertEquals(found.sort(), expected, Deno.inspect(filters));
    assertEquals(await countServers(database, selection, 1000), expected.length);
    if (expected.length > 0) { for (const [name] of given) used.add(name); }
  }
  const unused = Object.keys(MATCHES).filter((name) => !used.has(name));
  assert(unused.length === 0, `no server matched a filter with ${unused}`);
});
