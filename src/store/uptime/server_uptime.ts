/**
 * Computes the uptime of servers in the last 30 days, for lists of servers.
 *
 * @module
 */
import { DAY_MS } from "../../core/quantities.ts";
import { type Database, timeParameter } from "../database/database.ts";
import { ALL_SERVERS } from "./dirty_hours.ts";
import { SUM_OF_POLLS } from "./rollup_rows.ts";
import {
  hoursBetween,
  isServerIn,
  isTimeIn,
  periodStart,
  type RollupState,
  timeList,
} from "./rollup_hours.ts";

const DAYS = 30;

/** The columns that a computation writes. */
const INSERT = "insert into server_uptime (server, until, watched_s, online_s, polls) ";
const REPLACE = "on conflict (server) do update set until = excluded.until, " +
  "watched_s = excluded.watched_s, online_s = excluded.online_s, polls = excluded.polls";
/** Sets the row of a server that was not watched. */
const RESET =
  "update server_uptime set until = null, watched_s = 0, online_s = 0, polls = 0 where ";

/**
 * Computes the rows of `server_uptime` for a page of servers, after the rollups of one of their
 * days were computed. The 30 days end with the last complete day. Does nothing if a later day is
 * still to be computed for all servers, because that computation computes these rows too. The
 * caller has begun a transaction.
 *
 * @param hour Start of the hour with which the day was computed, Unix milliseconds.
 * @param servers `servers.id`, at least one, in order.
 */
export async function computeServerUptime(
  database: Database,
  hour: number,
  servers: readonly number[],
  { closedUntil }: RollupState,
): Promise<void> {
  const until = periodStart(closedUntil, DAY_MS);
  const day = periodStart(hour, DAY_MS);
  if (day < until - DAYS * DAY_MS) return;
  const time = timeParameter(database);
  const later = await database.rows(
    `select 1 from dirty_hours where hour >= ${time} and hour < ${time} ` +
      "and server = ? and next_server < ? limit 1",
    [day + DAY_MS, until, ALL_SERVERS, servers[0]],
  );
  if (later.length > 0) return;
  const days = Array.from({ length: DAYS }, (_, i) => until - (DAYS - i) * DAY_MS);
  await sumRollups(database, 24, days, servers, until);
  await setMeans(database, 24, days.slice(-1), servers);
  const old = isServerIn(database, "server", servers);
  await database.run(`${RESET}${old.sql} and until < ${time}`, [...old.values, until]);
}

/**
 * Computes the rows of `server_uptime` of those servers of a page that were not watched in the 30 days,
 * from the hours of the current day whose rollups are computed. The caller has begun a transaction.
 *
 * @param servers `servers.id`, at least one, in order.
 */
export async function computeFirstUptime(
  database: Database,
  servers: readonly number[],
  { closedUntil }: RollupState,
): Promise<void> {
  const today = periodStart(closedUntil, DAY_MS);
  const { sql, values } = isServerIn(database, "server", servers);
  const rows = await database.rows(
    `select server from server_uptime where ${sql} ` +
      `and (until is null or until > ${timeParameter(database)}) order by server`,
    [...values, today],
  );
  if (rows.length === 0) return;
  const first = rows.map(({ server }) => Number(server));
  const hours = hoursBetween(today, closedUntil);
  await sumRollups(database, 1, hours, first, closedUntil);
  await setMeans(database, 1, hours, first);
}

/** Replaces the rows of those servers that have rollups of these hours or days by the sums. */
async function sumRollups(
  database: Database,
  hours: 1 | 24,
  starts: readonly number[],
  servers: readonly number[],
  until: number,
): Promise<void> {
  const page = isServerIn(database, "r.server", servers);
  await database.run(
    `${INSERT}select r.server, ${timeParameter(database)}, sum(r.watched_s), sum(r.online_s), ` +
      `${SUM_OF_POLLS} from rollups r where r.hours = ? and ${
        isTimeIn(database, "r.at")
      } and ${page.sql} ` +
      `group by r.server ${REPLACE}`,
    [until, hours, timeList(database, starts), ...page.values],
  );
}

/** Sets the mean numbers of players while the servers of a page were online, in these hours or days. */
async function setMeans(
  database: Database,
  hours: 1 | 24,
  starts: readonly number[],
  servers: readonly number[],
): Promise<void> {
  const page = isServerIn(database, "server", servers);
  await database.run(
    "update server_state set players_mean = (select " +
      "cast(round(sum(r.player_s) * 100.0 / nullif(sum(r.online_s), 0)) as integer) from rollups r " +
      `where r.hours = ? and ${isTimeIn(database, "r.at")} and r.server = server_state.server) ` +
      `where ${page.sql}`,
    [hours, timeList(database, starts), ...page.values],
  );
}

/** Resets the rows whose last day is too long ago. The caller has begun a transaction. */
export async function resetOldUptime(database: Database, now: number): Promise<void> {
  await database.run(`${RESET}until <= ${timeParameter(database)}`, [now - DAYS * DAY_MS]);
}
