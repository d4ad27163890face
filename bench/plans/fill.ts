/**
 * Fills a database with servers, observations and rollups, by SQL: few servers have many players, few
 * kinds of software, versions and ports have many servers, and the others have few.
 */
import type { Database } from "../../src/store/database/database.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** The end of the observations, Unix milliseconds: the start of a day, before the time of polls. */
export const NOW = 1_767_225_600_000;
/** The servers with the last addresses changed later than all others: within this time, milliseconds. */
export const LATE_MS = 2 * DAY;
/** The share of these servers. */
const LATE_SHARE = 0.05;
/** Days of rollups, and hours before {@linkcode NOW} that have rollups per hour. */
const ROLLUP_DAYS = 31;
/** One server in this many has rollups. */
export const ROLLUP_EVERY = 10;

/** How much to fill in. */
export interface Amounts {
  readonly servers: number;
  readonly observations: number;
}

/** SQL for a table `n (i)` with the numbers from 0 on. */
function series(engine: Database["engine"], count: number): string {
  return engine === "postgres"
    ? `(select i::bigint from generate_series(0, ${count - 1}) as s (i)) as n`
    : `(with recursive s (i) as (select 0 union all select i + 1 from s where i < ${count - 1}) ` +
      "select i from s) as n";
}

/** SQL of a number from 1 to 2^32 that depends on `i`; others with another `salt`. */
function random(salt: number): string {
  return `(1 + (i * ${salt} + 374761393) % 4294967296)`;
}

/** SQL of a time up to 398 days, milliseconds: every time is equally frequent. */
function age(salt: number): string {
  return `(${random(salt)} * 8 % ${398 * DAY})`;
}

/** SQL of a whole number from `first` on: each is about as frequent as its square is small. */
function skewed(salt: number, first: number, largest: number): string {
  return `(case when ${4294967296n * BigInt(first)} / ${random(salt)} < ${largest} ` +
    `then ${4294967296n * BigInt(first)} / ${random(salt)} else ${largest} end)`;
}

const ADDRESS = `'10.' || ((i / 65536) % 256) || '.' || ((i / 256) % 256) || '.' || (i % 256)`;
const PORT = `(case when ${random(2246822519)} % 10 < 5 then 19132 ` +
  `when ${random(2246822519)} % 10 < 8 then 25565 else 1024 + ${random(3266489917)} % 60000 end)`;
const SOFTWARE =
  `(case when i % 1999 = 0 then 'Rare' when ${random(668265263)} % 10 < 7 then 'Paper' ` +
  `else 'PocketMine-MP 5.' || ${skewed(2654435761, 1, 900)} end)`;
/** The name: one in 20 is about skyblock, one in 50,000 about zebras. */
const NAME =
  "(case when i % 50000 = 7 then 'Zebra crossing ' when i % 20 = 3 then 'Skyblock realm ' " +
  "else 'Server number ' end || i)";
const MINOR = `(22 - ${skewed(2166136261, 1, 12)})`;
const PATCH = `(${random(3084996963)} % 9)`;
/** The edition: one server in 400 is of the Education Edition, and one in 21 of the Java Edition. */
const EDITION =
  "(case when i % 400 = 9 then 'education' when i % 21 = 4 then 'java' else 'bedrock' end)";
const PROTOCOLS = `case when i % 900 = 8 then '["sqp"]' when i % 21 = 4 then '["slp","query"]' ` +
  `when i % 3 = 0 then '["raknet","query"]' else '["raknet"]' end`;
const CONFIDENCE = "(case when i % 30 = 7 then 'B' when i % 150 = 8 then 'C' else 'A' end)";
/** Flags of a server, as text of JSON. */
const FLAGS =
  `(case when i % 20011 = 5 then '["countClamped"]' when i % 97 = 0 then '["cutShort"]' ` +
  `when i % 3 = 0 then '["formatted"]' else '[]' end)`;

/** The columns of `servers`, and SQL for their values. */
function serverColumns(
  engine: Database["engine"],
  servers: number,
): Readonly<Record<string, string>> {
  const isPostgres = engine === "postgres";
  const json = isPostgres ? "::jsonb" : "";
  const hash = isPostgres ? "'\\x0123456789abcdef'::bytea" : "x'0123456789abcdef'";
  const sinceLate = `case when i >= ${(1 - LATE_SHARE) * servers} ` +
    `then ${random(2870177450)} % ${LATE_MS} else ${LATE_MS} + ${age(2447445414)} end`;
  return {
    id: "i + 1",
    key: `${ADDRESS} || ':' || ${PORT}`,
    is_srv: "false",
    address: isPostgres ? `(${ADDRESS})::inet` : ADDRESS,
    ...(!isPostgres && { address_sort: "'4' || printf('%08x', 167772160 + i)" }),
    port: PORT,
    protocol: "'raknet'",
    protocols: `(${PROTOCOLS})${json}`,
    edition: EDITION,
    software_confidence: CONFIDENCE,
    alias_of: `case when i % 13 = 6 then ${ADDRESS} || ':1' end`,
    software: SOFTWARE,
    software_key: `lower(${SOFTWARE})`,
    name: NAME,
    name_key: `lower(${NAME})`,
    motd: `'§a' || ${NAME} || ' with some more text'`,
    motd_plain: `${NAME} || ' with some more text'`,
    version: `'1.' || ${MINOR} || '.' || ${PATCH}`,
    version_key: `'a1.b' || ${MINOR} || '.a' || ${PATCH}`,
    map: "'world'",
    flags: `${FLAGS}${json}`,
    extras: `'{"raknet":{"some":"facts"},"query":{"more":"facts"}}'${json}`,
    content: hash,
    digest: hash,
    first_seen: time(engine, `${NOW} - ${age(1013904223)}`),
    changed_at: time(engine, `${NOW} - ${sinceLate}`),
  };
}

/** The columns of `server_state`, and SQL for their values. */
function stateColumns(engine: Database["engine"]): Readonly<Record<string, string>> {
  return {
    server: "i + 1",
    scan: "1",
    probed_at: time(engine, `${NOW} - (i * 104729) % ${HOUR}`),
    replied_at: time(engine, `${NOW} - (i * 104729) % ${HOUR}`),
    latency_ms: "12.5",
    players_online: `case when i % 11 = 0 then null else ${skewed(3405691583, 1, 50000)} - 1 end`,
    players_max: "500",
    missed_scans: "0",
    online: "i % 5 <> 1",
  };
}

/** SQL of a time in milliseconds. */
function time(engine: Database["engine"], ms: string): string {
  return engine === "postgres" ? `to_timestamp((${ms}) / 1000.0)` : `(${ms})`;
}

/** Fills a database that has empty tables. Returns how long that took, seconds. */
export async function fill(database: Database, amounts: Amounts): Promise<number> {
  const begun = performance.now();
  const { engine } = database;
  // Indexes are dropped and created again at the end, because inserting into indexes that do not
  // fit into memory is slow.
  const indices = (await database.rows(
    engine === "sqlite"
      ? "select name, sql from sqlite_master where type = 'index' and sql is not null"
      : "select indexname as name, indexdef as sql from pg_indexes where schemaname = " +
        "current_schema() and indexname !~ '_(pkey|key)$'",
  )).filter(({ name }) => /^server(s|_state|_list)_/.test(String(name)));
  for (const { name } of indices) await database.script(`drop index ${name}`);
  const insert = (table: string, columns: Readonly<Record<string, string>>, count: number) =>
    database.script(
      `insert into ${table} (${Object.keys(columns).join(", ")}) ` +
        `${engine === "postgres" && columns.id ? "overriding system value " : ""}` +
        `select ${Object.values(columns).join(", ")} from ${series(engine, count)}`,
    );
  await insert("servers", serverColumns(engine, amounts.servers), amounts.servers);
  if (engine === "postgres") {
    await database.script(
      "select setval(pg_get_serial_sequence('servers', 'id'), max(id)) from servers",
    );
  }
  await insert("server_state", stateColumns(engine), amounts.servers);
  await fillObservations(database, amounts, insert);
  await fillRollups(database, amounts.servers, insert);
  const flags = engine === "postgres"
    ? "jsonb_array_elements_text(s.flags) as f (value)"
    : "json_each(s.flags) as f";
  await database.script(
    `insert into server_flags (flag, server) select f.value, s.id from servers s cross join ${flags}`,
  );
  for (const { sql } of indices) await database.script(String(sql));
  return (performance.now() - begun) / 1000;
}

type Insert = (
  table: string,
  columns: Readonly<Record<string, string>>,
  count: number,
) => Promise<void>;

/** Scans, an hour apart, each with an observation of every server. */
async function fillObservations(
  database: Database,
  { servers, observations }: Amounts,
  insert: Insert,
): Promise<void> {
  const { engine } = database;
  const { content } = serverColumns(engine, servers);
  const scans = Math.ceil(observations / servers);
  for (let scan = 1; scan <= scans; scan++) {
    const uuid = `01a3156c-${String(scan).padStart(4, "0")}-7000-8000-000000000000`;
    await database.run("insert into scans (uuid, kind, state) values (?, 'sweep', 'finished')", [
      uuid,
    ]);
    await insert("observations", {
      server: "i + 1",
      at: time(engine, `${NOW - (scans - scan + 1) * HOUR} + (i * 104729) % ${HOUR}`),
      scan: String(scan),
      online: "true",
      players_online: "i % 500",
      players_max: "500",
      latency_ms: "12.5",
      content,
    }, servers);
  }
}

/** Rollups of one server in {@linkcode ROLLUP_EVERY}: per day, and per hour of the last week. */
async function fillRollups(database: Database, servers: number, insert: Insert): Promise<void> {
  const { engine } = database;
  const rollups = (hours: number, count: number) => {
    const row = `(i / ${servers / ROLLUP_EVERY})`;
    return insert("rollups", {
      at: time(engine, `${NOW} - (${row} + 1) * ${hours * HOUR}`),
      hours: String(hours),
      server: `1 + ${ROLLUP_EVERY} * (i % ${servers / ROLLUP_EVERY})`,
      player_s: `${hours * 3600} * (i % 50)`,
      watched_s: `${hours * 3600}`,
      online_s: `${hours * 3600} - i % 100`,
      players_min: "i % 5",
      players_max: "i % 100",
    }, count * servers / ROLLUP_EVERY);
  };
  await rollups(24, ROLLUP_DAYS);
  await rollups(1, 7 * 24);
  const isWatched = `i % ${ROLLUP_EVERY} = 0`;
  await insert("server_uptime", {
    server: "i + 1",
    until: `case when ${isWatched} then ${time(engine, `${NOW}`)} end`,
    watched_s: `case when ${isWatched} then ${30 * 86_400} else 0 end`,
    online_s: `case when ${isWatched} then ${30 * 86_400} - i / ${ROLLUP_EVERY} % 100 else 0 end`,
  }, servers);
}
