/**
 * Finds the servers of one page: the first ones, in an order, that fulfil conditions.
 *
 * Two indexes can find them: the one of the order, whose servers are read until the page is full,
 * and the one of a condition, all of whose servers are read and sorted. The first is fast for
 * conditions that many servers fulfil, the second for those that few do. How many servers fulfil a
 * condition is unknown without statistics, and SQLite has none. So the first servers of the order
 * are read. If the page is not full then, the servers of each condition are counted, up to a limit.
 *
 * @module
 */
import type { Database, Row } from "../database/database.ts";
import { addressColumn } from "../rows/addresses.ts";
import type { Condition, Sql } from "./conditions.ts";

/** Sort orders of servers, as `order by` clauses. */
export const SERVER_ORDERS = {
  players: "t.online desc, coalesce(t.players_online, -1) desc, t.server",
  new: "s.first_seen desc, s.id",
  changed: "s.changed_at desc, s.id",
  name: "s.name_key, s.id",
  version: "s.version_key, s.id",
  address: "ADDRESS, s.port, s.id",
} as const;

/** The name of a sort order. */
export type ServerOrder = keyof typeof SERVER_ORDERS;

/** The `order by` clause of a sort order. */
export function orderOf(database: Database, sort: ServerOrder): string {
  return SERVER_ORDERS[sort].replace("ADDRESS", `s.${addressColumn(database)}`);
}

/** A `where` clause, and its parameters. */
export function whereClause(conditions: readonly Sql[]): Sql {
  const sql = conditions.map((one) => one.sql).join(" and ");
  return {
    sql: conditions.length === 0 ? "" : `where ${sql}`,
    values: conditions.flatMap(({ values }) => values),
  };
}

/** Limits on the numbers of servers that are read to find a page. */
export interface PageSteps {
  /** Number of servers that are read first, in the sort order. */
  readonly first: number;
  /**
   * If fewer servers than this fulfil the rarest condition, all of them are read and sorted. The
   * number depends on the table whose columns the sort order reads.
   */
  readonly few: Readonly<Record<"s" | "t", number>>;
  /**
   * If {@linkcode few} or more servers fulfil the rarest condition, this number of servers is read
   * in the sort order before the servers of the condition.
   */
  readonly firstOfMany: Readonly<Record<"s" | "t", number>>;
  /**
   * If this number of servers or more fulfil each condition, only the index of the sort order is
   * used.
   */
  readonly many: number;
}

/** The numbers that were fastest with a million servers (bench/plans.ts). */
const STEPS: PageSteps = {
  first: 500,
  few: { s: 8000, t: 16_000 },
  firstOfMany: { s: 8000, t: 3000 },
  many: 100_000,
};

/** The columns that orders and conditions read, by table. */
const COLUMNS = {
  s: "id, port, software, software_key, name, name_key, motd_plain, map, version_key, flags, " +
    "first_seen, changed_at",
  t: "server, online, players_online",
} as const;

/** The ids of the servers of a page, without an order. */
export async function pageOf(
  database: Database,
  conditions: readonly Condition[],
  sort: ServerOrder,
  limit: number,
  steps: PageSteps = STEPS,
): Promise<readonly number[]> {
  const inOrder = (among?: number) =>
    ids(database, firstOf(database, conditions, sort, limit, among));
  if (conditions.every(({ order }) => order === sort)) return await inOrder();
  const isAmong = async (first: number) => {
    const found = first < limit ? [] : await inOrder(first);
    return found.length === limit ? found : undefined;
  };
  const first = await isAmong(steps.first);
  if (first !== undefined) return first;
  const table = tableOf(sort);
  const { rarest, count } = await rarestOf(database, conditions, steps.many);
  if (rarest === undefined) return await inOrder();
  const many = count < steps.few[table] ? undefined : await isAmong(steps.firstOfMany[table]);
  return many ?? await ids(database, someOf(database, rarest, conditions, sort, limit));
}

/** The column with the id of a server, by table. */
const ID = { s: "s.id", t: "t.server" } as const;
const TABLE = { s: "servers", t: "server_state" } as const;

/** The indexes of the orders. */
const INDEX: Readonly<Record<ServerOrder, string>> = {
  players: "server_state_players",
  new: "servers_new",
  changed: "servers_changed",
  name: "servers_name",
  version: "servers_version",
  address: "servers_address",
};

/** The table whose columns an order reads. */
function tableOf(sort: ServerOrder): "s" | "t" {
  return SERVER_ORDERS[sort].startsWith("t.") ? "t" : "s";
}

/**
 * SQL that joins the row of a server to the rows on the left, which are read first: SQLite reads the tables
 * of a `cross join` in their order, and PostgreSQL does not merge a subquery that has an offset with the
 * query around it.
 */
function joinOf(database: Database, table: "s" | "t", id: string): string {
  return database.engine === "postgres"
    ? `cross join lateral (select ${columnsOf(database, table)} from ${TABLE[table]} ${table} ` +
      `where ${ID[table]} = ${id} offset 0) ${table}`
    : `cross join ${TABLE[table]} ${table} on ${ID[table]} = ${id}`;
}

/** The columns that orders and conditions read, of a table. */
function columnsOf(database: Database, table: "s" | "t"): string {
  return table === "s" ? `${COLUMNS.s}, ${addressColumn(database)}` : COLUMNS.t;
}

/**
 * The page by the index of the sort order. With `among`, only that number of servers is searched,
 * from the first one on.
 */
function firstOf(
  database: Database,
  conditions: readonly Condition[],
  sort: ServerOrder,
  limit: number,
  among?: number,
): Sql {
  const table = tableOf(sort);
  const other = table === "s" ? "t" : "s";
  const order = orderOf(database, sort);
  const isHinted = database.engine === "sqlite"; // SQLite has no statistics
  const source = among === undefined
    ? `${TABLE[table]} ${table}` + (isHinted ? ` indexed by ${INDEX[sort]}` : "")
    : `(select ${columnsOf(database, table)} from ${TABLE[table]} ${table} order by ${order} ` +
      `limit ${among}) ${table}`;
  const isOther = conditions.some((one) => one.table === other);
  const join = isOther ? joinOf(database, other, ID[table]) : "";
  const { sql, values } = whereClause(conditions);
  return {
    sql: `select ${ID[table]} as id from ${source} ${join} ${sql} order by ${order} limit ?`,
    values: [...values, limit],
  };
}

/** The page of the servers that the index of a condition finds. */
function someOf(
  database: Database,
  rarest: Indexed,
  conditions: readonly Condition[],
  sort: ServerOrder,
  limit: number,
): Sql {
  const others = conditions.filter((one) => rarest.isApproximate || one !== rarest);
  const read = (["s", "t"] as const).filter((table) =>
    tableOf(sort) === table || others.some((one) => one.table === table)
  );
  // PostgreSQL would read rows of `servers` twice otherwise.
  const isOwn = database.engine === "postgres" && rarest.isOwn && read.includes("s");
  const found = isOwn
    ? `(select ${columnsOf(database, "s")} from servers s where ${rarest.sql} offset 0) s`
    : `(${rarest.ids.sql}) c`;
  const id = isOwn ? ID.s : "c.id";
  const joins = read.filter((table) => !isOwn || table !== "s")
    .map((table) => joinOf(database, table, id));
  const { sql, values } = whereClause(others);
  const order = orderOf(database, sort);
  return {
    sql: `select ${id} as id from ${found} ${joins.join(" ")} ${sql} order by ${order} limit ?`,
    values: [...rarest.ids.values, ...values, limit],
  };
}

/** A condition whose servers an index finds. */
type Indexed = Condition & { readonly ids: Sql };

/** The condition that the fewest servers fulfil; `undefined`: very many fulfil each of them. */
async function rarestOf(
  database: Database,
  conditions: readonly Condition[],
  many: number,
): Promise<{ rarest?: Indexed; count: number }> {
  let rarest: Indexed | undefined;
  let fewest = many;
  const indexed = conditions.filter((one): one is Indexed => one.ids !== undefined);
  for (const condition of indexed) {
    if (condition.isApproximate) continue;
    const { sql, values } = condition.ids;
    const counted = `select count(*) as count from (${sql} limit ${fewest}) as found`;
    const count = Number((await database.rows(counted, values))[0].count);
    if (count < fewest) [rarest, fewest] = [condition, count];
  }
  return { rarest: rarest ?? indexed.find((one) => one.isApproximate), count: fewest };
}

async function ids(database: Database, { sql, values }: Sql): Promise<number[]> {
  return (await database.rows(sql, values)).map(({ id }: Row) => Number(id));
}
