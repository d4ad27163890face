/** Rollups of hours and days. Covers src/store/uptime/. */
import { assert, assertEquals } from "@std/assert";
import { DAY_MS, HOUR_MS } from "../../../src/core/quantities.ts";
import { Random } from "../../../src/fleet/random.ts";
import { type Database, timeParameter } from "../../../src/store/database/database.ts";
import { downsampleObservations } from "../../../src/store/downsample.ts";
import { writeObservations } from "../../../src/store/writers/observation_rows.ts";
import { Store } from "../../../src/store/store.ts";
import { periodStart, readState } from "../../../src/store/uptime/rollup_hours.ts";
import {
  addUptime,
  type SeenState,
  type StoredSpan,
  UNWATCHED,
  type Uptime,
  uptimeOfPolls,
} from "../../../src/store/uptime/uptime_of_polls.ts";
import { rollUp } from "../../../src/store/uptime/roll_up.ts";
import { removeHours, sealHours } from "../../../src/store/uptime/seal_hours.ts";
import { hourPoints, recentUptime } from "../../../src/store/uptime/uptime_queries.ts";
import { writeSpans } from "../../../src/store/uptime/watch_spans.ts";
import { all, onEngines } from "../databases.ts";
import { record, watchId } from "../records.ts";

const START = periodStart(1_700_000_000_000, DAY_MS);
const SERVERS = [1, 2, 3, 4, 5];
const between = () => Promise.resolve();

/** Writes servers 1 to 5 and three watches, whose numbers are 2, 3 and 4. */
async function prepare(database: Database): Promise<void> {
  const store = new Store(database, between);
  await store.write(SERVERS.map((port) => record(port, { version: `v${port % 2}` })));
  for (const n of [2, 3, 4]) {
    await store.begin({ id: watchId(n), kind: "watch", at: START, config: "{}" });
  }
}

/** An observation of a server. */
interface Seen extends SeenState {
  readonly server: number;
}

async function observe(database: Database, seen: readonly Seen[]): Promise<void> {
  const rows = seen.map(({ server, at, scan, online, players, polls }) => [
    ...[server, at, scan, online ? 1 : 0, players, null, null, null, polls],
  ]);
  await database.transaction(() => writeObservations(database, rows));
}

async function watch(database: Database, span: StoredSpan): Promise<void> {
  const { scan, startedAt, endedAt } = span;
  await database.transaction(() => writeSpans(database, watchId(scan), [{ startedAt, endedAt }]));
}

/** The rollups of a database, by length, time and server. */
async function readRollups(database: Database): Promise<Map<string, Uptime>> {
  const rows = await all(database, "select * from rollups");
  return new Map(rows.map((row) => [
    `${row.hours} ${new Date(Number(row.at)).toISOString()} ${row.server}`,
    {
      watchedS: Number(row.watched_s),
      onlineS: Number(row.online_s),
      playerS: Number(row.player_s),
      playersMin: row.players_min as number | null,
      playersMax: row.players_max as number | null,
      polls: row.polls as number | null,
    },
  ]));
}

/** The rollups of all hours and days, computed at once from everything that was written. */
function expectedRollups(
  seen: readonly Seen[],
  spans: readonly StoredSpan[],
  until: number,
): Map<string, Uptime> {
  const rollups = new Map<string, Uptime>();
  for (const server of SERVERS) {
    const states = seen.filter((one) => one.server === server).toSorted((a, b) => a.at - b.at);
    for (let day = START; day < until; day += DAY_MS) {
      let sum = UNWATCHED;
      for (let at = day; at < day + DAY_MS; at += HOUR_MS) {
        const uptime = uptimeOfPolls(states, spans, at, at + HOUR_MS);
        sum = addUptime(sum, uptime);
        if (uptime.watchedS > 0) rollups.set(`1 ${new Date(at).toISOString()} ${server}`, uptime);
      }
      if (sum.watchedS > 0) rollups.set(`24 ${new Date(day).toISOString()} ${server}`, sum);
    }
  }
  return rollups;
}

function sorted<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => a < b ? -1 : 1);
}

/** Arbitrary observations and spans of three watches in three days. */
function draw(random: Random): { seen: Seen[]; spans: StoredSpan[] } {
  const spans: StoredSpan[] = [];
  for (const scan of [2, 3, 4]) {
    let at = START + random.below(20 * HOUR_MS);
    for (let i = random.below(4); i >= 0; i--) {
      const endedAt = Math.min(at + random.below(18 * HOUR_MS), START + 3 * DAY_MS);
      if (endedAt > at) spans.push({ scan, startedAt: at, endedAt });
      at = endedAt + 1 + random.below(6 * HOUR_MS);
    }
  }
  const seen = new Map<string, Seen>();
  for (let i = 0; i < 200; i++) {
    const [scan, server] = [2 + random.below(3), 1 + random.below(SERVERS.length)];
    const at = START + random.below(3 * DAY_MS);
    const players = random.below(4) === 0 ? null : random.below(50);
    const polls = random.below(40) === 0 ? null : 1 + random.below(60);
    const online = random.below(3) > 0;
    seen.set(`${scan} ${server} ${at}`, { scan, server, at, online, players, polls });
  }
  return { seen: [...seen.values()], spans };
}

onEngines(
  "rows that are written late, in any order, give the same rollups as rows in time",
  async (db) => {
    await prepare(db);
    for (let seed = 1; seed <= (db.engine === "sqlite" ? 6 : 2); seed++) {
      const random = new Random(seed);
      for (
        const table of [
          ...["observations", "rollups", "rollup_totals", "dirty_hours", "watch_spans"],
          "server_uptime",
        ]
      ) {
        await db.script(`delete from ${table}`);
      }
      const zero = db.engine === "postgres" ? "'1970-01-01Z'" : "0";
      await db.script(
        `update rollup_state set closing_until = ${zero}, closed_until = ${zero}, sealed_until = ${zero}`,
      );
      const { seen, spans } = draw(random);
      const delay = () => random.below(3) > 0 ? random.below(60_000) : random.below(30 * HOUR_MS);
      const written = [
        ...seen.map((one) => ({ at: one.at + delay(), write: () => observe(db, [one]) })),
        ...spans.flatMap((span) =>
          [0.3, 0.7, 1].map((part) => {
            const endedAt = Math.round(span.startedAt + part * (span.endedAt - span.startedAt));
            return { at: endedAt + (part === 1 ? 31 * HOUR_MS : delay()), span, endedAt };
          })
        ).map(({ at, span, endedAt }) => ({ at, write: () => watch(db, { ...span, endedAt }) })),
      ].sort((a, b) => a.at - b.at);
      let next = START;
      for (const { at, write } of written) {
        for (; next < at; next += random.below(8 * HOUR_MS)) {
          await rollUp(db, {
            now: next,
            between,
          });
        }
        await write();
      }
      const end = START + 6 * DAY_MS;
      assert(await rollUp(db, { now: end, between }));
      assertEquals(await all(db, "select * from dirty_hours"), []);
      const expected = sorted(expectedRollups(seen, spans, end));
      assertEquals(sorted(await readRollups(db)), expected, `seed ${seed}`);
      const days = await all(
        db,
        "select server, sum(watched_s) as watched_s, sum(online_s) as " +
          "online_s from rollups where hours = 24 group by server order by server",
      );
      const columns = "server, watched_s, online_s";
      assertEquals(await all(db, `select ${columns} from server_uptime order by server`), days);
      await db.script("delete from rollup_totals where hours = 24"); // of a day that is computed again
      assertEquals(await rollUp(db, { now: end, between }), true);
      const sums = await all(
        db,
        "select sum(watched_s) as watched, sum(player_s) as players from rollup_totals where kind = 'port'",
      );
      const hours = expected.filter(([key]) => key.startsWith("1 ")).map(([, uptime]) => uptime);
      const total = hours.reduce<Uptime>(addUptime, UNWATCHED);
      assertEquals([Number(sums[0].watched), Number(sums[0].players)], [
        total.watchedS,
        total.playerS,
      ]);
    }
  },
);

/** A watch of all servers that sees each every half an hour. */
async function watchAll(database: Database, scan: number, from: number, to: number): Promise<void> {
  const seen: Seen[] = [];
  for (let at = from; at < to; at += HOUR_MS / 2) {
    for (const server of SERVERS) {
      const online = at / HOUR_MS % 5 !== 0;
      seen.push({ server, at: at + server, scan, online, players: server, polls: 30 });
    }
  }
  await observe(database, seen);
  await watch(database, { scan, startedAt: from, endedAt: to });
}

onEngines(
  "a watch that ends by noon gets the rollups of its day when the day has ended",
  async (db) => {
    await prepare(db);
    await watchAll(db, 2, START, START + DAY_MS / 2);
    const days = async () =>
      [
        ...(await all(db, "select watched_s from rollups where hours = 24")),
        ...(await all(
          db,
          "select watched_s from rollup_totals where hours = 24 and kind = 'port'",
        )),
      ].map(({ watched_s }) => Number(watched_s));
    for (let hour = START; hour < START + DAY_MS; hour += HOUR_MS) {
      assert(await rollUp(db, { now: hour + HOUR_MS / 2, between }));
      assertEquals(await days(), []);
    }
    assert(await rollUp(db, { now: START + DAY_MS + HOUR_MS / 2, between }));
    assertEquals(await days(), Array(2 * SERVERS.length).fill(12 * 3600));
  },
);

onEngines("an hour is closed five minutes after its end", async (db) => {
  await prepare(db);
  await watchAll(db, 2, START, START + HOUR_MS);
  const end = START + HOUR_MS;
  const [before, after] = [end + 5 * 60_000 - 1, end + 5 * 60_000];
  for (const [now, closed] of [[before, START], [after, end]]) {
    assert(await rollUp(db, { now, between }));
    const { closedUntil } = await readState(db);
    assertEquals([closedUntil, (await readRollups(db)).size > 0], [closed, closed === end]);
  }
});

onEngines("totals count the servers of one address and port once", async (db) => {
  await prepare(db);
  const store = new Store(db, between);
  for (const requested_as of ["a.example", "b.example"]) {
    await store.write([record(1, { version: "v1", requested_as })]); // servers 6 and 7
  }
  const spans = { scan: 2, startedAt: START, endedAt: START + HOUR_MS };
  const seen = [1, 2, 6, 7].map((server) => ({
    ...{ server, at: START, scan: 2, online: true, players: 10 * server, polls: 1 },
  }));
  // The first server of the endpoint is seen only in the first hour.
  const later = [6, 7].map((server) => ({
    ...{ server, at: START + HOUR_MS, scan: 3, online: true, players: 5, polls: 1 },
  }));
  await observe(db, [...seen, ...later]);
  await watch(db, spans);
  await watch(db, { scan: 3, startedAt: START + HOUR_MS, endedAt: START + 2 * HOUR_MS });
  assert(await rollUp(db, { now: START + 6 * DAY_MS, between }));
  const totals = await all(
    db,
    "select at, value, servers, player_s from rollup_totals where kind = 'version' and hours = 1 " +
      `and value = 'v1' order by at`,
  );
  assertEquals(totals.map(({ servers, player_s }) => [servers, Number(player_s)]), [
    [1, 10 * 3600],
    [1, 5 * 3600],
  ]);
  const [row] = await all(
    db,
    "select sum(servers) as servers from rollup_totals where kind = 'port' and hours = 24",
  );
  assertEquals(Number(row.servers), 2);
});

onEngines("prune changes no rollups of days, and a late row changes no final hour", async (db) => {
  await prepare(db);
  await watchAll(db, 2, START, START + 10 * DAY_MS);
  const now = START + 10 * DAY_MS;
  await rollUp(db, { now, between });
  const before = await readRollups(db);
  const uptime = await recentUptime(db, 1, now);
  const until = START + 8 * DAY_MS;
  assertEquals(await sealHours(db, until), until);
  const removed = await downsampleObservations(db, { hourly: until, daily: until }, between);
  assert(removed > 1000, String(removed));
  await removeHours(db, until, between);
  const late = { server: 1, scan: 2, online: false, players: null, polls: 1 };
  await observe(db, [{ ...late, at: START + DAY_MS + 5 }, { ...late, at: now - 2 * HOUR_MS + 5 }]);
  await rollUp(db, { now: now + HOUR_MS, between });
  const after = await readRollups(db);
  for (const [key, value] of before) {
    const [hours, at, server] = key.split(" ");
    if (hours === "1" && Date.parse(at) < until) assert(!after.has(key), key);
    else if (server !== "1" || Date.parse(at) < until) assertEquals(after.get(key), value, key);
  }
  const { "30d": month } = await recentUptime(db, 1, now);
  assertEquals(month.watchedS, uptime["30d"].watchedS);
  assert(month.onlineS < uptime["30d"].onlineS, "the late row of an hour that is not final counts");
});

onEngines(
  "no observation of a dirty hour, or of an hour that is not closed, may be removed",
  async (db) => {
    await prepare(db);
    assertEquals(await sealHours(db, START + DAY_MS), START + DAY_MS); // nothing was watched
    await watchAll(db, 2, START, START + 2 * DAY_MS);
    await rollUp(db, { now: START + DAY_MS, between });
    const { closedUntil } = await readState(db);
    assertEquals(closedUntil, START + DAY_MS - HOUR_MS);
    await observe(db, [{
      server: 1,
      scan: 2,
      at: START + 9 * HOUR_MS,
      online: true,
      players: 1,
      polls: 1,
    }]);
    assertEquals(await sealHours(db, START + 2 * DAY_MS), START + 6 * HOUR_MS);
    await rollUp(db, { now: START + DAY_MS, between });
    assertEquals(await sealHours(db, START + 2 * DAY_MS), closedUntil - 3 * HOUR_MS);
  },
);

onEngines("a prune with a clock a year ahead makes no later hour final", async (db) => {
  await prepare(db);
  const start = periodStart(db.now(), HOUR_MS);
  await watchAll(db, 2, start - 6 * HOUR_MS, start);
  await rollUp(db, { now: start + 365 * DAY_MS, between });
  const until = await sealHours(db, start + 275 * DAY_MS);
  assert(until < start, "observations of hours that are not over may be removed");
  await removeHours(db, until, between);
  await watchAll(db, 3, start, start + 6 * HOUR_MS);
  await rollUp(db, { now: start + 7 * HOUR_MS, between });
  const { closedUntil, sealedUntil } = await readState(db);
  assertEquals([closedUntil, sealedUntil], [start + 6 * HOUR_MS, start]);
  const rollups = await readRollups(db);
  for (let hour = start; hour < start + 6 * HOUR_MS; hour += HOUR_MS) {
    assertEquals(rollups.get(`1 ${new Date(hour).toISOString()} 1`)?.watchedS, 3600);
  }
});

onEngines("hours that are final and not over become not final", async (db) => {
  await prepare(db);
  const start = periodStart(db.now(), HOUR_MS);
  const far = timeParameter(db);
  await db.run(
    `update rollup_state set closing_until = ${far}, closed_until = ${far}, sealed_until = ${far}`,
    Array(3).fill(start + 99 * DAY_MS),
  );
  await watchAll(db, 2, start, start + 6 * HOUR_MS);
  await rollUp(db, { now: start + HOUR_MS, between });
  await rollUp(db, { now: start + 7 * HOUR_MS, between });
  const rollups = await readRollups(db);
  assertEquals(rollups.get(`1 ${new Date(start + HOUR_MS).toISOString()} 1`)?.watchedS, 3600);
});

onEngines("hours without rollups are computed from observations", async (db) => {
  await prepare(db);
  await watchAll(db, 2, START, START + 2 * DAY_MS);
  const now = START + 2 * DAY_MS;
  const fresh = await hourPoints(db, 3, START, now);
  const uptime = await recentUptime(db, 3, now);
  await rollUp(db, { now: START + 1.5 * DAY_MS, between });
  assertEquals(await hourPoints(db, 3, START, now), fresh);
  assertEquals(await recentUptime(db, 3, now), uptime);
  await rollUp(db, { now: now + DAY_MS, between });
  assertEquals(await hourPoints(db, 3, START, now), fresh);
  assertEquals(await recentUptime(db, 3, now), uptime);
  assertEquals(uptime["24h"].watchedS, 24 * 3600);
});

onEngines("a computation that is cancelled at any page continues where it was", async (db) => {
  await prepare(db);
  const ports = Array.from({ length: 4500 }, (_, i) => 100 + i);
  await new Store(db, between).write(ports.map((port) => record(port)));
  await watchAll(db, 2, START, START + 3 * HOUR_MS);
  const now = START + DAY_MS;
  let runs = 0;
  for (let isDone = false; !isDone; runs++) {
    const controller = new AbortController();
    const stop = () => Promise.resolve(controller.abort());
    isDone = await rollUp(db, { now, between: stop, signal: controller.signal });
  }
  assert(runs > 9, String(runs));
  assertEquals((await readRollups(db)).size, 15);
});

onEngines("an address that opts out is watched until then", async (db) => {
  await prepare(db);
  await watchAll(db, 2, START, START + HOUR_MS);
  const time = db.engine === "postgres" ? `to_timestamp(${START / 1000 + 600})` : START + 600_000;
  await db.script(`insert into opt_outs (address, noted_at) values ('127.0.0.1', ${time})`);
  await rollUp(db, { now: START + DAY_MS, between });
  const [point] = await hourPoints(db, 1, START, START + HOUR_MS);
  assertEquals(point.watchedS, 600);
});
