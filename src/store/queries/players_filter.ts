/**
 * The filters by the number of players.
 *
 * @module
 */
import type { Database } from "../database/database.ts";
import type { ServerCondition } from "./server_conditions.ts";

/** The filters on which the condition depends. */
interface PlayersFilters {
  readonly online?: boolean;
  readonly minPlayers?: number;
  readonly maxPlayers?: number;
}

/**
 * The condition of the filters `minPlayers` and `maxPlayers`. The first columns of the players' index are
 * `online` and whether the players are within the slots, so each combination is searched.
 */
export function hasPlayers(
  _: Database,
  { online, minPlayers = 0, maxPlayers }: PlayersFilters,
): ServerCondition {
  const players = "coalesce(t.players_online, -1)";
  const sql = `${players} >= ?${maxPlayers === undefined ? "" : ` and ${players} <= ?`}`;
  const values = [minPlayers, ...maxPlayers === undefined ? [] : [maxPlayers]];
  const rangesOf = (states: readonly boolean[]) =>
    states.flatMap((state) =>
      [false, true].map((isWithin) => `t.online = ${state} and t.within_slots = ${isWithin}`)
    );
  const all = rangesOf([false, true]);
  const ids = {
    sql: all.map((range) => `select t.server as id from server_state t where ${range} and ${sql}`)
      .join(" union all "),
    values: all.flatMap(() => values),
  };
  const ranges = online === undefined ? all : rangesOf([online]);
  const conditions = ranges.map((range): ServerCondition => {
    return { table: "t", sql: range, values: [], order: "players" };
  });
  return { table: "t", sql, values, ids, ranges: { order: "players", conditions } };
}
