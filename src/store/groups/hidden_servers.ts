/**
 * Finds the rows of groups that are not shown: of each group, all rows that filters match but the first one.
 *
 * @module
 */
import { type Database, isInList, listValue } from "../database/database.ts";
import { conditionsOf, type ServerFilters } from "../queries/filters.ts";
import { whereClause } from "../queries/order_index.ts";
import { hiddenMembers } from "./grouped_rows.ts";
import type { ServerGroups } from "./read_groups.ts";

/** The `servers.id` of the rows of groups that filters match and that are not shown. */
export async function hiddenServers(
  database: Database,
  filters: ServerFilters,
  groups: ServerGroups,
): Promise<ReadonlySet<number>> {
  const isMember = {
    sql: isInList(database, "s.id", "integer"),
    values: [listValue(database, [...groups.keys()])],
  };
  const { sql, values } = whereClause([isMember, ...await conditionsOf(database, filters)]);
  const rows = await database.rows(
    `select s.id as id from servers s join server_state t on t.server = s.id ${sql}`,
    values,
  );
  const matched = new Set(rows.map(({ id }) => Number(id)));
  return hiddenMembers(groups, (id) => matched.has(id));
}
