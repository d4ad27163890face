// deno-lint-ignore-file no-console
/**
 * Measures how long the rollups of an hour take, and how long queries of uptime take.
 *
 *     deno run -A bench/rollups.ts [--servers 1000000] [--days 30] [--hours 24] [--engines sqlite,postgres]
 *
 * The database has a watch that watched all servers for the given number of days. Rollups of days, and
 * those of the last hours, are filled in by the database itself; the rollups of one more hour are
 * computed from two observations of each server, as a watch does it. For PostgreSQL a server with the
 * usual settings is started. Queries run for 20 servers each, without a pause, and pages of 50 servers at
 * 100 positions; the median and the 95th percentile are shown. Nothing is analyzed or vacuumed.
 */
import { DAY_MS, HOUR_MS } from "../src/core/quantities.ts";
import { Random } from "../src/fleet/random.ts";
import type { Database } from "../src/store/database/database.ts";
import { Store } from "../src/store/store.ts";
import { createTables } from "../src/store/schema/create_tables.ts";
import { periodStart } from "../src/store/uptime/rollup_hours.ts";
import { rollUp } from "../src/store/uptime/roll_up.ts";
import { hourPoints, recentUptime } from "../src/store/uptime/uptime_queries.ts";
import { writeSpans } from "../src/store/uptime/watch_spans.ts";
import { onEmptyDatabases } from "./shared/empty_databases.ts";
import { readOptions } from "./shared/options.ts";
import { table } from "./shared/table.ts";

const options = readOptions("the time of rollups and of queries of uptime", {
  servers: "1000000",
  days: "30",
  hours: "24",
  engines: "sqlite,postgres",
});
const [servers, days, hours] = [options.servers, options.days, options.hours].map(Number);
const WATCH = "00000000-0000-7000-8000-000000000001";
/** The end of the hour whose rollups are computed. */
const NOW = periodStart(Date.now(), HOUR_MS);

/** SQL of a time and of a table with the numbers from 1, for an engine. */
function dialect({ engine }: Database) {
  const isPostgres = engine === "postgres";
  return {
    time: (ms: string) => isPostgres ? `to_timestamp((${ms}) / 1000.0)` : ms,
    numbers: (name: string, count: number) =>
      isPostgres
        ? `generate_series(1::bigint, ${count}) as ${name} (i)`
        : `(with recursive n (i) as (select 1 union all select i + 1 from n limit ${count}) ` +
          `select i from n) as ${name}`,
    empty: (column: string) => isPostgres ? `'\\x'::${column}` : "x''",
  };
}

async function fill(database: Database): Promise<void> {
  const { time, numbers, empty } = dialect(database);
  const isPostgres = database.engine === "postgres";
  const no = isPostgres ? "false" : "0";
  const sort = isPostgres ? "" : ", address_sort";
  await database.script(
    `insert into servers (key, is_srv, address, port, protocol, protocols, version, software, name_key, ` +
      `version_key, flags, content, digest, first_seen, changed_at${sort}) select '10.0.0.1:' || s.i, ` +
      `${no}, '10.0.0.1', s.i % 65536, 'raknet', '["raknet"]', '1.' || s.i % 300, 'software ' || ` +
      `s.i % 5000, '', '', '[]', ${empty("bytea")}, ${empty("bytea")}, ${time(`${NOW}`)}, ` +
      `${time(`${NOW}`)}${isPostgres ? "" : ", '4'"} from ${numbers("s", servers)}`,
  );
  await database.script(
    "insert into server_state (server, probed_at, players_online, missed_scans, online) select id, " +
      `first_seen, id % 1000, 0, ${isPostgres ? "true" : "1"} from servers`,
  );
  const rollups = (count: number, lengthMs: number, last: number) =>
    "insert into rollups (at, hours, server, player_s, watched_s, online_s, players_min, players_max) " +
    `select ${time(`${last} - ${lengthMs} * (${count} - d.i)`)}, ${lengthMs / HOUR_MS}, s.i, ` +
    `7 * ${lengthMs / 1000}, ${lengthMs / 1000}, ${lengthMs / 1000} - s.i % 99, 1, 9 ` +
    `from ${numbers("d", count)} cross join ${numbers("s", servers)} order by d.i, s.i`;
  const today = periodStart(NOW, DAY_MS);
  await database.script(rollups(days, DAY_MS, today - DAY_MS));
  await database.script(rollups(hours, HOUR_MS, NOW - 2 * HOUR_MS));
  await database.script(
    "insert into server_uptime (server, until, watched_s, online_s) select id, " +
      `${time(`${today}`)}, ${days * DAY_MS / 1000}, ${
        days * DAY_MS / 1000
      } - id % 99 from servers`,
  );
  for (const minute of [61, 31]) {
    await database.script(
      "insert into observations (at, server, scan, players_online, players_max, online, latency_ms) " +
        `select ${time(`${NOW} - 60000 * ${minute} + s.i % 60000`)}, s.i, 1, 7, 20, ` +
        `${isPostgres ? "true" : "1"}, 10 from ${numbers("s", servers)}`,
    );
  }
  await database.script(
    `update rollup_state set closing_until = ${time(`${NOW - HOUR_MS}`)}, ` +
      `closed_until = ${time(`${NOW - HOUR_MS}`)}`,
  );
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** The median and the 95th percentile of the times of a query, milliseconds. */
async function query(
  work: (number: number) => Promise<unknown>,
  below = servers,
  count = 20,
): Promise<string> {
  const random = new Random(1);
  const times: number[] = [];
  for (let i = 0; i < count; i++) times.push(await timed(() => work(1 + random.below(below))));
  times.sort((a, b) => a - b);
  return `${times[count >> 1].toFixed(1)}, ${times[Math.ceil(0.95 * count) - 1].toFixed(1)}`;
}

async function measure(database: Database): Promise<void> {
  await createTables(database);
  const start = { id: WATCH, kind: "watch" as const, at: NOW, config: "{}" };
  await new Store(database).begin(start);
  await fill(database);
  const startedAt = NOW - days * DAY_MS;
  await database.transaction(() => writeSpans(database, WATCH, [{ startedAt, endedAt: NOW }]));
  await database.script("delete from dirty_hours");
  let memory = 0;
  const between = () => {
    memory = Math.max(memory, Deno.memoryUsage().rss);
    return Promise.resolve();
  };
  const hourMs = await timed(() => rollUp(database, { now: NOW + HOUR_MS / 2, between }));
  const page = "select key, uptime_30d from server_list where online " +
    "order by players_online desc nulls last limit 50 offset ?";
  console.log(table([database.engine, "ms"], [
    ["rollups and totals of one hour", hourMs.toFixed(0)],
    ["uptime in 24 h, 7 d and 30 d", await query((id) => recentUptime(database, id, NOW))],
    ["players per hour", await query((id) => hourPoints(database, id, NOW - hours * HOUR_MS, NOW))],
    [
      "50 servers by players, with uptime_30d",
      await query((offset) => database.rows(page, [offset]), 1000, 100),
    ],
    ["memory of the program, MB", (memory / 1e6).toFixed(0)],
  ]));
}

await onEmptyDatabases(options.engines, measure);
