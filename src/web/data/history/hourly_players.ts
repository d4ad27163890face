/**
 * Reads the numbers of players of servers in the last hours.
 *
 * @module
 */
import { HOUR_MS } from "../../../core/quantities.ts";
import {
  type Database,
  isInList,
  listValue,
  timeParameter,
} from "../../../store/database/database.ts";
import { periodStart } from "../../../store/mod.ts";

/** Number of hours. */
const HOURS = 24;

/**
 * The mean number of players in each of the last 24 complete hours, the oldest first; null: not watched, or
 * offline. Servers without any are missing.
 *
 * @param ids `servers.id`.
 */
export async function hourlyPlayers(
  database: Database,
  ids: readonly number[],
): Promise<ReadonlyMap<number, readonly (number | null)[]>> {
  const first = periodStart(database.now(), HOUR_MS) - HOURS * HOUR_MS;
  const starts = Array.from({ length: HOURS }, (_, i) => first + i * HOUR_MS);
  const at = timeParameter(database);
  const rows = ids.length === 0 ? [] : await database.rows(
    "select server, at, player_s, online_s from rollups where hours = 1 " +
      `and at in (${starts.map(() => at).join(", ")}) and online_s > 0 ` +
      `and ${isInList(database, "server", "integer")}`,
    [...starts, listValue(database, ids)],
  );
  const players = new Map<number, (number | null)[]>();
  for (const row of rows) {
    const server = Number(row.server);
    const hours = players.get(server) ?? new Array<number | null>(HOURS).fill(null);
    hours[(Number(row.at) - first) / HOUR_MS] = Number(row.player_s) / Number(row.online_s);
    players.set(server, hours);
  }
  return players;
}
