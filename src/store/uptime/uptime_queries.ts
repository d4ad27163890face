/**
 * Reads the uptime of one server.
 *
 * @module
 */
import { DAY_MS, HOUR_MS } from "../../core/quantities.ts";
import type { Database, Row, Value } from "../database/database.ts";
import { isTimeIn, periodStart, readState, timeList } from "./rollup_hours.ts";
import { addUptime, heldStates, UNWATCHED, type Uptime, uptimeOfSteps } from "./uptime_of_polls.ts";
import { watchedShare, type WatchedUptime } from "./watched_share.ts";
import { optOutsOf, spansIn, statesIn } from "./rollup_rows.ts";

/** The uptime of a server in an hour or a day. */
export interface UptimePoint extends Uptime {
  /** Start, Unix milliseconds. */
  readonly at: number;
  /** 1: an hour; 24: a day. */
  readonly hours: 1 | 24;
}

/** The uptime of a server on a day (UTC). */
export interface DayUptime extends Uptime {
  /** Start of the day, Unix milliseconds. */
  readonly at: number;
}

/** The uptime of a server in the last day, week and month. */
export interface RecentUptime {
  /** The last 24 hours, from the start of an hour. */
  readonly "24h": WatchedUptime;
  /** The last 7 days, from the start of a day (UTC). */
  readonly "7d": WatchedUptime;
  /** The last 30 days, from the start of a day (UTC). */
  readonly "30d": WatchedUptime;
}

/**
 * Reads the uptime of a server in the last day, week and month. Hours whose rollups are not yet computed
 * are computed from observations.
 *
 * @param server `servers.id`.
 * @param now Unix milliseconds.
 */
export async function recentUptime(
  database: Database,
  server: number,
  now: number,
): Promise<RecentUptime> {
  const today = periodStart(now, DAY_MS);
  const starts = {
    "24h": periodStart(now - DAY_MS, HOUR_MS),
    "7d": today - 7 * DAY_MS,
    "30d": today - 30 * DAY_MS,
  };
  const [row] = await database.rows("select first_seen from servers where id = ?", [server]);
  const firstSeen = Number(row?.first_seen ?? 0);
  const points = await recentPeriods(database, server, now);
  const since = (start: number) =>
    points.filter(({ at }) => at >= start).reduce<Uptime>(addUptime, UNWATCHED);
  // The 24 hours may begin in the middle of a day of which `points` has only the sum.
  const day = points.some(({ at, hours }) => hours === 24 && at + DAY_MS > starts["24h"])
    ? (await hourPoints(database, server, starts["24h"], now)).reduce<Uptime>(addUptime, UNWATCHED)
    : since(starts["24h"]);
  const withShare = (uptime: Uptime, from: number): WatchedUptime => ({
    ...uptime,
    watchedShare: watchedShare(uptime.watchedS, { from, to: now }, firstSeen),
  });
  return {
    "24h": withShare(day, starts["24h"]),
    "7d": withShare(since(starts["7d"]), starts["7d"]),
    "30d": withShare(since(starts["30d"]), starts["30d"]),
  };
}

/**
 * Reads the days and hours of which the uptime of a server in the last month is the sum, as
 * {@linkcode uptimePoints} does.
 *
 * @param server `servers.id`.
 * @param now Unix milliseconds.
 */
export async function recentPeriods(
  database: Database,
  server: number,
  now: number,
): Promise<UptimePoint[]> {
  return await uptimePoints(database, server, periodStart(now, DAY_MS) - 30 * DAY_MS, now);
}

/**
 * Reads the uptime of a server per day where days are complete, and per hour before and after that.
 * Periods in which nothing was watched are missing. In the order of times.
 *
 * @param server `servers.id`.
 * @param from Unix milliseconds.
 * @param to Unix milliseconds.
 */
export async function uptimePoints(
  database: Database,
  server: number,
  from: number,
  to: number,
): Promise<UptimePoint[]> {
  const { closedUntil } = await readState(database);
  const first = Math.min(periodStart(from + DAY_MS - 1, DAY_MS), to);
  const days = Math.max(first, periodStart(Math.min(closedUntil, to), DAY_MS));
  return [
    ...await hourPoints(database, server, from, first),
    ...await readPoints(database, server, 24, first, days),
    ...await hourPoints(database, server, days, to),
  ];
}

/**
 * Reads the uptime of a server on each of the last days (UTC), today included. Days on which nothing
 * was watched are missing.
 *
 * @param server `servers.id`.
 * @param days Number of days.
 * @param now Unix milliseconds.
 */
export async function uptimeByDay(
  database: Database,
  server: number,
  days: number,
  now: number,
): Promise<DayUptime[]> {
  const from = periodStart(now, DAY_MS) - (days - 1) * DAY_MS;
  const byDay = new Map<number, Uptime>();
  for (const point of await uptimePoints(database, server, from, now)) {
    const day = periodStart(point.at, DAY_MS);
    byDay.set(day, addUptime(byDay.get(day) ?? UNWATCHED, point));
  }
  return [...byDay].map(([at, uptime]) => ({ at, ...uptime }));
}

/**
 * The uptime of a server per hour: from rollups as far as they are computed, and from observations
 * after that, and of the parts of hours at the ends of the period.
 */
export async function hourPoints(
  database: Database,
  server: number,
  from: number,
  to: number,
): Promise<UptimePoint[]> {
  if (from >= to) return [];
  const { closedUntil } = await readState(database);
  const first = Math.min(periodStart(from + HOUR_MS - 1, HOUR_MS), to);
  const computed = Math.max(first, periodStart(Math.min(closedUntil, to), HOUR_MS));
  return [
    ...await currentPoints(database, server, from, first),
    ...await readPoints(database, server, 1, first, computed),
    ...await currentPoints(database, server, computed, to),
  ];
}

/**
 * Reads the rollups of a server. The query names each time, because the key begins with the time: a
 * range of times would contain the rows of all servers.
 */
async function readPoints(
  database: Database,
  server: number,
  hours: 1 | 24,
  from: number,
  to: number,
): Promise<UptimePoint[]> {
  const times: number[] = [];
  for (let at = from; at < to; at += hours * HOUR_MS) times.push(at);
  if (times.length === 0) return [];
  const rows = await database.rows(
    "select r.at, r.player_s, r.watched_s, r.online_s, r.players_min, r.players_max, r.polls " +
      `from rollups r where r.hours = ? and ${
        isTimeIn(database, "r.at")
      } and r.server = ? order by r.at`,
    [hours, timeList(database, times), server],
  );
  return rows.map((row) => ({ hours, ...pointOf(row) }));
}

function pointOf(row: Row): Omit<UptimePoint, "hours"> {
  const count = (value: Value) => value === null ? null : Number(value);
  return {
    at: Number(row.at),
    watchedS: Number(row.watched_s),
    onlineS: Number(row.online_s),
    playerS: Number(row.player_s),
    playersMin: count(row.players_min),
    playersMax: count(row.players_max),
    polls: count(row.polls),
  };
}

/** Computes hours from observations, as rollups are. The work depends on the observations alone. */
async function currentPoints(
  database: Database,
  server: number,
  from: number,
  to: number,
): Promise<UptimePoint[]> {
  if (from >= to) return [];
  const spans = await spansIn(database, from, to);
  if (spans.length === 0) return [];
  const seen = (await statesIn(database, [server], spans, from, to)).get(server) ?? [];
  const optedOutAt = (await optOutsOf(database, [server])).get(server);
  const states = heldStates(seen, spans, from, to, optedOutAt);
  return [...uptimeOfSteps(states, HOUR_MS)].map(([at, uptime]) => ({ at, hours: 1, ...uptime }));
}
