/**
 * Sort orders of servers, and their indexes.
 *
 * @module
 */
import type { Database, Value } from "../database/database.ts";
import { addressColumn } from "../rows/addresses.ts";

/** A table of which an order or a condition reads columns: `s` is `servers`, `t` is `server_state`. */
export type TableAlias = "s" | "t";

/** The names of the tables. */
export const TABLES: Readonly<Record<TableAlias, string>> = { s: "servers", t: "server_state" };

/** The column with the id of a server, by table. */
export const ID: Readonly<Record<TableAlias, string>> = { s: "s.id", t: "t.server" };

/**
 * A sort order. All its columns are ascending, or all are descending, so that a comparison of rows finds
 * the servers after another one.
 */
interface Order {
  readonly table: TableAlias;
  /** SQL of the sort keys. The last one is the server's id, which no two servers share. */
  readonly keys: readonly string[];
  readonly isDescending: boolean;
  /** The index that has the keys. */
  readonly index: string;
}

/** Sort orders of servers. */
export const SERVER_ORDERS = {
  players: {
    table: "t",
    keys: ["t.online", "coalesce(t.players_online, -1)", "t.server"],
    isDescending: true,
    index: "server_state_players",
  },
  new: {
    table: "s",
    keys: ["s.first_seen", "s.id"],
    isDescending: true,
    index: "servers_new",
  },
  changed: {
    table: "s",
    keys: ["s.changed_at", "s.id"],
    isDescending: true,
    index: "servers_changed",
  },
  name: {
    table: "s",
    keys: ["s.name_key", "s.id"],
    isDescending: false,
    index: "servers_name",
  },
  version: {
    table: "s",
    keys: ["s.version_key", "s.id"],
    isDescending: false,
    index: "servers_version",
  },
  address: {
    table: "s",
    keys: ["s.ADDRESS", "s.port", "s.id"],
    isDescending: false,
    index: "servers_address",
  },
} as const satisfies Record<string, Order>;

/** The name of a sort order. */
export type ServerOrder = keyof typeof SERVER_ORDERS;

/** SQL of the sort keys of an order. */
export function sortKeys(database: Database, sort: ServerOrder): string[] {
  return SERVER_ORDERS[sort].keys.map((key) => key.replace("ADDRESS", addressColumn(database)));
}

/** The `order by` clause of a sort order, for the sort keys, or for SQL expressions with the values of the keys. */
export function orderBy(sort: ServerOrder, keys: readonly string[]): string {
  const direction = SERVER_ORDERS[sort].isDescending ? " desc" : "";
  return `order by ${keys.map((key) => `${key}${direction}`).join(", ")}`;
}

/** SQL of the condition that a server comes after the one with this `servers.id`, and its parameter. */
export function isAfter(
  database: Database,
  sort: ServerOrder,
  id: number,
): { sql: string; values: readonly Value[] } {
  const { table, isDescending } = SERVER_ORDERS[sort];
  const keys = sortKeys(database, sort).join(", ");
  const position = `select ${keys} from ${TABLES[table]} ${table} where ${ID[table]} = ?`;
  return { sql: `(${keys}) ${isDescending ? "<" : ">"} (${position})`, values: [id] };
}
