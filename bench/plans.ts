// deno-lint-ignore-file no-console
/**
 * Fills databases with servers and observations, and shows the query plan and the time of each
 * query that commands run.
 *
 *     deno run -A bench/plans.ts [--servers 1000000] [--observations 20000000]
 *         [--engines sqlite,postgres] [--folder DIR]
 *
 * It needs about 12 GB in the folder; the default is the system's folder for temporary files. For
 * PostgreSQL it needs Debian's `postgresql`, and starts a server of its own with the default
 * settings. The statements and their parameters are those of the commands: a wrapped database
 * records them. `first` is the time of the first run until the last row was read, `again` the
 * median of five more runs; `rows` is the number of rows. Each of several scans, an hour apart, has
 * found all servers; one server in five is offline. Exits with 1 when a plan reads a whole table
 * without an index. Searches in texts, and orders that no index has, are excepted.
 */
import type { Database, Row, Value } from "../src/store/database/database.ts";
import { historyOf } from "../src/store/history_queries.ts";
import { allEndpoints, selectServers, SERVER_ORDERS } from "../src/store/server_queries.ts";
import { createTables } from "../src/store/schema/create_tables.ts";
import { markMissing } from "../src/store/missing_servers.ts";
import { openPostgres } from "../src/store/database/postgres.ts";
import { parsePostgres } from "../src/store/database/postgres_url.ts";
import { openSqlite } from "../src/store/database/sqlite.ts";
import { downsampleObservations } from "../src/store/downsample.ts";
import { startPostgres } from "../tests/postgres/server.ts";
import { readOptions } from "./shared/options.ts";
import { median, table } from "./shared/table.ts";

const options = readOptions("query plans and times of a large database", {
  servers: "1000000",
  observations: "20000000",
  engines: "sqlite,postgres",
  folder: "",
});
const SERVERS = Number(options.servers);
const SCANS = Math.ceil(Number(options.observations) / SERVERS);
const HOUR = 3_600_000;
const NOW = 1_800_000_000_000;
const START = NOW - SCANS * HOUR;

/** SQL for a table `n (i)` with the numbers from 0 on. */
function series(engine: Database["engine"], count: number): string {
  return engine === "postgres"
    ? `(select i::bigint from generate_series(0, ${count - 1}) as s (i)) as n`
    : `(with recursive s (i) as (select 0 union all select i + 1 from s where i < ${count - 1}) ` +
      "select i from s) as n";
}

const ADDRESS = `'10.' || ((i / 65536) % 256) || '.' || ((i / 256) % 256) || '.' || (i % 256)`;
const KEY = `${ADDRESS} || ':19132'`;

/**
 * SQL for a server's software: seven in ten servers have one software, the others thirty versions
 * of another one.
 */
const SOFTWARE = "case when i % 10 < 7 then 'Paper' else 'PocketMine-MP 5.' || (i % 100) end";

/** The columns of `servers`, and SQL for their values. */
function serverColumns(engine: Database["engine"]): Readonly<Record<string, string>> {
  const isPostgres = engine === "postgres";
  const json = isPostgres ? "::jsonb" : "";
  const time = (ms: string) => isPostgres ? `to_timestamp((${ms}) / 1000.0)` : ms;
  const hash = isPostgres ? "'\\x0123456789abcdef'::bytea" : "x'0123456789abcdef'";
  return {
    key: KEY,
    is_srv: "false",
    address: isPostgres ? `(${ADDRESS})::inet` : ADDRESS,
    ...(!isPostgres && { address_sort: "'4' || printf('%08x', 167772160 + i)" }),
    port: "19132",
    protocol: "'raknet'",
    protocols: `'["raknet","query"]'${json}`,
    edition: "'bedrock'",
    software: `case i % 1999 when 0 then 'Rare' else ${SOFTWARE} end`,
    software_key: `case i % 1999 when 0 then 'rare' else lower(${SOFTWARE}) end`,
    name: "'Server number ' || i",
    name_key: "'server number ' || i",
    motd: "'§aServer number ' || i || ' with some more text'",
    motd_plain: "'Server number ' || i || ' with some more text'",
    version: "'1.' || (10 + i % 12) || '.' || (i % 9)",
    version_key: "'a1.b' || (10 + i % 12) || '.a' || (i % 9)",
    map: "'world'",
    flags: `'[]'${json}`,
    extras: `'{"raknet":{"some":"facts"},"query":{"more":"facts"}}'${json}`,
    content: hash,
    digest: hash,
    first_seen: time(`${START} + i % 86400000`),
    changed_at: time(`${START} + i % 86400000`),
  };
}

/** The columns of `server_state`, and SQL for their values. */
function stateColumns(engine: Database["engine"]): Readonly<Record<string, string>> {
  const time = (ms: string) => engine === "postgres" ? `to_timestamp((${ms}) / 1000.0)` : ms;
  return {
    server: "i + 1",
    scan: "1",
    probed_at: time(`${NOW} - (i * 104729) % ${SCANS * HOUR}`),
    replied_at: time(String(NOW - HOUR)),
    latency_ms: "12.5",
    players_online: "case when i % 11 = 0 then null else (i * 7919) % 500 end",
    players_max: "500",
    missed_scans: "0",
    online: "i % 5 <> 0",
  };
}

/** Fills a database. Returns how long that took, seconds. */
async function fill(database: Database): Promise<number> {
  const begun = performance.now();
  const { engine } = database;
  // Indexes are dropped and created again at the end, because inserting into indexes that do not
  // fit into memory is slow.
  const indices = (await database.rows(
    engine === "sqlite"
      ? "select name, sql from sqlite_master where type = 'index' and sql is not null"
      : "select indexname as name, indexdef as sql from pg_indexes where schemaname = " +
        "current_schema() and indexname !~ '_(pkey|key)$'",
  )).filter(({ name }) => /^(servers|server_state)_/.test(String(name)));
  for (const { name } of indices) await database.script(`drop index ${name}`);
  const insert = (table: string, columns: Readonly<Record<string, string>>) =>
    database.script(
      `insert into ${table} (${Object.keys(columns).join(", ")}) ` +
        `select ${Object.values(columns).join(", ")} from ${series(engine, SERVERS)}`,
    );
  await insert("servers", serverColumns(engine));
  await insert("server_state", stateColumns(engine));
  const at = (ms: string) => engine === "postgres" ? `to_timestamp((${ms}) / 1000.0)` : ms;
  const { content } = serverColumns(engine);
  for (let scan = 0; scan < SCANS; scan++) {
    const uuid = `01a3156c-${String(scan).padStart(4, "0")}-7000-8000-000000000000`;
    await database.run("insert into scans (uuid, kind, state) values (?, 'sweep', 'finished')", [
      uuid,
    ]);
    await insert("observations", {
      server: "i + 1",
      at: at(`${START + scan * HOUR} + (i * 104729) % ${HOUR}`),
      scan: String(scan + 1),
      online: "true",
      players_online: "i % 500",
      players_max: "500",
      latency_ms: "12.5",
      content,
    });
  }
  for (const { sql } of indices) await database.script(String(sql));
  await database.script(engine === "sqlite" ? "analyze" : "vacuum analyze");
  return (performance.now() - begun) / 1000;
}

/** A database that records the queries that it runs. */
function recording(database: Database, queries: [string, readonly Value[]][]): Database {
  const note = (sql: string, values: readonly Value[] = []) => void queries.push([sql, values]);
  const cursor = database.engine === "postgres" ? "declare list no scroll cursor for " : "";
  return {
    ...{ name: database.name, engine: database.engine },
    script: (sql) => database.script(sql),
    run: (sql, values) => (note(sql, values), database.run(sql, values)),
    rows: (sql, values) => (note(sql, values), database.rows(sql, values)),
    stream: (sql, values) => (note(cursor + sql, values), database.stream(sql, values)),
    snapshot: (work) => database.snapshot(work),
    bulk: (statement, rows) => database.bulk(statement, rows),
    transaction: (work) => database.transaction(work),
    now: () => database.now(),
    clockOffsetMs: database.clockOffsetMs,
    flush: () => database.flush(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** Reads at most a number of rows. Returns the number of rows read. */
async function take(rows: AsyncIterable<unknown>, most: number): Promise<number> {
  let count = 0;
  for await (const _ of rows) if (++count >= most) break;
  return count;
}

type Query = (database: Database) => Promise<number>;

/** The queries of commands on databases. */
const QUERIES: readonly (readonly [name: string, query: Query])[] = [
  ...Object.keys(SERVER_ORDERS).map((sort) =>
    [
      sort === "players" ? "servers" : `servers --sort ${sort}`,
      (db: Database) =>
        take(selectServers(db, { sort: sort as keyof typeof SERVER_ORDERS, limit: 100 }), Infinity),
    ] as const
  ),
  [
    "servers --online",
    (db) => take(selectServers(db, { sort: "players", online: true, limit: 100 }), Infinity),
  ],
  [
    "servers --software rare",
    (db) => take(selectServers(db, { sort: "players", software: "rare", limit: 100 }), Infinity),
  ],
  [
    "servers --software mp 5.7 (4 names)",
    (db) => take(selectServers(db, { sort: "players", software: "mp 5.7", limit: 100 }), Infinity),
  ],
  [
    "servers --software paper",
    (db) => take(selectServers(db, { sort: "players", software: "paper", limit: 100 }), Infinity),
  ],
  [
    "servers --game-version 1.21",
    (db) => take(selectServers(db, { sort: "players", version: "1.21", limit: 100 }), Infinity),
  ],
  ["servers --min-players 100 --online", (db) => {
    const selection = { sort: "players", minPlayers: 100, online: true, limit: 100 } as const;
    return take(selectServers(db, selection), Infinity);
  }],
  [
    "servers --text 99999 (10 match)",
    (db) =>
      take(selectServers(db, { sort: "players", text: "number 99999", limit: 100 }), Infinity),
  ],
  ["history", async (db) => (await historyOf(db, SERVERS >> 1, 50)).length],
  [
    "export --since 10m",
    (db) => take(selectServers(db, { sort: "changed", since: NOW - HOUR / 6 }), Infinity),
  ],
  ["scan --rescan, first 1000", (db) => take(allEndpoints(db), 1000)],
  ["end of a scan of a /24", (db) =>
    markMissing(db, {
      ...{ scanId: "01a3156c-0000-7000-8000-000000000000", since: START, at: NOW, downAfter: 3 },
      coverage: { ranges: [{ start: 167772160, end: 167772416 }], includes: () => true },
    })],
  ["prune, first page", async (db) => {
    const controller = new AbortController();
    const end = () => Promise.resolve(controller.abort());
    await downsampleObservations(db, { hourly: NOW, daily: 0 }, end, controller.signal);
    return 2000;
  }],
];

/** Queries that read all servers, because their columns are in no index. */
const UNINDEXED = [
  // no index contains times of polls, because each poll would have to change it
  "servers --sort seen",
  "servers --sort changed",
  "export --since 10m",
  "scan --rescan, first 1000",
  "servers --text 99999 (10 match)",
];

/** A query plan on one line. */
async function planOf(
  database: Database,
  sql: string,
  values: readonly Value[],
): Promise<{ text: string; full: boolean }> {
  if (database.engine === "sqlite") {
    const rows = await database.rows(`explain query plan ${sql}`, values);
    const text = rows.map(({ detail }) => String(detail)).join("; ");
    return { text, full: /SCAN (s|t|o)(?! USING)/.test(text) };
  }
  const rows = await database.rows(`explain ${sql}`, values);
  const lines = rows.map((row: Row) => String(row["QUERY PLAN"]));
  const nodes = lines.filter((line) => /\(cost=/.test(line))
    .map((line) => line.replace(/\s*\(cost=.*/, "").replace(/^\s*(->)?\s*/, ""));
  const text = nodes.join("; ");
  return { text, full: /Seq Scan on (servers|server_state|observations)/.test(text) };
}

async function show(database: Database): Promise<boolean> {
  const lines: (string | number)[][] = [];
  const plans: string[] = [];
  let full = false;
  for (const [name, query] of QUERIES) {
    const queries: [string, readonly Value[]][] = [];
    const begun = performance.now();
    const rows = await query(recording(database, queries));
    const first = performance.now() - begun;
    const again: number[] = [];
    for (let i = 0; i < 5; i++) {
      const from = performance.now();
      await query(database);
      again.push(performance.now() - from);
    }
    const plan = await planOf(database, ...queries.at(-1)!);
    full ||= plan.full && !UNINDEXED.includes(name);
    lines.push([name, rows, first.toFixed(1), median(again).toFixed(1)]);
    plans.push(`${plan.full ? "NO INDEX  " : ""}${name}: ${plan.text}`);
  }
  console.log(table([`${database.engine}`, "rows", "first ms", "again ms"], lines));
  console.log(plans.join("\n"), "\n");
  return full;
}

async function run(database: Database): Promise<boolean> {
  await createTables(database);
  const seconds = await fill(database);
  console.log(
    `${database.engine}: ${SERVERS} servers, ${SCANS * SERVERS} observations in ` +
      `${seconds.toFixed(0)} s`,
  );
  return await show(database);
}

const folder = await Deno.makeTempDir({ dir: options.folder || undefined });
let full = false;
try {
  for (const engine of options.engines.split(",")) {
    if (engine === "sqlite") {
      await using database = openSqlite(`${folder}/list.db`);
      full = await run(database) || full;
    } else {
      await using server = await startPostgres("on");
      const place = parsePostgres(`${server.url}postgres`);
      await using database = await openPostgres(place, "PostgreSQL", place.password);
      full = await run(database) || full;
    }
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}
Deno.exit(full ? 1 : 0);
