/** The exported times of src/store/uptime/uptime_export.ts, from which the uptime is computed again. */
import { assert, assertEquals } from "@std/assert";
import { DAY_MS, HOUR_MS } from "../../../src/core/quantities.ts";
import { Random } from "../../../src/fleet/random.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { downsampleObservations } from "../../../src/store/downsample.ts";
import { serverPages } from "../../../src/store/server_queries.ts";
import { Store } from "../../../src/store/store.ts";
import { rollUp } from "../../../src/store/uptime/roll_up.ts";
import { removeHours, sealHours } from "../../../src/store/uptime/seal_hours.ts";
import { type UptimePeriod, uptimePeriods } from "../../../src/store/uptime/uptime_export.ts";
import { recentUptime } from "../../../src/store/uptime/uptime_queries.ts";
import { writeSpans } from "../../../src/store/uptime/watch_spans.ts";
import { writeObservations } from "../../../src/store/writers/observation_rows.ts";
import { all, onEngines, setClock } from "../databases.ts";
import { record, watchId } from "../records.ts";

const START = 20_000 * DAY_MS;
const SERVERS = [1, 2, 3];
const WATCHES = [2, 3];
const between = () => Promise.resolve();

/** Observations of all servers and the spans of two watches, at any milliseconds of some days. */
async function watchAtRandom(db: Database, random: Random, from: number, days: number) {
  for (const scan of WATCHES) {
    const spans: { startedAt: number; endedAt: number }[] = [];
    for (let at = from + random.below(DAY_MS); at < from + days * DAY_MS;) {
      const endedAt = Math.min(at + 1 + random.below(2 * DAY_MS), from + days * DAY_MS);
      spans.push({ startedAt: at, endedAt });
      at = endedAt + 1 + random.below(12 * HOUR_MS);
    }
    const rows = SERVERS.flatMap((server) =>
      Array.from({ length: 60 * days }, () => {
        // Some observations follow another within a second, also around a full hour.
        const at = from + random.below(days * 24) * HOUR_MS +
          (random.below(3) === 0 ? random.below(1500) - 750 : random.below(HOUR_MS));
        const online = random.below(4) > 0 ? 1 : 0;
        return [server, at, scan, online, online * 7, 20, null, null, 1 + random.below(60)];
      })
    );
    await db.transaction(() => writeObservations(db, rows));
    await db.transaction(() => writeSpans(db, watchId(scan), spans));
  }
}

/** The sums over exported times, by the arithmetic of the guide. */
function sumsOf(periods: readonly UptimePeriod[]) {
  let [watchedS, onlineS, polls] = [0, 0, 0];
  let end = 0;
  for (const { from, to, hours, state, polls: count, ...sums } of periods) {
    assert(from >= end && from <= to, "times do not overlap");
    end = to;
    const seconds = Math.round(to / 1000) - Math.round(from / 1000);
    if (hours === null) {
      watchedS += seconds;
      if (state === "online") onlineS += seconds;
    } else {
      assertEquals(state, null);
      watchedS += sums.watchedS;
      onlineS += sums.onlineS;
    }
    polls += count!;
  }
  return { watchedS, onlineS, polls };
}

/** Compares the exports of all servers with the uptime that their pages show. Returns the kinds of rows. */
async function compare(db: Database, now: number): Promise<ReadonlySet<number | null>> {
  const kinds = new Set<number | null>();
  const exported = await Array.fromAsync(uptimePeriods(db, now, serverPages(db)));
  const servers = await all(db, "select id, key from servers order by id");
  assertEquals(exported.length, servers.length);
  for (const [i, { id, key }] of servers.entries()) {
    const { watchedS, onlineS, polls } = (await recentUptime(db, Number(id), now))["30d"];
    assert(watchedS > 0);
    assertEquals(sumsOf(exported[i]), { watchedS, onlineS, polls });
    assert(exported[i].every(({ server }) => server === key));
    exported[i].forEach(({ hours }) => kinds.add(hours));
    const own = serverPages(db, { among: [Number(id)] });
    assertEquals(await Array.fromAsync(uptimePeriods(db, now, own)), [exported[i]]);
  }
  return kinds;
}

onEngines(
  "sums over exported times equal the uptime, whatever was pruned or came late",
  async (db) => {
    await new Store(db, between).write(SERVERS.map((port) => record(port)));
    for (const n of WATCHES) {
      await new Store(db, between).begin({
        id: watchId(n),
        kind: "watch",
        at: START,
        config: "{}",
      });
    }
    const random = new Random(7);
    for (let round = 0; round < (db.engine === "sqlite" ? 6 : 2); round++) {
      const tables = ["observations", "rollups", "dirty_hours", "watch_spans", "server_uptime"];
      for (const table of tables) await db.script(`delete from ${table}`);
      await db.script("delete from rollup_state");
      await db.script(
        db.engine === "postgres"
          ? `insert into rollup_state select t, t, t, t from (select timestamptz '1970-01-01Z') as one (t)`
          : "insert into rollup_state values (0, 0, 0, 0)",
      );
      const now = START + 6 * DAY_MS + random.below(DAY_MS);
      setClock(db, now);
      await watchAtRandom(db, random, START, 7);
      assertEquals(await compare(db, now), new Set([null]));
      assert(await rollUp(db, { now, between }));
      assertEquals(await compare(db, now), new Set([null]), "all observations are there");
      const until = await sealHours(db, START + 3 * DAY_MS);
      await downsampleObservations(db, { hourly: until, daily: until }, between);
      await removeHours(db, until, between);
      assertEquals(await compare(db, now), new Set([24, null]));
      // Late rows make hours dirty: until they are computed, the page has the former figure.
      const late = [[1, START + 5 * DAY_MS + 1, 2, 0, null, null, null, null, 9]];
      await db.transaction(() => writeObservations(db, late));
      await compare(db, now);
      assert(await rollUp(db, { now, between }));
      await compare(db, now);
    }
  },
);
