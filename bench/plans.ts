// deno-lint-ignore-file no-console
/**
 * Fills lists with servers and observations, and shows the query plans of each engine for what commands read of
 * them: the plan, and how long it takes.
 *
 *     deno run -A bench/plans.ts [--servers 1000000] [--observations 20000000]
 *         [--engines sqlite,postgres] [--folder DIR]
 *
 * It needs some 12 GB in the folder (by default the system's for temporary files), and Debian's
 * `postgresql`, of which it starts a server of its own, with the usual settings. The statements are
 * those that the commands run, caught on their way; parameters are theirs. `first` is the time of the
 * first run, `again` the median of five more, until the last row was read; `rows` how many there were.
 * Servers answer in `scans` of all of them, an hour apart; one in five is offline. Exits with 1 where
 * a plan reads a table without an index, but for searches in texts and orders of them, which have none.
 */
import type { Database, Row, Value } from "../src/store/database/database.ts";
import {
  historyOf,
  overdueEndpoints,
  selectServers,
  SERVER_ORDERS,
} from "../src/store/server_queries.ts";
import { migrate } from "../src/store/database/migrate.ts";
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

/** Numbers from 0 on, as a table `n (i)`. */
function series(engine: Database["engine"], count: number): string {
  return engine === "postgres"
    ? `(select i::bigint from generate_series(0, ${count - 1}) as s (i)) as n`
    : `(with recursive s (i) as (select 0 union all select i + 1 from s where i < ${count - 1}) ` +
      "select i from s) as n";
}

const ADDRESS = "(167772160 + i)";
const ID = `'10.' || ((i / 65536) % 256) || '.' || ((i / 256) % 256) || '.' || (i % 256)`;

/** Seven in ten are of one kind, others are of a hundred versions of another. */
const SOFTWARE = "case when i % 10 < 7 then 'Paper' else 'PocketMine-MP 5.' || (i % 100) end";

/** Columns of servers, and what is in them. */
const SERVER: readonly (readonly [column: string, value: string])[] = [
  ["id", `${ID} || ':19132'`],
  ["addr", ADDRESS],
  ["host", ID],
  ["port", "19132"],
  ["protocol", "'raknet'"],
  ["protocols", `'["raknet","query"]'`],
  ["edition", "'bedrock'"],
  ["software", `case i % 1999 when 0 then 'Rare' else ${SOFTWARE} end`],
  ["software_key", `case i % 1999 when 0 then 'rare' else lower(${SOFTWARE}) end`],
  ["name", "'Server number ' || i"],
  ["motd", "'§aServer number ' || i || ' with some more text'"],
  ["motd_plain", "'Server number ' || i || ' with some more text'"],
  ["version", "'1.' || (10 + i % 12) || '.' || (i % 9)"],
  ["map", "'world'"],
  ["players_online", "case when i % 11 = 0 then null else (i * 7919) % 500 end"],
  ["players_max", "500"],
  ["latency_ms", "12.5"],
  ["flags", "'[]'"],
  ["extras", `'{"raknet":{"some":"facts"},"query":{"more":"facts"}}'`],
  ["last_scan", `'scan-${SCANS - 1}'`],
  ["content_hash", "'0123456789abcdef'"],
  ["online", "case when i % 5 = 0 then 0 else 1 end"],
  ["failures", "0"],
  ["first_seen", String(START)],
  ["last_seen", `${NOW} - (i * 104729) % ${SCANS * HOUR}`],
  ["last_online", String(NOW - HOUR)],
];

/** Fills a list; seconds that it took. */
async function fill(database: Database): Promise<number> {
  const begun = performance.now();
  const { engine } = database;
  // One by one, entries would be sorted into indices that do not fit into memory.
  const indices = (await database.rows(
    engine === "sqlite"
      ? "select name, sql from sqlite_master where type = 'index' and sql is not null"
      : "select indexname as name, indexdef as sql from pg_indexes where schemaname = " +
        "current_schema() and indexname !~ '_pkey$'",
  )).filter(({ name }) => /^(servers|observations)_/.test(String(name)));
  for (const { name } of indices) await database.script(`drop index ${name}`);
  const columns = SERVER.map(([column]) => column).join(", ");
  const values = SERVER.map(([, value]) => value).join(", ");
  await database.script(
    `insert into servers (${columns}) select ${values} from ${series(engine, SERVERS)}`,
  );
  for (let scan = 0; scan < SCANS; scan++) {
    await database.script(
      "insert into observations (scan_id, server_id, round, seen_at, online, players_online, " +
        "players_max, latency_ms, content_hash) select " +
        `'01a3156c-${String(scan).padStart(4, "0")}-7000-8000-000000000000', ${ID} || ':19132', ` +
        `0, ${START + scan * HOUR} + (i * 104729) % ${HOUR}, 1, i % 500, 500, 12.5, ` +
        `'0123456789abcdef' from ${series(engine, SERVERS)}`,
    );
  }
  for (const { sql } of indices) await database.script(String(sql));
  await database.script(engine === "sqlite" ? "analyze" : "vacuum analyze");
  return (performance.now() - begun) / 1000;
}

/** A database that notes which queries go through it. */
function noting(database: Database, queries: [string, readonly Value[]][]): Database {
  const note = (sql: string, values: readonly Value[] = []) => void queries.push([sql, values]);
  const cursor = database.engine === "postgres" ? "declare list no scroll cursor for " : "";
  return {
    ...{ name: database.name, engine: database.engine },
    script: (sql) => database.script(sql),
    run: (sql, values) => (note(sql, values), database.run(sql, values)),
    rows: (sql, values) => (note(sql, values), database.rows(sql, values)),
    stream: (sql, values) => (note(cursor + sql, values), database.stream(sql, values)),
    bulk: (statement, rows) => database.bulk(statement, rows),
    transaction: (work) => database.transaction(work),
    flush: () => database.flush(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** Takes some of what is read, and ends. */
async function take(rows: AsyncIterable<unknown>, most: number): Promise<number> {
  let count = 0;
  for await (const _ of rows) if (++count >= most) break;
  return count;
}

type Asked = (database: Database) => Promise<number>;

/** The queries of commands on databases. */
const QUESTIONS: readonly (readonly [name: string, ask: Asked])[] = [
  ...Object.keys(SERVER_ORDERS).map((sort) =>
    [
      sort === "players" ? "servers" : `servers --sort ${sort}`,
      (db: Database) =>
        take(selectServers(db, { sort: sort as keyof typeof SERVER_ORDERS, limit: 100 }), Infinity),
    ] as const
  ),
  [
    "list --online",
    (db) => take(selectServers(db, { sort: "players", online: true, limit: 100 }), Infinity),
  ],
  [
    "list --software rare",
    (db) => take(selectServers(db, { sort: "players", software: "rare", limit: 100 }), Infinity),
  ],
  [
    "list --software of 4 names",
    (db) => take(selectServers(db, { sort: "players", software: "mp 5.7", limit: 100 }), Infinity),
  ],
  [
    "list --software paper",
    (db) => take(selectServers(db, { sort: "players", software: "paper", limit: 100 }), Infinity),
  ],
  [
    "servers --game-version 1.21",
    (db) => take(selectServers(db, { sort: "players", version: "1.21", limit: 100 }), Infinity),
  ],
  ["list --min-players 100 --online", (db) => {
    const selection = { sort: "players", minPlayers: 100, online: true, limit: 100 } as const;
    return take(selectServers(db, selection), Infinity);
  }],
  [
    "list --text 99999 (10 match)",
    (db) =>
      take(selectServers(db, { sort: "players", text: "number 99999", limit: 100 }), Infinity),
  ],
  ["history", async (db) => (await historyOf(db, `10.${SERVERS >> 17}.7.7:19132`, 50)).length],
  [
    "export --since 10m",
    (db) => take(selectServers(db, { sort: "overdue", since: NOW - HOUR / 6 }), Infinity),
  ],
  ["scan --rescan, first 1000", (db) => take(overdueEndpoints(db), 1000)],
  ["end of a scan of a /24", (db) =>
    markMissing(db, {
      ...{ scanId: "none", since: START, at: NOW, downAfter: 3 },
      coverage: { ranges: [{ start: 167772160, end: 167772416 }], includes: () => true },
    })],
  ["prune, first page", async (db) => {
    const controller = new AbortController();
    const end = () => Promise.resolve(controller.abort());
    await downsampleObservations(db, { hourly: NOW, daily: 0 }, end, controller.signal);
    return 2000;
  }],
];

/** Texts of strangers are in no index: these read all servers. */
const UNINDEXED = ["list --sort name", "list --sort version", "list --text 99999 (10 match)"];

/** A plan in a line. */
async function planOf(
  database: Database,
  sql: string,
  values: readonly Value[],
): Promise<{ text: string; full: boolean }> {
  if (database.engine === "sqlite") {
    const rows = await database.rows(`explain query plan ${sql}`, values);
    const text = rows.map(({ detail }) => String(detail)).join("; ");
    return { text, full: /SCAN (servers|observations)(?! USING)/.test(text) };
  }
  const rows = await database.rows(`explain ${sql}`, values);
  const lines = rows.map((row: Row) => String(row["QUERY PLAN"]));
  const nodes = lines.filter((line) => /\(cost=/.test(line))
    .map((line) => line.replace(/\s*\(cost=.*/, "").replace(/^\s*(->)?\s*/, ""));
  const text = nodes.join("; ");
  return { text, full: /Seq Scan on (servers|observations)/.test(text) };
}

async function show(database: Database): Promise<boolean> {
  const lines: (string | number)[][] = [];
  const plans: string[] = [];
  let full = false;
  for (const [name, ask] of QUESTIONS) {
    const queries: [string, readonly Value[]][] = [];
    const begun = performance.now();
    const rows = await ask(noting(database, queries));
    const first = performance.now() - begun;
    const again: number[] = [];
    for (let i = 0; i < 5; i++) {
      const from = performance.now();
      await ask(database);
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
  await migrate(database);
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
