/**
 * Reads pages of servers.
 *
 * @module
 */
import type { Database } from "../../store/database/database.ts";
import type { Sql } from "../../store/queries/conditions.ts";
import { ID, SERVER_ORDERS, sortKeys, TABLES } from "../../store/queries/orders.ts";
import { whereClause } from "../../store/queries/page.ts";
import type { ServersPage, ServersQuery } from "./dashboard_data.ts";
import { filterConditions } from "./filter_conditions.ts";
import { listedServers, type PlaceLookup } from "./listed_servers.ts";

/** Reads a page of servers. */
export async function readPage(
  database: Database,
  query: ServersQuery,
  places: PlaceLookup,
): Promise<ServersPage> {
  const { filters, limit, cursor } = query;
  const conditions = await filterConditions(database, filters);
  const found = await idsOf(database, query, conditions, limit + 1);
  const isMore = found.length > limit;
  const isBackwards = cursor?.direction === "before";
  const ids = isBackwards ? found.slice(0, limit).reverse() : found.slice(0, limit);
  return {
    servers: await listedServers(database, ids, places),
    hasPrevious: isBackwards ? isMore : cursor !== undefined,
    hasNext: isBackwards ? true : isMore,
    total: await countMatches(database, conditions),
  };
}

/** The numbers of the first servers after the cursor, or of the last ones before it, in reverse order. */
async function idsOf(
  database: Database,
  { sort, cursor }: ServersQuery,
  conditions: readonly Sql[],
  limit: number,
): Promise<number[]> {
  const { table } = SERVER_ORDERS[sort];
  const isDescending = SERVER_ORDERS[sort].isDescending !== (cursor?.direction === "before");
  const keys = sortKeys(database, sort);
  const all = keys.join(", ");
  const position: Sql[] = cursor === undefined ? [] : [{
    sql: `(${all}) ${isDescending ? "<" : ">"} ` +
      `(select ${all} from ${TABLES[table]} ${table} where ${ID[table]} = ?)`,
    values: [cursor.id],
  }];
  const { sql, values } = whereClause([...position, ...conditions]);
  const order = keys.map((key) => `${key}${isDescending ? " desc" : ""}`).join(", ");
  const rows = await database.rows(
    `select s.id from servers s join server_state t on t.server = s.id ${sql} ` +
      `order by ${order} limit ?`,
    [...values, limit],
  );
  return rows.map(({ id }) => Number(id));
}

/** The number of servers that fulfil conditions. */
async function countMatches(database: Database, conditions: readonly Sql[]): Promise<number> {
  const { sql, values } = whereClause(conditions);
  const [{ n }] = await database.rows(
    `select count(*) as n from servers s join server_state t on t.server = s.id ${sql}`,
    values,
  );
  return Number(n);
}
