/**
 * Computes the uptime of servers in the last 30 days, for lists of servers.
 *
 * @module
 */
import { type Database, timeParameter } from "../database/database.ts";
import { ALL_SERVERS } from "./dirty_hours.ts";
import {
  DAY_MS,
  isServerIn,
  isTimeIn,
  type RollupState,
  startOf,
  timeList,
} from "./rollup_hours.ts";

/** Number of days. */
const DAYS = 30;

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
  const until = startOf(closedUntil, DAY_MS);
  const day = startOf(hour, DAY_MS);
  if (day < until - DAYS * DAY_MS) return;
  const time = timeParameter(database);
  const later = await database.rows(
    `select 1 from dirty_hours where hour >= ${time} and hour < ${time} ` +
      "and server = ? and next_server < ? limit 1",
    [day + DAY_MS, until, ALL_SERVERS, servers[0]],
  );
  if (later.length > 0) return;
  const days = Array.from({ length: DAYS }, (_, i) => until - (DAYS - i) * DAY_MS);
  const page = isServerIn(database, "r.server", servers);
  await database.run(
    "insert into server_uptime (server, until, watched_s, online_s) " +
      `select r.server, ${time}, sum(r.watched_s), sum(r.online_s) from rollups r ` +
      `where r.hours = 24 and ${isTimeIn(database, "r.at")} and ${page.sql} group by r.server ` +
      "on conflict (server) do update set until = excluded.until, " +
      "watched_s = excluded.watched_s, online_s = excluded.online_s",
    [until, timeList(database, days), ...page.values],
  );
  const old = isServerIn(database, "server", servers);
  await database.run(
    `delete from server_uptime where ${old.sql} and until < ${time}`,
    [...old.values, until],
  );
}
