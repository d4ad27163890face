import { assert, assertEquals } from "@std/assert";
import { DAY_MS, HOUR_MS } from "../../../src/core/quantities.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { writeObservations } from "../../../src/store/writers/observation_rows.ts";
import { Store } from "../../../src/store/store.ts";
import { periodStart } from "../../../src/store/uptime/rollup_hours.ts";
import { rollUp } from "../../../src/store/uptime/roll_up.ts";
import { writeSpans } from "../../../src/store/uptime/watch_spans.ts";
import { all, onEngines } from "../databases.ts";
import { record, watchId } from "../records.ts";

const START = periodStart(1_700_000_000_000, DAY_MS);
/** One hour has ended. */
const NOW = START + 1.5 * HOUR_MS;
/** More servers than one query for totals reads. */
const SERVERS = 2001;
const between = () => Promise.resolve();

async function watchUntil(database: Database, endedAt: number): Promise<void> {
  await database.transaction(() =>
    writeSpans(database, watchId(1), [{ startedAt: START, endedAt }])
  );
}

/** A row of the only watch, whose number is 2. */
async function observe(database: Database, at: number, online: boolean, servers: number[]) {
  const state = [2, online ? 1 : 0, null, null, null, null, 1];
  await database.transaction(() =>
    writeObservations(database, servers.map((server) => [server, at, ...state]))
  );
}

/** Servers that replied to a watch in the first half of an hour. */
async function prepare(database: Database): Promise<void> {
  const store = new Store(database, between);
  const servers = Array.from({ length: SERVERS }, (_, i) => i + 1);
  await store.write(servers.map((port) => record(port)));
  await store.begin({ id: watchId(1), kind: "watch", at: START, config: "{}" });
  await observe(database, START, true, servers);
  await watchUntil(database, START + HOUR_MS / 2);
}

/** Computes all rollups. `work` runs once, between two queries for totals. */
async function rollUpDuring(database: Database, work: () => Promise<void>): Promise<void> {
  let pauses = 0;
  const pause = async () => {
    const left = await all(database, "select 1 from dirty_hours where next_server = 2147483647");
    // The first pause with nothing left but the totals comes before the queries, the second among them.
    if (left.length > 0 && ++pauses === 2) await work();
  };
  assert(await rollUp(database, { now: NOW, between: pause }));
  assert(pauses >= 2);
}

/** Seconds watched and online, of all servers: by the rollups, and by their totals. */
async function sums(database: Database): Promise<number[][]> {
  const sum = "select sum(watched_s) as watched, sum(online_s) as online from";
  const rows = [
    ...await all(database, `${sum} rollups where hours = 1`),
    ...await all(database, `${sum} rollup_totals where hours = 1 and kind = 'port'`),
  ];
  return rows.map(({ watched, online }) => [Number(watched), Number(online)]);
}

onEngines(
  "a watch's late time counts although the totals of its hour were being computed",
  async (db) => {
    await prepare(db);
    await rollUpDuring(db, () => watchUntil(db, START + HOUR_MS));
    const whole = [3600 * SERVERS, 3600 * SERVERS];
    assertEquals(await sums(db), [whole, whole]);
  },
);

onEngines(
  "a late row that another program computes counts in totals that were being computed",
  async (db) => {
    await prepare(db);
    await rollUpDuring(db, async () => {
      await observe(db, START + HOUR_MS / 4, false, [1]);
      const other = new AbortController();
      const stop = () => Promise.resolve(other.abort());
      assertEquals(await rollUp(db, { now: NOW, between: stop, signal: other.signal }), false);
    });
    const seconds = [1800 * SERVERS, 1800 * SERVERS - 900];
    assertEquals(await sums(db), [seconds, seconds]);
  },
);
