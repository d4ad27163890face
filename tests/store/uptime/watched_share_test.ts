/** The share of a time that was watched, recomputed from rollups. */
import { assertAlmostEquals, assertEquals } from "@std/assert";
import { DAY_MS, HOUR_MS } from "../../../src/core/quantities.ts";
import { UNKNOWN_GEOIP } from "../../../src/app/geoip/mod.ts";
import { type Database, timeParameter } from "../../../src/store/database/database.ts";
import { writeObservations } from "../../../src/store/writers/observation_rows.ts";
import { selectServers } from "../../../src/store/server_queries.ts";
import { Store } from "../../../src/store/store.ts";
import { periodStart } from "../../../src/store/uptime/rollup_hours.ts";
import { rollUp } from "../../../src/store/uptime/roll_up.ts";
import { recentUptime } from "../../../src/store/uptime/uptime_queries.ts";
import { UNWATCHED } from "../../../src/store/uptime/uptime_of_polls.ts";
import { watchedShare, watchedText } from "../../../src/store/uptime/watched_share.ts";
import { writeSpans } from "../../../src/store/uptime/watch_spans.ts";
import { listedServers } from "../../../src/web/data/listed_servers.ts";
import { all, onEngines } from "../databases.ts";
import { record, watchId } from "../records.ts";

const TODAY = periodStart(Date.now(), DAY_MS);
const NOW = TODAY + HOUR_MS;
const between = () => Promise.resolve();

Deno.test("a server that is younger than the period is measured from when it was first seen", () => {
  const period = { from: 0, to: 1000_000 };
  assertEquals(watchedShare(840, period, -5), 0.84);
  assertEquals(watchedShare(420, period, 500_000), 0.84);
  assertEquals(watchedShare(0, period, 0), 0);
  assertEquals(watchedShare(0, period, 1000_000), 0, "first seen at the end");
  assertEquals(watchedShare(10, period, 2000_000), 1, "first seen after the end");
  const watched = { ...UNWATCHED, watchedShare: 0.84, polls: 4320 };
  assertEquals(watchedText(watched), "of the 84 % watched (4,320 polls)");
  const unknown = { ...watched, polls: null };
  assertEquals(watchedText(unknown), "of the 84 % watched (number of polls unknown)");
});

/** A watch of servers from one time to another, which sees them online. */
async function watch(db: Database, servers: readonly number[], from: number, to: number) {
  const rows: (number | null)[][] = [];
  for (let at = from; at < to; at += HOUR_MS) {
    for (const server of servers) rows.push([server, at, 2, 1, 4, null, null, null, 1]);
  }
  await db.transaction(() => writeObservations(db, rows));
  await db.transaction(() => writeSpans(db, watchId(2), [{ startedAt: from, endedAt: to }]));
}

/** Servers 1 to 4 by port, first seen 60 days, 40 hours, and 10 hours ago, and now. */
async function prepare(db: Database): Promise<readonly number[]> {
  const store = new Store(db, between);
  await store.write([1, 2, 3, 4].map((port) => record(port)));
  await store.begin({ id: watchId(2), kind: "watch", at: TODAY, config: "{}" });
  const firstSeen = [TODAY - 60 * DAY_MS, TODAY - 40 * HOUR_MS, TODAY - 10 * HOUR_MS, TODAY];
  for (const [i, at] of firstSeen.entries()) {
    await db.run(`update servers set first_seen = ${timeParameter(db)} where id = ?`, [at, i + 1]);
  }
  await watch(db, [1], TODAY - 35 * DAY_MS, TODAY - 29 * DAY_MS);
  await watch(db, [1, 2], TODAY - 36 * HOUR_MS, TODAY - 10 * HOUR_MS);
  await watch(db, [1, 3], TODAY - 5 * HOUR_MS, TODAY);
  await rollUp(db, { now: NOW, between });
  return firstSeen;
}

onEngines("the share of lists is that of the rollups of 30 days", async (db) => {
  const firstSeen = await prepare(db);
  const start = TODAY - 30 * DAY_MS;
  const rollups = await all(db, "select at, server, watched_s from rollups where hours = 1");
  const expected = firstSeen.map((first, i) => {
    const watched = rollups.filter(({ server, at }) => server === i + 1 && Number(at) >= start)
      .reduce((sum, { watched_s: seconds }) => sum + Number(seconds), 0);
    return watched === 0 ? null : watched / ((TODAY - Math.max(start, first)) / 1000);
  });
  assertEquals(expected, [(24 + 26 + 5) / 720, 26 / 40, 5 / 10, null]);
  const selected = await Array.fromAsync(selectServers(db, { sort: "address" }));
  const shares = selected.sort((a, b) => a.port - b.port).map((one) => one.uptime_watched);
  assertEquals(shares, expected);
  assertEquals(selected.map(({ uptime_30d: up }) => up), [1, 1, 1, null]);
  const listed = await listedServers(db, [1, 2, 3, 4], () => UNKNOWN_GEOIP);
  assertEquals(listed.map(({ uptime_watched: share }) => share), expected);
});

onEngines("the share of a recent period is that of the time up to now", async (db) => {
  await prepare(db);
  const shares = async (server: number) =>
    Object.values(await recentUptime(db, server, NOW)).map(({ watchedShare }) => watchedShare);
  const expected = [
    [18 / 24, 31 / 169, 55 / 721],
    [13 / 24, 26 / 41, 26 / 41],
    [5 / 11, 5 / 11, 5 / 11],
    [0, 0, 0],
  ];
  for (const [i, share] of expected.entries()) {
    for (const [j, one] of (await shares(i + 1)).entries()) assertAlmostEquals(one, share[j], 1e-9);
  }
});

onEngines("a server that was watched more than 30 days ago has no share", async (db) => {
  await prepare(db);
  const until = TODAY - 31 * DAY_MS;
  await db.run(`update server_uptime set until = ${timeParameter(db)} where server = 1`, [until]);
  const [one] = await listedServers(db, [1], () => UNKNOWN_GEOIP);
  assertEquals([one.uptime_30d, one.uptime_watched], [null, null]);
});
