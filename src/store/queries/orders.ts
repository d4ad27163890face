/**
 * Sort orders of servers, and their indexes.
 *
 * @module
 */
import type { Database, Sql } from "../database/database.ts";
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
export interface SortOrder {
  /** The table that has the sort keys. */
  readonly table: TableAlias;
  /** SQL of the sort keys. The last one is the server's id, which no two servers share. */
  readonly keys: readonly string[];
  readonly isDescending: boolean;
  /** The index that has the keys. Without one, all servers are read and sorted. */
  readonly index?: string;
}

/** SQL of a latency in microseconds; of an unknown one, another number. */
const latencyOr = (unknown: number) =>
  "case when t.latency_ms between 0 and 1e9 then cast(round(t.latency_ms * 1000) as bigint) " +
  `else ${unknown} end`;

/** The name of a sort order in its usual direction. */
export type UsualOrder =
  | "players"
  | "average"
  | "new"
  | "changed"
  | "name"
  | "version"
  | "address"
  | "latency"
  | "seen";

/** Sort orders of servers, each in its usual direction. */
const ORDERS: Readonly<Record<UsualOrder, SortOrder>> = {
  players: {
    table: "t",
    keys: ["t.online", "t.within_slots", "coalesce(t.players_online, -1)", "t.server"],
    isDescending: true,
    index: "server_state_players",
  },
  average: {
    table: "t",
    keys: ["t.online", "t.within_slots", "coalesce(t.players_mean, -1)", "t.server"],
    isDescending: true,
    index: "server_state_average",
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
  latency: {
    table: "t",
    keys: [latencyOr(2e12), "t.server"],
    isDescending: false,
  },
  seen: {
    table: "t",
    keys: ["t.probed_at", "t.server"],
    isDescending: true,
  },
};

/** What the name of a sort order in the other direction ends with. */
const REVERSED = "-reversed";

/** The name of a sort order: with `-reversed`, in the other direction. */
export type ServerOrder = UsualOrder | `${UsualOrder}-reversed`;

/** Sort orders of servers. Servers without a latency are last in both orders by it. */
export const SERVER_ORDERS: Readonly<Record<ServerOrder, SortOrder>> = {
  ...ORDERS,
  ...Object.fromEntries(
    Object.entries(ORDERS).map(([name, order]) => [
      `${name}${REVERSED}`,
      { ...order, isDescending: !order.isDescending },
    ]),
  ) as Record<`${UsualOrder}-reversed`, SortOrder>,
  "latency-reversed": { table: "t", keys: [latencyOr(-1), "t.server"], isDescending: true },
};

/** The order with the same keys in its usual direction. */
export function usualOrder(sort: ServerOrder): UsualOrder {
  return sort.replace(REVERSED, "") as UsualOrder;
}

/** The same order in the other direction. */
export function reversedOrder(sort: ServerOrder): ServerOrder {
  const usual = usualOrder(sort);
  return sort === usual ? `${usual}-reversed` : usual;
}

/** SQL of the sort keys of an order. */
export function sortKeys(database: Database, sort: ServerOrder): string[] {
  return SERVER_ORDERS[sort].keys.map((key) => key.replace("ADDRESS", addressColumn(database)));
}

/** Where a page begins: after a server in the sort order, or before it. */
export interface PageStart {
  /** SQL of the values that this server has, one for each sort key. */
  readonly keys: readonly Sql[];
  /** Whether the page has the servers before it, the nearest one first. */
  readonly isBackwards: boolean;
}

export function isDescending(sort: ServerOrder, start?: PageStart): boolean {
  return SERVER_ORDERS[sort].isDescending !== (start?.isBackwards ?? false);
}

/** The `order by` clause of a page, for the sort keys, or for SQL expressions with the values of the keys. */
export function orderBy(sort: ServerOrder, keys: readonly string[], start?: PageStart): string {
  const direction = isDescending(sort, start) ? " desc" : "";
  return `order by ${keys.map((key) => `${key}${direction}`).join(", ")}`;
}

/** The start after the server with this `servers.id`, by the values that it has now. */
export function startAfter(database: Database, sort: ServerOrder, id: number): PageStart {
  const { table } = SERVER_ORDERS[sort];
  const from = `from ${TABLES[table]} ${table} where ${ID[table]} = ?`;
  const keys = sortKeys(database, sort)
    .map((key) => ({ sql: `(select ${key} ${from})`, values: [id] }));
  return { keys, isBackwards: false };
}

/** The condition that a server is behind the start of a page. */
export function isBehind(database: Database, sort: ServerOrder, start: PageStart): Sql {
  const operator = isDescending(sort, start) ? "<" : ">";
  return compared(sortKeys(database, sort), operator, start.keys);
}

/** A range of the servers behind the start of a page, and the sort keys that differ within it. */
export interface OrderRange {
  readonly conditions: readonly Sql[];
  readonly keys: readonly string[];
}

/**
 * The servers behind the start of a page as ranges that follow one another. SQLite does not search an index
 * of expressions for a row of values, so a range compares only one key, and the keys before it are equal.
 */
export function rangesBehind(
  database: Database,
  sort: ServerOrder,
  start: PageStart,
): readonly OrderRange[] {
  const keys = sortKeys(database, sort);
  if (database.engine === "postgres") {
    return [{ conditions: [isBehind(database, sort, start)], keys }];
  }
  const operator = isDescending(sort, start) ? "<" : ">";
  const one = (i: number, operator: string) => compared([keys[i]], operator, [start.keys[i]]);
  return keys.map((_, i) => {
    const differs = keys.length - 1 - i;
    const equal = keys.slice(0, differs).map((_, key) => one(key, "="));
    return { conditions: [...equal, one(differs, operator)], keys: keys.slice(differs) };
  });
}

function compared(keys: readonly string[], operator: string, values: readonly Sql[]): Sql {
  return {
    sql: `(${keys.join(", ")}) ${operator} (${values.map(({ sql }) => sql).join(", ")})`,
    values: values.flatMap(({ values }) => values),
  };
}
