/**
 * Covers src/store/queries/filters.ts, src/web/queries/dashboard_filters.ts,
 * src/web/queries/row_filters.ts and src/web/server_index/match.ts: the tests of a filter in SQL, on rows and on columns select the
 * same servers.
 */
import { assert, assertEquals } from "@std/assert";
import { formatAddress } from "../../../src/core/address.ts";
import type { ServerRecord } from "../../../src/core/record.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { conditionsOf, type ServerFilters } from "../../../src/store/queries/filters.ts";
import { whereClause } from "../../../src/store/queries/order_index.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { createTextIndex } from "../../../src/store/schema/text_index.ts";
import { Store } from "../../../src/store/store.ts";
import type { DashboardFilters } from "../../../src/web/queries/dashboard_data.ts";
import type { ListedServer } from "../../../src/web/queries/schemas.ts";
import { DASHBOARD_FILTERS } from "../../../src/web/queries/dashboard_filters.ts";
import {
  dividedUnknown,
  testOfPlaces,
  testOfRows,
  UNKNOWN_NAMES,
} from "../../../src/web/queries/row_filters.ts";
import { dashboardDataOf } from "../../../src/web/data/database_reader.ts";
import { ScannedSpace } from "../../../src/web/data/scanned_space.ts";
import { CachedServerIndex } from "../../../src/web/server_index/cached_server_index.ts";
import { DatabaseIndex } from "../../../src/web/server_index/update_from_database.ts";
import { longTest } from "../../long.ts";
import { onEngines } from "../../store/databases.ts";
import { NASTY, record } from "../../store/records.ts";
import { everyServer, placeOf } from "../oracle.ts";

/**
 * Seeds of the random servers and filters, the number of servers of each, of how many filters one is
 * tested, and what registers the test.
 */
const RUNS = [
  [11, 2000, 1, longTest],
  [12, 500, 5, Deno.test],
  [13, 500, 5, Deno.test],
  [14, 500, 5, longTest],
  [15, 500, 5, longTest],
] as const;
/** Random values of each pair of filters. */
const ROUNDS = 2;

type Name = keyof DashboardFilters;
/** What scans saw is in no row. */
const NAMES = (Object.keys(DASHBOARD_FILTERS) as Name[])
  .filter((name) => !["scan", "saw"].includes(name));

/** Whole numbers below a limit: a linear congruential generator. */
class Random {
  constructor(private state: number) {}

  below(limit: number): number {
    this.state = (Math.imul(this.state, 1664525) + 1013904223) >>> 0;
    return Math.floor(this.state / 2 ** 32 * limit);
  }

  one<T>(values: readonly T[]): T {
    return values[this.below(values.length)];
  }

  some<T>(values: readonly T[]): T[] {
    return Array.from({ length: 1 + this.below(3) }, () => this.one(values));
  }
}

/**
 * Texts whose case, width or characters are special, or that have a meaning in SQL, JSON or in a
 * key.
 */
const TEXTS = [
  ...NASTY.map((text) => text.slice(0, 80)),
  "Paper",
  "PAPERMC",
  "İstanbul",
  "Bİ",
  "\u212aelvin k",
  "\u017fpawn",
  "STRASSE ß",
  "ΑΣ ς",
  "ｗｉｄｅ",
  "100%",
  "a_b",
  "a|b",
  "|",
  "a?b",
  '["x"]',
  "null",
  " ",
  "",
  "é",
  "e\u0301",
];
const EDITIONS = ["java", "bedrock", "java|bedrock", "java?bedrock", "pocket", ""];
const PROTOCOLS = ["slp", "query", "raknet", "sqp|raknet", 'a"b', "a, b"];
const VERSIONS = [
  "1.2",
  "1.20",
  "1.2.1",
  "1.02",
  "1.2-pre",
  "1",
  "01.2",
  "v1.2",
  "1.2/",
  "1.2..",
  "Paper 1.2",
  "Requires MC 1.8 / 1.21",
  "1.21.4",
  "1.9-rc1",
  "",
];
const RANGES = ["1.2", "1.20", "1.2..1.20", ">=1.20", "<1.2", ">1.2.1", "..1.9", "1.21..", "1"];
/** Protocol numbers of Java 1.8, 1.20 and 1.21.4, of a snapshot, of Bedrock, and an unknown one. */
const NUMBERS = [47, 763, 769, 1_073_742_166, 2193, 999_999, null];
const MODS = ["create", "Create_addon", "a%b", "jei", "ÄÖ"];
const FLAGS = ["cutShort", "countClamped", "formatted", ...TEXTS.filter((text) => text !== "")];
const HOSTNAMES = ["play.example", "PLAY.example:25565", "a.example", "a.example:80"];
const TAGS = ["eu", "Eu", 'a "b"'];
const PORTS = [1, 2, 80, 19132, 25565, 65_535];
const PLAYERS = [null, 0, 1, 5, 41, 2 ** 31 - 1];
const SLOTS = [null, 0, 1, 5, 20, 2 ** 31 - 1];
const TIMES = [0, 1, 1000, 5000, 59_999, 60_000, 9_999_999];
const MINUTE_MS = 60_000;

/** The host of a server: the first and last addresses of both families, and those between. */
function hostOf(i: number): string {
  const first = ["0.0.0.0", "255.255.255.255", "::", `${"ffff:".repeat(7)}ffff`, "::ffff:10.0.0.1"];
  if (i < first.length) return first[i];
  return i % 5 === 0
    ? formatAddress((0x2001_0db8n << 96n) + BigInt(i % 97) * (1n << BigInt(i % 90)))
    : formatAddress(0x0a00_0000 + (i % 3) * 2 ** 16 + i);
}

/** Facts of a server with mods. */
function modded(names: readonly string[]) {
  const mods = Object.fromEntries(names.map((name) => [name, "1.0"]));
  return { slp: { mods_count: Object.keys(mods).length, mods } };
}

function randomServer(i: number, random: Random): ServerRecord {
  const text = () => random.one([null, ...TEXTS, `${random.one(TEXTS)}${random.one(TEXTS)}`]);
  const port = random.one(PORTS);
  return record(port, {
    host: hostOf(i),
    requested_as: random.one([
      null,
      null,
      "play.example",
      "Play.Example",
      `a.example SRV x.example:${port}`,
    ]),
    edition: random.one([null, ...EDITIONS]),
    protocols: random.one([[], random.some(PROTOCOLS), random.some(PROTOCOLS)]),
    software: text(),
    software_confidence: random.one(["A", "B", "C", null]),
    version: random.one([null, ...VERSIONS, ...TEXTS]),
    protocol_version: random.one(NUMBERS),
    plugins: random.one([null, [], random.some(MODS).map((name) => ({ name, version: null }))]),
    extras: random.one([null, { query: { form: "full" } }, modded(random.some(MODS))]),
    name: text(),
    motd_plain: text(),
    map: text(),
    flags: random.one([[], [...new Set(random.some(FLAGS))].sort()]),
    alias_of: random.one([null, null, "10.0.0.1:1"]),
    players_online: random.one(PLAYERS),
    players_max: random.one(SLOTS),
    seen_at: random.one(TIMES),
  });
}

const CASES = [
  (text: string) => text,
  (text: string) => text.toLowerCase(),
  (text: string) => text.toUpperCase(),
  (text: string) => [...text].slice(0, 2).join(""),
  (text: string) => [...text].slice(-1).join(""),
];

/** A random value of a filter, mostly one that a server has. */
function randomValue(name: Name, random: Random): unknown {
  const part = () => random.one(CASES)(random.one(TEXTS)) || "i";
  const bound = (values: readonly (number | null)[]) =>
    Math.min(Math.max(0, (random.one(values) ?? 0) + random.below(3) - 1), 2 ** 31 - 1);
  const values: Record<Exclude<Name, "scan" | "saw">, () => unknown> = {
    text: () => random.below(3) === 0 ? [part(), part()] : [part()],
    software: () => [part(), ...random.some(["paper", "k", "absent"])],
    online: () => random.below(2) === 0,
    edition: () => random.some([...EDITIONS.slice(0, -1), "absent"]),
    confidence: () => random.some(["A", "B", "C"]),
    version: () =>
      random.some([...RANGES, ...RANGES, ...VERSIONS, ...TEXTS].filter((text) => text !== "")),
    mods: () => random.some(["yes", "no", "crea", "A%", "äö", "ÄÖ", "absent"]),
    plugins: () => random.some(["yes", "no", "JEI", "_a", "absent"]),
    down: () => MINUTE_MS * random.below(3),
    stale: () => MINUTE_MS * random.below(3),
    replied: () => MINUTE_MS * random.below(3),
    protocol: () => random.some([...PROTOCOLS, "absent"]),
    port: () => random.some([...PORTS, 3]),
    network: () =>
      random.some(["0.0.0.0/0", "::/0", "10.0.0.0/8", "10.1.0.0/16", "10.0.1.0-10.1.0.9"]
        .concat("2001:db8::/64", "::", "255.255.255.255", "255.255.255.254/31", "::ffff:10.0.0.1")),
    flag: () => random.some([...FLAGS, "absent"]),
    tag: () => random.some([...TAGS, "absent"]),
    named: () =>
      random.some([...HOSTNAMES.map((name) => name.toLowerCase()), "papermc", "b\u0130"]),
    unknown: () => [random.one(UNKNOWN_NAMES), ...random.below(3) === 0 ? ["version"] : []],
    country: () => random.some(["DE", "FR", "XX"]),
    operator: () => random.some([64500, 64501, 1]),
    minPlayers: () => bound(PLAYERS),
    maxPlayers: () => bound(PLAYERS),
    full: () => random.below(2) === 0,
    noAliases: () => random.below(4) > 0,
    since: () => bound(TIMES),
  };
  return values[name as keyof typeof values]();
}

/** All texts, and all filters and pairs of filters with random values. */
function* randomFilters(random: Random): Generator<DashboardFilters> {
  for (const text of new Set(TEXTS.flatMap((text) => CASES.map((change) => change(text))))) {
    if (text !== "") yield* [{ text: [text] }, { software: [text] }];
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, first] of NAMES.entries()) {
      for (const second of NAMES.slice(i)) {
        const filters = { [first]: randomValue(first, random) };
        yield first === second ? filters : { ...filters, [second]: randomValue(second, random) };
      }
    }
  }
}

/** Writes the servers, some of them offline, and some with numbers that another program wrote. */
async function fill(database: Database, servers: readonly ServerRecord[]): Promise<void> {
  await new Store(database, () => Promise.resolve()).write(servers);
  await database.run("update servers set changed_at = first_seen");
  for (const [i, tag] of TAGS.entries()) {
    const sql = `insert into server_tags (tag, server) select ?, id from servers where port = ${
      PORTS[i]
    }`;
    await database.run(sql, [tag]);
  }
  const where = (remainder: number) =>
    `where server in (select id from servers where port = ${PORTS[remainder]})`;
  await database.run(`update server_state set online = false ${where(0)}`);
  // Some offline servers never replied, and some were last probed a minute after their reply.
  await database.run(
    "update server_state set replied_at = null where not online and server % 5 = 0",
  );
  const isSQLite = database.engine === "sqlite";
  const later = isSQLite ? "probed_at + 60000" : "probed_at + interval '1 minute'";
  await database.run(`update server_state set probed_at = ${later} where server % 3 = 0`);
  await database.run(
    `update server_state set players_online = -2 ${where(1)} and players_online = 5`,
  );
  await database.run(`update server_state set players_max = -1 ${where(2)} and players_max = 5`);
}

/**
 * The numbers of the servers that fulfil conditions, and those that the index of each condition
 * finds.
 */
async function selected(database: Database, filters: ServerFilters): Promise<number[]> {
  const query = async (sql: string, values: Parameters<Database["rows"]>[1]) =>
    (await database.rows(`${sql} order by 1`, values)).map(({ id }) => Number(id));
  const from = "select s.id as id from servers s join server_state t on t.server = s.id";
  const conditions = await conditionsOf(database, filters);
  for (const condition of conditions) {
    const { ids, isApproximate } = condition;
    if (ids === undefined) continue;
    const exact = await query(`${from} where ${condition.sql}`, condition.values);
    const found = await query(ids.sql, ids.values);
    const expected = isApproximate
      ? [...new Set([...found, ...exact])].sort((a, b) => a - b)
      : exact;
    assertEquals(found, expected, `an index finds others: ${Deno.inspect(filters)}`);
  }
  const { sql, values } = whereClause(conditions);
  return await query(`${from} ${sql}`, values);
}

/** The servers of a database, and what finds them. */
async function read(database: Database) {
  const servers = await everyServer(database, placeOf);
  const { memory } = await DatabaseIndex.of(database, placeOf, "test");
  const serverIndex = new CachedServerIndex(memory);
  const data = dashboardDataOf(database, { serverIndex, space: new ScannedSpace() }, placeOf);
  return { database, servers, serverIndex, data };
}

/** The keys of the servers that match: by rows, SQL and columns alike. */
async function agreed(
  { database, servers, serverIndex, data }: Awaited<ReturnType<typeof read>>,
  filters: DashboardFilters,
): Promise<string[]> {
  const message = Deno.inspect({ engine: database.engine, filters });
  const rows = servers.filter(testOfRows(filters));
  await data.facets(filters); // also searches the texts that the columns have in part
  const byColumns = new Set(serverIndex.matchIndex(filters).ids());
  const inColumns = servers.filter(({ id }) => byColumns.has(id));
  const { country, operator, unknown } = filters;
  const stored = unknown && dividedUnknown(unknown).stored;
  const bySql = new Set(await selected(database, { ...filters, unknown: stored }));
  const inPlace = testOfPlaces({ country, operator, unknown });
  const inSql = servers.filter((one) => bySql.has(one.id) && inPlace(one));
  const keys = (found: readonly ListedServer[]) => found.map(({ key }) => key).sort();
  assertEquals(keys(inSql), keys(rows), `SQL and rows: ${message}`);
  assertEquals(keys(inColumns), keys(rows), `columns and rows: ${message}`);
  return keys(rows);
}

for (const [seed, count, step, register] of RUNS) {
  onEngines(
    `SQL, columns and rows agree on every filter, and on pairs of filters: seed ${seed}`,
    async (database) => {
      const random = new Random(seed);
      const servers = Array.from({ length: count }, (_, i) => randomServer(i, random));
      await using sqlite = openSqlite(":memory:");
      await createTables(sqlite);
      const databases = [...new Set([database, ...database.engine === "sqlite" ? [] : [sqlite]])];
      for (const one of databases) await fill(one, servers);
      const sources = await Promise.all(databases.map(read));
      const used = new Set<string>();
      for (const hasIndex of [false, true]) {
        if (hasIndex) { for (const one of databases) await createTextIndex(one); }
        for (const filters of randomFilters(random)) {
          if (hasIndex && filters.text === undefined || random.below(step) > 0) continue;
          const [keys, ...others] = await Promise.all(sources.map((one) => agreed(one, filters)));
          for (const other of others) assertEquals(other, keys, Deno.inspect(filters));
          if (keys.length > 0 && keys.length < count) {
            for (const name of Object.keys(filters)) used.add(name);
          }
        }
      }
      assert(
        used.size === NAMES.length,
        `no server matched ${NAMES.filter((name) => !used.has(name))}`,
      );
    },
    register,
  );
}
