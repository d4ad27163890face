/**
 * The share of a time in which a server was watched, which stands beside its uptime.
 *
 * @module
 */
import { countOf, DAY_MS, percentText } from "../../core/quantities.ts";
import type { Row } from "../database/database.ts";
import type { Period } from "./rollup_hours.ts";
import type { Uptime } from "./uptime_of_polls.ts";

/**
 * The share of a period in which a server was watched, 0 to 1. A period begins when the server was first
 * seen, if that is later.
 *
 * @param watchedS Seconds in which the server was watched.
 * @param firstSeen `servers.first_seen`, Unix milliseconds.
 */
export function watchedShare(watchedS: number, { from, to }: Period, firstSeen: number): number {
  if (watchedS === 0) return 0;
  const seconds = (to - Math.max(from, firstSeen)) / 1000;
  return watchedS / Math.max(seconds, watchedS);
}

/** The uptime of a server in a period, and how much of the period was watched. */
export interface WatchedUptime extends Uptime {
  /** Share of the period, or of the time since the server was first seen, 0 to 1. */
  readonly watchedShare: number;
}

/** What stands after an uptime: `of the 84 % watched (4,320 polls)`. */
export function watchedText({ watchedShare, polls }: WatchedUptime): string {
  const count = polls === null ? "number of polls unknown" : countOf(polls, "poll");
  return `of the ${percentText(watchedShare)} watched (${count})`;
}

/** The uptime of a server in lists. */
export interface ListedUptime {
  /**
   * Share of the watched time of the last 30 complete days (UTC) in which the server was online, from 0 to
   * 1. If the server was not watched in these days, of the hours of today so far; null if it was not
   * watched then either.
   */
  readonly uptime_30d: number | null;
  /**
   * Share of the 30 days up to the end of these days or hours, or of the time since the server was first
   * seen if that is shorter, in which the server was watched, from 0 to 1; null if it was not watched.
   */
  readonly uptime_watched: number | null;
}

/** The columns of {@linkcode listedUptime}, besides `first_seen`. */
export const UPTIME_COLUMNS =
  "u.uptime_30d, w.watched_s as uptime_watched_s, w.until as uptime_until";
/** The tables of {@linkcode UPTIME_COLUMNS}, joined with `server_state t`. */
export const UPTIME_TABLES = "left join recent_uptime u on u.server = t.server " +
  "left join server_uptime w on w.server = t.server";

/** Length of the time of `server_uptime`, milliseconds. */
const LENGTH_MS = 30 * DAY_MS;

/** The uptime in a row with {@linkcode UPTIME_COLUMNS}. */
export function listedUptime(row: Row): ListedUptime {
  if (row.uptime_30d === null) return { uptime_30d: null, uptime_watched: null };
  const to = Number(row.uptime_until);
  const period = { from: to - LENGTH_MS, to };
  return {
    uptime_30d: Number(row.uptime_30d),
    uptime_watched: watchedShare(Number(row.uptime_watched_s), period, Number(row.first_seen)),
  };
}
