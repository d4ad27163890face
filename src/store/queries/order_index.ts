/**
 * Reads servers in a sort order, by its index.
 *
 * @module
 */
import { type Database, listValue, type Sql, type Value } from "../database/database.ts";
import { addressColumn } from "../rows/addresses.ts";
import type { ServerCondition } from "./server_conditions.ts";
import {
  ID,
  orderBy,
  type PageStart,
  rangesBehind,
  SERVER_ORDERS,
  type ServerOrder,
  sortKeys,
  type TableAlias,
  TABLES,
} from "./orders.ts";

/** Servers to find, in a sort order. */
export interface OrderedQuery {
  readonly conditions: readonly ServerCondition[];
  readonly sort: ServerOrder;
  /** Maximum number of servers. */
  readonly limit: number;
  /** Where the page begins. Default: with the first server. */
  readonly start?: PageStart;
}

export function whereClause(conditions: readonly Sql[]): Sql {
  const sql = conditions.map((one) => one.sql).join(" and ");
  return {
    sql: conditions.length === 0 ? "" : `where ${sql}`,
    values: conditions.flatMap(({ values }) => values),
  };
}

/** The columns that conditions read, by table. */
const COLUMNS = {
  s: "id, port, software, software_key, name, motd_plain, map, version_key, kind_key, flags, changed_at, " +
    "edition, protocol_version, player_flags, hostname",
  t: "server, online, within_slots, players_online, players_mean, players_max, latency_ms, probed_at, replied_at",
} as const;

/**
 * SQL that joins the row of a server to the rows on the left, which are read first: SQLite reads the tables
 * of a `cross join` in their order, and PostgreSQL does not merge a subquery that has an offset with the
 * query around it.
 */
export function joinOf(database: Database, table: TableAlias, id: string): string {
  return database.engine === "postgres"
    ? `cross join lateral (select ${orderColumns(database, table)} from ${
      TABLES[table]
    } ${table} ` +
      `where ${ID[table]} = ${id} offset 0) ${table}`
    : `cross join ${TABLES[table]} ${table} on ${ID[table]} = ${id}`;
}

/** The columns that orders and conditions read, of a table. */
export function orderColumns(database: Database, table: TableAlias): string {
  return table === "s"
    ? `${COLUMNS.s}, name_key, first_seen, ${addressColumn(database)}`
    : COLUMNS.t;
}

/**
 * The ids of the page by the index of the sort order, which is read as far as necessary.
 *
 * @param among The `servers.id` of the only servers to read and sort. Default: all servers, by the index.
 */
export async function inOrder(
  database: Database,
  query: OrderedQuery,
  among?: readonly number[],
): Promise<readonly number[]> {
  const { conditions, sort, limit, start } = query;
  const { table } = SERVER_ORDERS[sort];
  const other = table === "s" ? "t" : "s";
  const isOther = conditions.some((one) => one.table === other);
  const join = isOther ? joinOf(database, other, ID[table]) : "";
  const from = orderedTable(database, sort, among);
  const ranges = start === undefined
    ? [{ conditions: [], keys: sortKeys(database, sort) }]
    : rangesBehind(database, sort, start);
  const ids: number[] = [];
  for (const range of ranges) {
    const { sql, values } = whereClause([...range.conditions, ...conditions]);
    const rows = `select ${ID[table]} as id from ${from.sql} ${join} ${sql} ` +
      `${orderBy(sort, range.keys, start)} limit ?`;
    ids.push(...await idsOf(database, rows, [...from.values, ...values, limit - ids.length]));
    if (ids.length >= limit) break;
  }
  return ids;
}

/** SQL of the table whose rows are read. SQLite has no statistics: hints say what it reads first. */
export function orderedTable(
  database: Database,
  sort: ServerOrder,
  among?: readonly number[],
): Sql {
  const { table, index } = SERVER_ORDERS[sort];
  const name = `${TABLES[table]} ${table}`;
  const isSqlite = database.engine === "sqlite";
  if (among === undefined) {
    const isHinted = isSqlite && index !== undefined;
    return { sql: isHinted ? `${name} indexed by ${index}` : name, values: [] };
  }
  const list = isSqlite ? "json_each(?) m cross" : "unnest(?::integer[]) as m (value)";
  const sql = `${list} join ${name} on ${ID[table]} = m.value`;
  return { sql, values: [listValue(database, among)] };
}

/** The ids of a query, as one JSON text: SQLite reads a list in a sixth of the time of its rows. */
async function idsOf(
  database: Database,
  sql: string,
  values: readonly Value[],
): Promise<readonly number[]> {
  const list = database.engine === "postgres"
    ? "coalesce(json_agg(e.id)::text, '[]')"
    : "json_group_array(e.id)";
  const [{ ids }] = await database.rows(`select ${list} as ids from (${sql}) e`, values);
  return JSON.parse(String(ids));
}
