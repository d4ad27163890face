/** Uptime in 30 days, and the queries of uptime in docs/database.md. */
import { assert, assertEquals } from "@std/assert";
import { DAY_MS, HOUR_MS } from "../../../src/core/quantities.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { writeObservations } from "../../../src/store/writers/observation_rows.ts";
import { selectServers } from "../../../src/store/server_queries.ts";
import { Store } from "../../../src/store/store.ts";
import { isServerIn, periodStart } from "../../../src/store/uptime/rollup_hours.ts";
import { rollUp } from "../../../src/store/uptime/roll_up.ts";
import { recentUptime, uptimeByDay } from "../../../src/store/uptime/uptime_queries.ts";
import { writeSpans } from "../../../src/store/uptime/watch_spans.ts";
import { all, onEngines } from "../databases.ts";
import { record, watchId } from "../records.ts";

const TODAY = periodStart(Date.now(), DAY_MS);
const between = () => Promise.resolve();

/** SQL of a time, Unix milliseconds. */
function timeOf({ engine }: Database, at: number): string {
  return engine === "postgres" ? `to_timestamp(${at / 1000.0})` : String(at);
}

/** Writes servers 1 to 3, and watch 2. */
async function prepare(database: Database): Promise<void> {
  const store = new Store(database, between);
  await store.write([1, 2, 3].map((port) => record(port)));
  await store.begin({ id: watchId(2), kind: "watch", at: TODAY, config: "{}" });
}

/** Sets the uptime of a server: 100 of 200 seconds online. */
async function setUptime(database: Database, server: number, until: number): Promise<void> {
  await database.script(
    `update server_uptime set until = ${
      timeOf(database, until)
    }, watched_s = 200, online_s = 100 ` +
      `where server = ${server}`,
  );
}

/** Writes rollups of a server: 100 of 200 seconds online, by 4 polls. */
async function writeRollups(
  database: Database,
  server: number,
  hours: number,
  starts: readonly number[],
): Promise<void> {
  const rows = starts.map((at) =>
    `(${timeOf(database, at)}, ${hours}, ${server}, 700, 200, 100, 5, 9, 4)`
  );
  await database.script(`insert into rollups values ${rows.join(", ")}`);
}

/** A watch that sees server 1 online from `at` to `at + HOUR_MS`, and server 2 offline. */
async function watchHour(database: Database, at: number): Promise<void> {
  const rows = [[1, at, 2, 1, 4, null, null, null, 6], [2, at, 2, 0, null, null, null, null, 6]];
  await database.transaction(() => writeObservations(database, rows));
  const spans = [{ startedAt: at, endedAt: at + HOUR_MS }];
  await database.transaction(() => writeSpans(database, watchId(2), spans));
}

/** An observation's players, latency and content, which are unknown, and its polls. */
const NONE: readonly (number | null)[] = [null, null, null, null, 1];

/** Numbers from 0. */
const count = (length: number) => Array.from({ length }, (_, i) => i);

onEngines("server_uptime has the sums of the last 30 days, without older ones", async (db) => {
  await prepare(db);
  const daysBefore = (first: number, days: number) =>
    count(days).map((i) => TODAY - (first + i) * DAY_MS);
  await writeRollups(db, 1, 24, daysBefore(2, 35));
  await writeRollups(db, 3, 24, daysBefore(31, 5));
  await setUptime(db, 3, TODAY - DAY_MS);
  await watchHour(db, TODAY - 5 * HOUR_MS);
  await rollUp(db, { now: TODAY + HOUR_MS, between });
  const read = () =>
    all(db, "select server, until, watched_s, online_s, polls from server_uptime order by server");
  const [own, offline] = [{ server: 1, until: TODAY }, { server: 2, until: TODAY }];
  const watched = 29 * 200 + 3600;
  assertEquals(await read(), [
    { ...own, watched_s: watched, online_s: 29 * 100 + 3600, polls: 29 * 4 + 6 },
    { ...offline, watched_s: 3600, online_s: 0, polls: 6 },
    { server: 3, until: null, watched_s: 0, online_s: 0, polls: 0 },
  ]);
  assertEquals(await all(db, "select uptime_30d as up from server_list order by port"), [
    { up: (29 * 100 + 3600) / watched },
    { up: 0 },
    { up: null },
  ]);
  const means = () =>
    all(db, "select server, players_mean as mean from server_state order by server");
  assertEquals(await means(), [
    { server: 1, mean: 400 }, // yesterday: 4 players
    { server: 2, mean: null },
    { server: 3, mean: null },
  ]);
  const late = [[1, TODAY - 5 * HOUR_MS + 600_000, 2, 0, ...NONE]];
  await db.transaction(() => writeObservations(db, late));
  await rollUp(db, { now: TODAY + HOUR_MS, between });
  const online = 29 * 100 + 600;
  const sums = { ...own, watched_s: watched, online_s: online };
  assertEquals((await read())[0], { ...sums, polls: 29 * 4 + 7 });
  // One unknown number makes the sum unknown.
  const [unknown] = [[1, TODAY - 5 * HOUR_MS + 1_200_000, 2, 0, ...NONE.with(4, null)]];
  await db.transaction(() => writeObservations(db, [unknown]));
  await rollUp(db, { now: TODAY + HOUR_MS, between });
  assertEquals((await read())[0], { ...sums, polls: null });
  const { "7d": week } = await recentUptime(db, 1, TODAY + HOUR_MS);
  assertEquals([week.watchedS > 0, week.polls], [true, null]);
});

onEngines("a server that is first watched today has the uptime of the hours so far", async (db) => {
  await prepare(db);
  await writeRollups(db, 3, 24, [TODAY - 2 * DAY_MS]);
  await setUptime(db, 3, TODAY);
  await watchHour(db, TODAY);
  const read = async () =>
    (await all(db, "select uptime_30d as up, uptime_until as until from server_list order by port"))
      .map(({ up, until }) => [up, until]);
  const one = TODAY + HOUR_MS;
  await rollUp(db, { now: one + 600_000, between });
  assertEquals(await read(), [[1, one], [0, one], [0.5, TODAY]]);
  const byAverage = await Array.fromAsync(selectServers(db, { sort: "average" }));
  assertEquals(byAverage.map(({ port }) => port), [1, 3, 2]);
  await watchHour(db, one);
  await db.transaction(() => writeObservations(db, [[1, one + 1_800_000, 2, 0, ...NONE]]));
  await rollUp(db, { now: one + HOUR_MS + 600_000, between });
  assertEquals(await read(), [[0.75, one + HOUR_MS], [0, one + HOUR_MS], [0.5, TODAY]]);
  await rollUp(db, { now: TODAY + DAY_MS + 600_000, between });
  const tomorrow = TODAY + DAY_MS;
  assertEquals(await read(), [[0.75, tomorrow], [0, tomorrow], [0.5, tomorrow]]);
});

onEngines(
  "the uptime of a server that was watched more than 30 days ago is unknown",
  async (db) => {
    await prepare(db);
    for (const [server, days] of [[1, 29], [2, 31]]) {
      await setUptime(db, server, TODAY - days * DAY_MS);
    }
    const selected = await Array.fromAsync(selectServers(db, { sort: "address" }));
    assertEquals(selected.map(({ uptime_30d: up }) => up), [0.5, null, null]);
    await rollUp(db, { between });
    const uptimes = await all(db, "select uptime_30d as up from server_list order by port");
    assertEquals(uptimes, [{ up: 0.5 }, { up: null }, { up: null }]);
  },
);

onEngines(
  "the documented queries of uptime and of a player chart return the rollups",
  async (db) => {
    await prepare(db);
    const hour = periodStart(Date.now(), HOUR_MS);
    await writeRollups(db, 1, 1, count(200).map((i) => hour + (5 - i) * HOUR_MS));
    await setUptime(db, 1, TODAY);
    const [{ key }] = await db.rows("select key from servers where id = 1");
    const text = await Deno.readTextFile(new URL("../../../docs/database.md", import.meta.url));
    const section =
      text.split("\nThe uptime in the last 30 days, of")[1].split("\nThe versions with")[0];
    const [pages, sqlite, postgres] = [...section.matchAll(/```\w+\n([^]*?);?\n```/g)].map((
      [, sql],
    ) => sql.replaceAll("play.example.org:25565", String(key)));
    const [page, one] = pages.split(";");
    const uptimes = (await db.rows(page)).map(({ key, uptime_30d: up }) => [key, up]);
    assertEquals(uptimes.length, 3);
    assertEquals(new Map(uptimes as [unknown, unknown][]).get(key), 0.5);
    assertEquals(await all(db, one), [{ uptime_30d: 0.5 }]);
    const chart = await all(db, db.engine === "postgres" ? postgres : sqlite);
    assertEquals(chart.length, 168);
    for (const { at, ...point } of chart) {
      assertEquals(point, { players: 7, players_min: 5, players_max: 9, uptime: 0.5 });
      assert(Number(at) < hour + 2 * HOUR_MS);
    }
  },
);

onEngines(
  "a condition on servers matches only those servers, with ids close together or not",
  async (db) => {
    await new Store(db, between).write(count(40).map((i) => record(100 + i)));
    for (const servers of [[7], [3, 4, 6], [1, 2, 3, 5, 6, 7], [2, 39], [50, 51]]) {
      const { sql, values } = isServerIn(db, "s.id", servers);
      const rows = await db.rows(`select s.id from servers s where ${sql} order by s.id`, values);
      assertEquals(rows.map(({ id }) => id), servers.filter((id) => id <= 40));
    }
  },
);

onEngines("the days of a server are those of its rollups, and today so far", async (db) => {
  await prepare(db);
  const days = [TODAY - 2 * DAY_MS, TODAY - DAY_MS];
  await writeRollups(db, 1, 24, [TODAY - 3 * DAY_MS, ...days]);
  await db.run(`update rollup_state set closing_until = ${timeOf(db, TODAY)}`, []);
  await db.run(`update rollup_state set closed_until = ${timeOf(db, TODAY)}`, []);
  await watchHour(db, TODAY);
  const read = await uptimeByDay(db, 1, 3, TODAY + 2 * HOUR_MS);
  assertEquals(read.map(({ at, watchedS, onlineS }) => [at, watchedS, onlineS]), [
    ...[...days.map((at) => [at, 200, 100]), [TODAY, 3600, 3600]],
  ]);
});
