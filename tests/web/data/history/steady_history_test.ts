/**
 * Tests src/web/data/history/read_history.ts, src/web/data/history/points.ts and src/web/data/history/watched_periods.ts
 * with servers that do not change: values hold while a watch watches, and no longer.
 */
import { assertEquals } from "@std/assert";
import { DAY_MS, HOUR_MS } from "../../../../src/core/quantities.ts";
import { type Database, timeParameter } from "../../../../src/store/database/database.ts";
import { downsampleCutoffs, downsampleObservations } from "../../../../src/store/downsample.ts";
import { identityOf } from "../../../../src/store/rows/identity.ts";
import { Store } from "../../../../src/store/store.ts";

import { rollUp } from "../../../../src/store/uptime/roll_up.ts";
import { lastWatched, removeHours, sealHours } from "../../../../src/store/uptime/seal_hours.ts";
import { hourPoints, uptimePoints } from "../../../../src/store/uptime/uptime_queries.ts";
import { writeSpans } from "../../../../src/store/uptime/watch_spans.ts";
import { readHistory } from "../../../../src/web/data/history/read_history.ts";
import { gapsOf } from "../../../../src/web/data/history/watched_periods.ts";
import { onEngines } from "../../../store/databases.ts";
import { writePolled } from "../../../store/polls.ts";
import { record, scanId, watchId } from "../../../store/records.ts";

const MINUTE = 60_000;
/** The start of a day. */
const START = 19_700 * DAY_MS;
const at = (minutes: number) => START + minutes * MINUTE;

/** Observations as a watch writes them, in minutes: changes, and one each hour. `undefined`: offline. */
type Observations = readonly (readonly [minute: number, players: number | undefined])[];

/** Writes what a watch saw of a server, and its spans in minutes. */
async function watch(
  db: Database,
  observations: Observations,
  spans: readonly (readonly [from: number, to: number])[],
  watchNumber = 1,
): Promise<void> {
  const id = watchId(watchNumber);
  const store = new Store(db, () => Promise.resolve());
  await store.begin({ id, kind: "watch", at: at(spans[0][0]), config: "{}" });
  const rowOf = (minute: number, players: number) =>
    record(1, {
      ...{ seen_at: at(minute), players_online: players, players_max: 20, latency_ms: 8 },
      ...{ scan_id: id },
    });
  const identity = identityOf(rowOf(0, 0))!;
  const polls = observations.map(([minute, players]) => ({
    ...{ identity, scanId: id, at: at(minute) },
    record: players === undefined ? undefined : rowOf(minute, players),
  }));
  const seen = polls.find((one) => one.record !== undefined)!;
  await writePolled(db, [{ identity, at: seen.at, record: seen.record }], polls);
  const written = spans.map(([from, to]) => ({ startedAt: at(from), endedAt: at(to) }));
  await db.transaction(() => writeSpans(db, id, written));
}

/** The times with a number of players, or without one if the server was offline, in minutes. */
async function heldIn(db: Database, from: number, to: number, stepMinutes = 0) {
  const history = await readHistory(db, 1, at(from), at(to), stepMinutes * MINUTE);
  const minute = (time: number) => (time - START) / MINUTE;
  return history.points.map(({ at, until, online, players }) => [
    ...[minute(at), minute(until), online ? players : "offline"],
  ]);
}

onEngines("a server that never changes has its value for the whole watched time", async (db) => {
  await watch(db, [[0, 3], [60, 3]], [[0, 90]]);
  assertEquals(await heldIn(db, 0, 60), [[0, 60, 3]]);
  assertEquals(await heldIn(db, 30, 120), [[30, 60, 3], [60, 90, 3]]);
  assertEquals(await heldIn(db, 61, 70), [[61, 70, 3]]);
  assertEquals(await heldIn(db, 0, 30, 5), [0, 5, 10, 15, 20, 25].map((i) => [i, i + 5, 3]));
  await rollUp(db, { now: at(180), between: () => Promise.resolve() });
  assertEquals(await heldIn(db, 0, 180, 60), [[0, 60, 3], [60, 90, 3]]);
  const { points } = await readHistory(db, 1, at(30), at(120));
  assertEquals(points.map(({ latencyMs, slots }) => [latencyMs, slots]), [[null, 20], [8, 20]]);
});

onEngines("no value holds while a server is down", async (db) => {
  await watch(db, [[0, 3], [20, undefined], [40, 3]], [[0, 60]]);
  assertEquals(await heldIn(db, 0, 60), [[0, 20, 3], [20, 40, "offline"], [40, 60, 3]]);
  assertEquals(await heldIn(db, 0, 60, 15), [
    ...[[0, 15, 3], [15, 30, 3], [30, 45, 3], [45, 60, 3]],
  ]);
  assertEquals((await heldIn(db, 0, 60, 5)).slice(3, 9), [
    ...[[15, 20, 3], [20, 25, "offline"], [25, 30, "offline"], [30, 35, "offline"]],
    ...[[35, 40, "offline"], [40, 45, 3]],
  ]);
});

onEngines("no value holds while a server is not watched, or longer than a span", async (db) => {
  await watch(db, [[0, 3], [60, 3], [103, 3]], [[0, 70], [100, 110]]);
  const expected = [[0, 60, 3], [60, 70, 3], [103, 110, 3]];
  assertEquals(await heldIn(db, 0, 150), expected);
  assertEquals((await heldIn(db, 0, 150, 30)).slice(2), [
    ...[[60, 70, 3], [103, 110, 3]],
  ]);
  const { unwatched } = await readHistory(db, 1, at(0), at(150));
  assertEquals(unwatched, [{ from: at(70), to: at(103) }, { from: at(110), to: at(150) }]);
});

onEngines("without further observations a value holds for three hours", async (db) => {
  await watch(db, [[0, 3]], [[0, 600]]);
  assertEquals(await heldIn(db, 0, 600), [[0, 180, 3]]);
});

onEngines("a scan's observation is a point, also in the middle of a watched time", async (db) => {
  await watch(db, [[0, 3]], [[0, 30]]);
  const store = new Store(db, () => Promise.resolve());
  for (const [i, minute] of [10, 50].entries()) {
    const row = { seen_at: at(minute), players_online: 9, scan_id: scanId(i + 1) };
    await store.write([record(1, row)]);
  }
  assertEquals(await heldIn(db, 0, 60), [[0, 10, 3], [10, 10, 9], [10, 30, 3], [50, 50, 9]]);
});

onEngines("the value of a watch that continues holds after another one ends", async (db) => {
  await watch(db, [[0, 3]], [[0, 60]]);
  await watch(db, [[20, 5]], [[20, 40]], 2);
  assertEquals(await heldIn(db, 0, 60), [[0, 20, 3], [20, 40, 5], [40, 60, 3]]);
});

onEngines("the latency of a step is the least, the mean and the greatest", async (db) => {
  await watch(db, [[0, 3]], [[0, 60]]);
  for (const [minute, latency] of [[10, 2], [20, 5]]) {
    await db.run(
      "insert into observations (server, scan, at, online, players_online, players_max, latency_ms) " +
        `select server, scan, ${
          db.engine === "postgres" ? `at + interval '${minute} minutes'` : `at + ${minute * MINUTE}`
        }, online, players_online, players_max, ${latency} from observations where at = ` +
        (db.engine === "postgres" ? `to_timestamp(${START / 1000})` : `${START}`),
    );
  }
  const { points } = await readHistory(db, 1, START, at(60), HOUR_MS);
  assertEquals(points.map((one) => [one.latencyLeast, one.latencyMs, one.latencyMost]), [
    [2, 5, 8],
  ]);
});

/** The times without a watch, in minutes, and the seconds that are outside them. */
async function unwatchedIn(db: Database, from: number, to: number, stepMinutes = 0) {
  const { unwatched } = await readHistory(db, 1, at(from), at(to), stepMinutes * MINUTE);
  const gaps = unwatched.map((one) => [(one.from - START) / MINUTE, (one.to - START) / MINUTE]);
  const gapS = unwatched.reduce((sum, one) => sum + (one.to - one.from) / 1000, 0);
  return { gaps, watchedS: (to - from) * 60 - gapS };
}

/** The seconds in which the server was watched, by its uptime. */
async function watchedSeconds(db: Database, from: number, to: number): Promise<number> {
  const points = await uptimePoints(db, 1, at(from), at(to));
  return points.reduce((sum, { watchedS }) => sum + watchedS, 0);
}

onEngines("times before a server was found, and after three hours, are unwatched", async (db) => {
  await watch(db, [[1000, 3], [1100, 3], [1500, 3], [1600, 3], [1650, 3]], [[0, 1580], [
    ...[1590, 1660] as const,
  ]]);
  const gaps = [[0, 1000], [1280, 1500], [1580, 1600], [1660, 2000]];
  for (const isRolledUp of [false, true]) {
    if (isRolledUp) await rollUp(db, { now: at(2000), between: () => Promise.resolve() });
    const expected = { gaps, watchedS: await watchedSeconds(db, 0, 2000) };
    for (const step of [0, 5, 60, 360]) {
      assertEquals(await unwatchedIn(db, 0, 2000, step), expected, `${step}`);
    }
    const year = await unwatchedIn(db, -500_000, 2000);
    assertEquals(year.gaps, [[-500_000, 1000], ...gaps.slice(1)]);
    assertEquals(await heldIn(db, 960, 1320, 180), [[1000, 1080, 3], [1080, 1260, 3], [
      ...[1260, 1280, 3],
    ]]);
  }
});

onEngines("times after an opt-out are unwatched", async (db) => {
  await watch(db, [[0, 3], [60, 3]], [[0, 100]]);
  await db.run(
    `insert into opt_outs (address, noted_at) values ('127.0.0.1', ${timeParameter(db)})`,
    [at(70)],
  );
  const expected = { gaps: [[70, 200]], watchedS: await watchedSeconds(db, 0, 200) };
  for (const step of [0, 5, 60]) {
    assertEquals(await unwatchedIn(db, 0, 200, step), expected, `${step}`);
  }
});

onEngines("steps at the ends of a period have no values from outside it", async (db) => {
  await watch(db, [[0, 50], [10, 3], [190, 4], [200, 70]], [[0, 240]]);
  await rollUp(db, { now: at(2000), between: () => Promise.resolve() });
  for (const step of [60, 1440]) {
    const { points, peak } = await readHistory(db, 1, at(30), at(195), step * MINUTE);
    const most = points.map((one) => one.playersMost);
    assertEquals(most, step === 60 ? [3, 3, 3, 4] : [4], `${step}`);
    assertEquals([points[0].at, points.at(-1)!.until], [at(30), at(195)]);
    assertEquals(peak, { players: 4, at: at(190) });
  }
});

onEngines("a step has the share of its time in which the server was online", async (db) => {
  await watch(db, [[0, 3], [15, undefined], [60, undefined]], [[0, 120]]);
  const { points } = await readHistory(db, 1, at(0), at(120), HOUR_MS);
  assertEquals(points.map((one) => [one.onlineShare, one.players]), [[0.25, 3], [0, null]]);
});

onEngines(
  "of a day that was pruned, a period that begins in it has the mean of the day",
  async (db) => {
    const hours = 12 * 24;
    const observations = Array.from(
      { length: hours },
      (_, hour) => [60 * hour, hour % 24 === 5 ? undefined : 100] as const,
    );
    await watch(db, observations, [[0, 60 * hours]]);
    const now = at(60 * hours);
    const between = () => Promise.resolve();
    await rollUp(db, { now: now + HOUR_MS, between });
    const { hourly, daily } = downsampleCutoffs(now, 5 * DAY_MS);
    const sealed = await sealHours(db, hourly);
    await removeHours(db, sealed, between);
    const cutoffs = { hourly: sealed, daily: Math.min(daily, sealed), kept: await lastWatched(db) };
    await downsampleObservations(db, cutoffs, between);
    const { points } = await readHistory(db, 1, at(60 * 29 + 10), now, DAY_MS);
    assertEquals(points.slice(0, 2).map(({ onlineShare }) => onlineShare), [23 / 24, 23 / 24]);
  },
);

onEngines(
  "a period that ends before the first poll of its last day has no point of it",
  async (db) => {
    await watch(db, [[54 * 60, 5], [55 * 60, 5]], [[54 * 60, 72 * 60]]);
    await rollUp(db, { now: at(100 * 60), between: () => Promise.resolve() });
    assertEquals((await readHistory(db, 1, START, at(53 * 60), DAY_MS)).points, []);
  },
);

onEngines("the hours of a distant future take no time", async (db) => {
  await watch(db, [[0, 3]], [[0, 90]]);
  const latest = 8_640_000_000_000_000;
  const { points } = await readHistory(db, 1, at(0), latest);
  assertEquals(points.map(({ players }) => players), [3]);
  assertEquals((await hourPoints(db, 1, at(0), latest)).map(({ watchedS }) => watchedS), [
    ...[3600, 1800],
  ]);
});

Deno.test("gaps are the times that no part contains", () => {
  const period = { from: 10, to: 100 };
  const parts = [{ from: 50, to: 60 }, { from: 0, to: 20 }, { from: 15, to: 30 }];
  assertEquals(gapsOf(period, parts), [{ from: 30, to: 50 }, { from: 60, to: 100 }]);
  assertEquals(gapsOf(period, [{ from: 0, to: 100 }]), []);
});
