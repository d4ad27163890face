/** Rows that are written while their hour is being closed, or later: src/store/uptime/close_hours.ts, dirty_hours.ts and roll_up.ts. */
import { assert, assertEquals } from "@std/assert";
import { DAY_MS, HOUR_MS } from "../../../src/core/quantities.ts";
import { type Database, Unavailable } from "../../../src/store/database/database.ts";
import { writeObservations } from "../../../src/store/writers/observation_rows.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { readDatabaseIdentity } from "../../../src/store/spill_file.ts";
import { SpillingStore } from "../../../src/store/spilling_store.ts";
import { Store } from "../../../src/store/store.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { periodStart, readState } from "../../../src/store/uptime/rollup_hours.ts";
import { rollUp } from "../../../src/store/uptime/roll_up.ts";
import { hourPoints } from "../../../src/store/uptime/uptime_queries.ts";
import { writeSpans } from "../../../src/store/uptime/watch_spans.ts";
import { all, connect, onEngines, postgresTest } from "../databases.ts";
import { record, watchId } from "../records.ts";

const START = periodStart(1_700_000_000_000, DAY_MS);
const between = () => Promise.resolve();

/** Writes two servers, and a watch that watched for four hours. Its number is 2. */
async function prepare(database: Database): Promise<void> {
  const store = new Store(database, between);
  await store.write([record(1), record(2)]);
  await store.begin({ id: watchId(1), kind: "watch", at: START, config: "{}" });
  await database.transaction(() =>
    writeSpans(database, watchId(1), [{ startedAt: START, endedAt: START + 4 * HOUR_MS }])
  );
}

/** Seconds watched and online per hour of a server, as rolled up. */
async function uptimeOf(database: Database, server: number): Promise<number[][]> {
  const points = await hourPoints(database, server, START, START + 4 * HOUR_MS);
  return points.map(({ watchedS, onlineS }) => [watchedS, onlineS]);
}

const seen = (server: number, at: number, online: boolean) => [
  ...[server, at, 2, online ? 1 : 0, online ? 5 : null, null, null, null, 1],
];

postgresTest(
  "an hour is not closed while an earlier transaction runs, and contains all rows of that transaction",
  async (url) => {
    await using one = await connect(url);
    await using other = await connect(url);
    await createTables(one);
    await prepare(one);
    const now = START + DAY_MS;
    const [written, closing] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const writing = other.transaction(async () => {
      await writeObservations(other, [seen(1, START, true)]);
      written.resolve();
      await closing.promise;
    });
    await written.promise;
    assertEquals(await rollUp(one, { now, between }), false);
    assertEquals((await readState(one)).closedUntil, 0);
    closing.resolve();
    await writing;
    assertEquals(await rollUp(one, { now, between }), true);
    assertEquals(await uptimeOf(one, 1), [[3600, 3600], [3600, 3600], [3600, 3600]]);
  },
);

postgresTest(
  "two programs that compute rollups while a third writes give the same rollups as one",
  async (url) => {
    await using stack = new AsyncDisposableStack();
    const databases: Database[] = [];
    for (let i = 0; i < 3; i++) databases.push(stack.use(await connect(url)));
    const [one, two, writer] = databases;
    await createTables(one);
    await prepare(one);
    let isWritten = false;
    const keepUp = async (database: Database) => {
      while (!isWritten) await rollUp(database, { now: START + DAY_MS, between });
    };
    const write = async () => {
      for (let i = 0; i < 60; i++) {
        const at = START + 60_000 * ((7 * i) % 60);
        await writer.transaction(() =>
          writeObservations(writer, [seen(1 + i % 2, at, true), seen(2 - i % 2, at, false)])
        );
      }
      isWritten = true;
    };
    await Promise.all([keepUp(one), keepUp(two), write()]);
    assert(await rollUp(one, { now: START + DAY_MS, between }));
    assertEquals(await all(one, "select * from dirty_hours"), []);
    // Each server is online in every second minute.
    for (const server of [1, 2]) {
      const [[watched, online]] = await uptimeOf(one, server);
      assertEquals([watched, online], [3600, 1800]);
    }
  },
);

postgresTest(
  "a late row that is written while an earlier one is computed is computed after it",
  async (url) => {
    await using one = await connect(url);
    await using writer = await connect(url);
    await using observer = await connect(url);
    await createTables(one);
    await prepare(one);
    const now = START + DAY_MS;
    assert(await rollUp(one, { now, between }));
    await one.transaction(() => writeObservations(one, [seen(1, START, true)]));
    let computing: Promise<boolean> | undefined;
    let isComputed = false;
    await writer.transaction(async () => {
      await writeObservations(writer, [seen(1, START + HOUR_MS / 2, false)]);
      computing = rollUp(one, { now, between }).finally(() => isComputed = true);
      const waiting = "select 1 from pg_stat_activity " +
        "where datname = current_database() and wait_event_type = 'Lock'";
      while (!isComputed && (await all(observer, waiting)).length === 0);
      assert(!isComputed);
    });
    assertEquals(await computing, true);
    assertEquals((await uptimeOf(one, 1))[0], [3600, 1800]);
  },
);

onEngines("rows of a watch from a spill file mark their hours, and count", async (db) => {
  await prepare(db);
  const now = START + DAY_MS;
  await rollUp(db, { now, between });
  assertEquals(await uptimeOf(db, 1), []);
  const folder = await Deno.makeTempDir();
  try {
    let isAway = true;
    const store = new Store(db, () => {
      return isAway ? Promise.reject(new Unavailable("away")) : Promise.resolve();
    });
    await using spilling = new SpillingStore(
      Object.assign(store, { [Symbol.asyncDispose]: () => Promise.resolve() }),
      {
        path: `${folder}/spill.ndjson`,
        identity: await readDatabaseIdentity(db),
        maxBytes: 1e6,
        maxWaitMs: 0,
        clock: systemClock,
        report: () => {},
      },
    );
    const late = { seen_at: START + HOUR_MS / 2, scan_id: watchId(1), players_online: 3 };
    await spilling.write([record(1, late)]);
    assert((await Deno.stat(`${folder}/spill.ndjson`)).size > 0);
    assertEquals(await all(db, "select hour from dirty_hours"), []);
    isAway = false;
    const counts = { probesSent: 1, replies: 1, found: 1, downAfter: 3 };
    await spilling.end({ id: watchId(1), since: 0, at: now, state: "finished", ...counts });
    assert((await all(db, "select hour from dirty_hours where server = 1")).length > 0);
    await rollUp(db, { now, between });
    assertEquals(await uptimeOf(db, 1), [[1800, 1800], [3600, 3600], [3600, 3600], [1800, 1800]]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
