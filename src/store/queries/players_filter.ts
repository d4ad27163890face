/**
 * The filters by the numbers of players and slots.
 *
 * @module
 */
import type { Database } from "../database/database.ts";
import type { ListedRecord } from "../rows/stored_record.ts";
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

/** The condition of the filter `full`. A number of slots of 0 or less is unknown. */
export function fullCondition(
  _: Database,
  { full = true }: { readonly full?: boolean },
): ServerCondition {
  const sql = full
    ? "t.players_online >= t.players_max"
    : "t.players_online < t.players_max and t.players_online >= 0";
  return { table: "t", sql: `t.players_max > 0 and ${sql}`, values: [] };
}

/** A test of whether servers are full, or have free slots. */
export function isFullServer(
  full: boolean,
): (server: Pick<ListedRecord, "players_online" | "players_max">) => boolean {
  return ({ players_online: players, players_max: slots }) => {
    if (players === null || players < 0 || slots === null || slots <= 0) return false;
    return players >= slots === full;
  };
}
