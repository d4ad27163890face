/**
 * Covers src/web/data/history/read_history.ts, src/web/data/history/points.ts and
 * src/web/data/history/watched_periods.ts: steps, and days that were pruned.
 */
import { assertEquals } from "@std/assert";

import { DAY_MS, HOUR_MS } from "../../../../src/core/quantities.ts";
import { readHistory } from "../../../../src/web/data/history/read_history.ts";
import { timeParameter } from "../../../../src/store/database/database.ts";
import { Store } from "../../../../src/store/store.ts";
import { onEngines } from "../../../store/databases.ts";
import { record, watchId } from "../../../store/records.ts";
import { writeObservations } from "../../../../src/store/writers/observation_rows.ts";
import { downsampleObservations } from "../../../../src/store/downsample.ts";
import { rollUp } from "../../../../src/store/uptime/roll_up.ts";
import { removeHours, sealHours } from "../../../../src/store/uptime/seal_hours.ts";
import { writeSpans } from "../../../../src/store/uptime/watch_spans.ts";

onEngines(
  "a history has a point for each observation, or steps of at least a length",
  async (db) => {
    const store = new Store(db, () => Promise.resolve());
    await store.write([record(1, { seen_at: 1000 })]);
    const [{ id }] = await db.rows("select id from servers");
    const [{ id: scan }] = await db.rows("select id from scans");
    await db.run("delete from observations");
    const start = 100 * DAY_MS;
    const players = [1, 5, 3, 10];
    for (const [i, online] of players.entries()) {
      await db.run(
        "insert into observations (server, scan, at, online, players_online, players_max, latency_ms) " +
          `values (?, ?, ${timeParameter(db)}, true, ?, 20, 8)`,
        [id, scan, start + i * 40 * 60_000, online],
      );
    }
    const read = (step?: number) => readHistory(db, Number(id), start, start + 3 * HOUR_MS, step);
    const raw = await read();
    assertEquals([raw.step, raw.points.map((point) => point.players)], [0, players]);
    const longest = start + 31 * DAY_MS;
    assertEquals((await readHistory(db, Number(id), start, longest)).points.length, 4);
    const [first, ...others] = (await readHistory(db, Number(id), start, longest + 1)).points;
    assertEquals([first.playersMost, others.length < 3], [10, true]); // steps
    const steps = await read(20 * 60_000);
    assertEquals(steps.step, 30 * 60_000);
    assertEquals(steps.points.map(({ at }) => (at - start) / 60_000), [0, 30, 60, 120]);
    const hours = await read(HOUR_MS);
    assertEquals(hours.step, HOUR_MS);
    assertEquals(
      hours.points.map(({ players, playersMost, slots, latencyMs }) => [
        ...[players, playersMost, slots, latencyMs],
      ]),
      [[3, 5, 20, 8], [3, 3, 20, 8], [10, 10, 20, 8]],
    );
    assertEquals(hours.peak, { players: 10, at: start + 2 * HOUR_MS });
    assertEquals(hours.unwatched, [{ from: start, to: start + 3 * HOUR_MS }]);
  },
);

onEngines("days that were watched stay so when they are pruned", async (db) => {
  const between = () => Promise.resolve();
  const store = new Store(db, between);
  const start = 19_700 * DAY_MS;
  const day = (days: number) => start + days * DAY_MS;
  await store.write([record(1, { seen_at: start })]);
  const watches = [[0, 2], [2.25, 2.5], [4, 10]].map(([from, to]) => [day(from), day(to)]);
  for (const [i, [startedAt, endedAt]] of watches.entries()) {
    const id = watchId(i + 1);
    await store.begin({ id, kind: "watch", at: startedAt, config: "{}" });
    await db.transaction(() => writeSpans(db, id, [{ startedAt, endedAt }]));
    const [{ scan }] = await db.rows("select max(id) as scan from scans");
    const rows = Array.from(
      { length: (endedAt - startedAt) / HOUR_MS },
      (_, hour) => [1, startedAt + hour * HOUR_MS, scan, 1, 3, 20, 5, null, 1],
    );
    await db.transaction(() => writeObservations(db, rows));
  }
  await rollUp(db, { now: day(10), between });
  const unwatched = async (from: number, to: number) => {
    const gaps = (await readHistory(db, 1, day(from), day(to))).unwatched;
    return gaps.map((one) => [(one.from - start) / DAY_MS, (one.to - start) / DAY_MS]);
  };
  const recent = [[1, 10], [2, 10], [4, 6], [5, 10]] as const;
  assertEquals(await unwatched(0, 10), [[2, 2.25], [2.5, 4]]);
  const before = await Promise.all(recent.map(([from, to]) => unwatched(from, to)));
  assertEquals(before, [[[2, 2.25], [2.5, 4]], [[2, 2.25], [2.5, 4]], [], []]);
  const until = await sealHours(db, day(8));
  // Final days of which all rows are still known stay watched in parts.
  assertEquals(await Promise.all(recent.map(([from, to]) => unwatched(from, to))), before);
  await downsampleObservations(db, { hourly: until, daily: until }, between);
  await db.run(`delete from observations where at < ${timeParameter(db)}`, [until]);
  await removeHours(db, until, between);
  assertEquals(await unwatched(-1, 10), [[-1, 0], [3, 4]]);
  assertEquals(await unwatched(0.5, 2.4), []);
  assertEquals(await unwatched(4.5, 6), []);
  assertEquals(await unwatched(3.5, 5), [[3.5, 4]]);
  // Points of pruned days are whole days, and those after them the changes.
  const { step, points } = await readHistory(db, 1, day(0.5), day(10));
  assertEquals(step, 0);
  const old = points.filter(({ at }) => at < until);
  assertEquals(
    old.map(({ at, until, players }) => [(at - start) / DAY_MS, (until - start) / DAY_MS, players]),
    [[0.5, 1, 3], [1, 2, 3], [2, 3, 3], ...[4, 5, 6, 7].map((one) => [one, one + 1, 3])],
  );
  assertEquals(old.map((one) => one.playersMost), [null, 3, 3, 3, 3, 3, 3]);
  const after = points.slice(old.length);
  assertEquals(after.map(({ at, until }) => [(at - day(8)) / HOUR_MS, (until - at) / HOUR_MS]), [
    // The hours that keep the observations valid later are final too.
    ...[[0, 3], ...Array.from({ length: 45 }, (_, hour) => [3 + hour, 1])],
  ]);
});
