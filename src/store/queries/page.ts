/**
 * Finds the servers of a page: the first servers in a sort order that fulfil all conditions.
 *
 * Neither engine has current statistics of how many servers have a value: SQLite has none, and those of
 * PostgreSQL are old after a scan. This module therefore counts matches in indexes, and chooses how to
 * find a page.
 *
 * @module
 */
import type { Database, Row, Sql } from "../database/database.ts";
import type { Indexed, ServerCondition } from "./server_conditions.ts";
import {
  inOrder,
  joinOf,
  orderColumns,
  type OrderedQuery,
  orderedTable,
  whereClause,
} from "./order_index.ts";
import {
  ID,
  isBehind,
  isDescending,
  orderBy,
  SERVER_ORDERS,
  type ServerOrder,
  sortKeys,
  startAfter,
  type TableAlias,
  TABLES,
  usualOrder,
} from "./orders.ts";

/** Limits of the methods to find a page. */
export interface PageSteps {
  /** Number of servers, per server of the page, whose rows are read first, in the sort order. */
  readonly first: number;
  /** Maximum number of servers, per server of the page, whose rows are read next, in the sort order. */
  readonly next: number;
  /** If fewer servers fulfil the rarest condition, their rows are read and sorted. */
  readonly few: number;
  /**
   * If fewer servers fulfil the rarest condition, the first {@linkcode entries} of the sort order's index
   * are compared with these servers. If these entries do not contain the page, the rows of the servers
   * are read and sorted. If this number of servers or more fulfil each condition, rows are read in the
   * sort order until the page is complete.
   */
  readonly many: number;
  /**
   * Number of index entries to compare, as a multiple of the number that is expected to contain the page
   * if values and order are independent.
   */
  readonly entries: number;
  /**
   * If a page of servers that an index in memory matches is expected to need more entries of the order's
   * index, the matching servers are sorted. Reading an entry takes a tenth of the time of sorting a server,
   * or less.
   */
  readonly expected: number;
  /** If fewer servers match, they are sorted when the expected number of entries has not filled the page. */
  readonly sorted: number;
  /** Maximum number of entries that are read at once, if the order has an index. */
  readonly batch: number;
}

/** The numbers that were fastest with a million servers (bench/plans.ts, bench/web.ts). */
export const STEPS: PageSteps = {
  first: 10,
  next: 80,
  few: 2000,
  many: 60_000,
  entries: 3,
  expected: 100_000,
  sorted: 5000,
  batch: 25_000,
};

/** Which servers to find. */
export interface Page extends OrderedQuery {
  /**
   * An index in memory of the servers that match. Only those {@linkcode conditions} are then used that the
   * index of the sort order has.
   */
  readonly matches?: MatchIndex;
}

/** An index in memory of servers that match filters. */
export interface MatchIndex {
  /** Number of servers that match. */
  readonly count: number;
  /** Number of all servers. */
  readonly all: number;
  /** Whether a server matches, by its `servers.id`. */
  readonly has: (id: number) => boolean;
  /** The `servers.id` of all servers that match. */
  readonly ids: () => readonly number[];
}

/** The ids of the servers of a page, in its order. */
export async function pageOf(
  database: Database,
  page: Page,
  steps: PageSteps = STEPS,
): Promise<readonly number[]> {
  const { conditions, sort, limit, matches } = page;
  const parted = conditions.find(({ ranges }) => ranges?.order === usualOrder(sort));
  if (parted !== undefined) return await partedPage(database, page, parted, steps);
  if (matches !== undefined) return await matchedPage(database, page, matches, steps);
  const query = async ({ sql, values }: Sql) =>
    (await database.rows(sql, values)).map(({ id }: Row) => Number(id));
  const whole = () => inOrder(database, page);
  if (conditions.every(({ order }) => order === usualOrder(sort))) return await whole();
  if (SERVER_ORDERS[sort].index === undefined) {
    const { rarest } = await rarestOf(database, conditions, steps);
    return rarest === undefined ? await whole() : await query(sortedPage(database, page, rarest));
  }
  const first = await query(among(database, page, steps.first * limit));
  if (first.length === limit) return first;
  // Rows needed for a page if matches are as frequent in later rows as in the first ones, times 1.5.
  const next = Math.ceil(1.5 * steps.first * limit ** 2 / first.length);
  if (next <= steps.next * limit) {
    const found = await query(among(database, page, next));
    if (found.length === limit) return found;
  }
  const { rarest, count } = await rarestOf(database, conditions, steps);
  if (rarest === undefined) return await whole();
  const sorted = () => query(sortedPage(database, page, rarest));
  if (count < steps.few) return await sorted();
  const rows = steps.next * limit;
  const entries = Math.ceil(steps.entries * limit * await lastId(database) / Math.max(count, 1));
  const found = rarest.isSlow || entries <= rows
    ? await query(among(database, page, rows))
    : await query(withinSet(database, page, rarest, steps.many, entries));
  return found.length === limit ? found : await sorted();
}

/** The ids of a page of which a condition is fulfilled in each range of the order. */
async function partedPage(
  database: Database,
  page: Page,
  parted: ServerCondition,
  steps: PageSteps,
): Promise<readonly number[]> {
  const { sort, start, limit } = page;
  const { order, conditions: ranges } = parted.ranges!;
  const others = page.conditions.filter((one) => one !== parted);
  const inRange = { ...parted, ranges: undefined, order };
  const ids: number[] = [];
  for (const range of isDescending(sort, start) ? ranges.toReversed() : ranges) {
    const conditions = [inRange, range, ...others];
    const rest = { ...page, conditions, limit: limit - ids.length };
    ids.push(...await pageOf(database, rest, steps));
    if (ids.length >= limit) break;
  }
  return ids;
}

/** The highest id of a server: about the number of servers. */
async function lastId(database: Database): Promise<number> {
  return Number((await database.rows("select max(id) as id from servers"))[0].id);
}

/** The ids of a page among the servers that an index in memory matches. */
async function matchedPage(
  database: Database,
  page: Page,
  { count, all, has, ids }: MatchIndex,
  steps: PageSteps,
): Promise<readonly number[]> {
  const { sort, limit } = page;
  const usual = usualOrder(sort);
  const conditions = page.conditions.filter((one) =>
    one.order === usual || usual === "players" && one.table === "t"
  );
  const entries = { ...page, conditions };
  const { isBackwards = false } = page.start ?? {};
  const expected = Math.max(limit, Math.ceil(1.5 * limit * all / Math.max(1, count)));
  if (expected > steps.expected) return await inOrder(database, entries, ids());
  const hasIndex = SERVER_ORDERS[sort].index !== undefined; // otherwise each query sorts all servers
  const size = hasIndex ? Math.min(expected, steps.batch) : Math.max(expected, steps.batch);
  const found: number[] = [];
  for (let { start } = page, sum = size;; sum += size) {
    const read = await inOrder(database, { ...entries, start, limit: size });
    found.push(...read.filter(has));
    if (found.length >= limit || read.length < size) return found.slice(0, limit);
    if (sum >= expected && count < steps.sorted) return await inOrder(database, entries, ids());
    start = { ...startAfter(database, sort, read.at(-1)!), isBackwards };
  }
}

/** The condition for servers behind {@linkcode Page.start}; none if the page is the first one. */
function positionOf(database: Database, { sort, start }: Page): Sql[] {
  return start === undefined ? [] : [isBehind(database, sort, start)];
}

/**
 * SQL of the first `count` entries of the index of the sort order, in the range of the conditions that the
 * index has: the sort keys `k0`, `k1`…, of which the
 * last one is the server's id.
 */
function entriesOf(database: Database, page: Page, count: number, columns = ""): Sql {
  const { sort, start, conditions } = page;
  const keys = sortKeys(database, sort);
  const inRange = conditions.filter(({ order }) => order === usualOrder(sort));
  const named = keys.map((key, i) => `${key} as k${i}`).join(", ");
  const { sql, values } = whereClause([...positionOf(database, page), ...inRange]);
  return {
    sql: `select ${named}${columns} from ${orderedTable(database, sort).sql} ${sql} ` +
      `${orderBy(sort, keys, start)} limit ${count}`,
    values,
  };
}

/** The names of the sort keys in {@linkcode entriesOf}. */
function keyNames(table: string, sort: ServerOrder): string[] {
  return SERVER_ORDERS[sort].keys.map((_, i) => `${table}.k${i}`);
}

/** The servers of the page among the first `count` servers of the sort order. */
function among(database: Database, page: Page, count: number): Sql {
  const { conditions, sort, limit, start } = page;
  const { table } = SERVER_ORDERS[sort];
  const names = keyNames(table, sort);
  const isOwn = conditions.some((one) => one.table === table);
  const entries = entriesOf(
    database,
    page,
    count,
    isOwn ? `, ${orderColumns(database, table)}` : "",
  );
  const other = table === "s" ? "t" : "s";
  const isOther = conditions.some((one) => one.table === other);
  const join = isOther ? joinOf(database, other, names.at(-1)!) : "";
  const { sql, values } = whereClause(conditions);
  return {
    sql: `select ${names.at(-1)} as id from (${entries.sql}) ${table} ${join} ${sql} ` +
      `${orderBy(sort, names, start)} limit ?`,
    values: [...entries.values, ...values, limit],
  };
}

/**
 * Reads the page by the index of the sort order. Only the rows of servers that also fulfil the indexed
 * condition are read.
 *
 * @param most Maximum number of servers that fulfil the condition: PostgreSQL hashes them only if it
 * expects that they fit in memory.
 * @param count Number of entries of the index.
 */
function withinSet(
  database: Database,
  page: Page,
  indexed: Indexed,
  most: number,
  count: number,
): Sql {
  const { sort, limit, start } = page;
  const entries = entriesOf(database, page, count);
  const others = conditionsBeside(page, indexed);
  const names = keyNames("e", sort);
  const joins = tablesOf(others).map((table) => joinOf(database, table, "c.id")).join(" ");
  const order = (table: string) => orderBy(sort, keyNames(table, sort), start);
  // With "is true", neither engine converts this condition into a join.
  const inSet = `(${
    names.at(-1)
  } in (select m.id from (${indexed.ids.sql}) m limit ${most})) is true`;
  const candidates = `select ${names.at(-1)} as id, e.* from (${entries.sql}) e ` +
    `where ${inSet} ${order("e")} limit ${count}`;
  const { sql, values } = whereClause(others);
  return {
    sql: `select c.id as id from (${candidates}) c ${joins} ${sql} ${order("c")} limit ?`,
    values: [...entries.values, ...indexed.ids.values, ...values, limit],
  };
}

/** The page of the servers that the index of a condition finds, whose rows are read and sorted. */
function sortedPage(database: Database, page: Page, rarest: Indexed): Sql {
  const { sort, limit, start } = page;
  const { sql, values } = foundBy(database, page, rarest, [SERVER_ORDERS[sort].table]);
  return {
    sql: `${sql} ${orderBy(sort, sortKeys(database, sort), start)} limit ?`,
    values: [...values, limit],
  };
}

/**
 * SQL of the ids of the servers that fulfil all conditions, among those that the index of a condition
 * finds. It has columns of the tables `also` too.
 */
function foundBy(
  database: Database,
  page: Page,
  rarest: Indexed,
  also: readonly TableAlias[],
): Sql {
  const others = conditionsBeside(page, rarest);
  const read = [...new Set([...also, ...tablesOf(others)])].sort();
  // PostgreSQL would read rows of `servers` twice otherwise.
  const isOwn = database.engine === "postgres" && rarest.isOwn && read.includes("s");
  const found = isOwn
    ? `(select ${orderColumns(database, "s")} from servers s where ${rarest.sql} offset 0) s`
    : `(${rarest.ids.sql}) c`;
  const id = isOwn ? ID.s : "c.id";
  const joins = read.filter((table) => !isOwn || table !== "s")
    .map((table) => joinOf(database, table, id));
  const { sql, values } = whereClause([...positionOf(database, page), ...others]);
  return {
    sql: `select ${id} as id from ${found} ${joins.join(" ")} ${sql}`,
    values: [...rarest.ids.values, ...values],
  };
}

/**
 * The number of servers that fulfil all conditions and come after the position; at most `page.limit`.
 * Few of the indexes' entries and rows are read if many servers do.
 */
export async function countUpTo(
  database: Database,
  page: Page,
  steps: PageSteps = STEPS,
): Promise<number> {
  const { conditions, sort, start, limit } = page;
  const indexed = conditions.filter(isIndexed);
  const { rarest = indexed[0] } = indexed.length > 1
    ? await rarestOf(database, indexed, steps)
    : {};
  const position = start === undefined ? [] : [SERVER_ORDERS[sort].table];
  const { sql, values } = rarest === undefined
    ? byTables(database, page)
    : foundBy(database, page, rarest, position);
  const count = `select count(*) as count from (${sql} limit ?) f`;
  return Number((await database.rows(count, [...values, limit]))[0].count);
}

/** SQL of the ids of the servers that fulfil all conditions, of which none has an index of ids. */
function byTables(database: Database, page: Page): Sql {
  const { conditions, sort, start } = page;
  const read = tablesOf(conditions);
  const first = start === undefined ? read[0] ?? "s" : SERVER_ORDERS[sort].table;
  const joins = read.filter((table) => table !== first)
    .map((table) => joinOf(database, table, ID[first]));
  const { sql, values } = whereClause([...positionOf(database, page), ...conditions]);
  return {
    sql: `select ${ID[first]} as id from ${TABLES[first]} ${first} ${joins.join(" ")} ${sql}`,
    values,
  };
}

/** The conditions still to be checked for servers that the index of a condition found. */
function conditionsBeside({ conditions }: Page, indexed: Indexed): ServerCondition[] {
  return conditions.filter((one) => indexed.isApproximate || one !== indexed);
}

/** The tables of which conditions read columns. */
function tablesOf(conditions: readonly ServerCondition[]): TableAlias[] {
  return (["s", "t"] as const).filter((table) => conditions.some((one) => one.table === table));
}

/** The condition that the fewest servers fulfil; `undefined`: very many fulfil each of them. */
async function rarestOf(
  database: Database,
  conditions: readonly ServerCondition[],
  { few, many }: PageSteps,
): Promise<{ rarest?: Indexed; count: number }> {
  let rarest: Indexed | undefined;
  let fewest = many;
  const count = async (condition: Indexed, most: number) => {
    const { sql, values } = condition.ids;
    const counted = `select count(*) as count from (select m.id from (${sql}) m limit ${most}) f`;
    const number = Number((await database.rows(counted, values))[0].count);
    if (number < most) [rarest, fewest] = [condition, number];
  };
  const indexed = conditions.filter(isIndexed);
  const slow = indexed.find((one) => one.isSlow);
  for (const condition of indexed) {
    if (condition !== slow) await count(condition, fewest);
  }
  if (slow !== undefined) await count(slow, Math.min(fewest, few));
  return { rarest: rarest ?? slow, count: fewest };
}

function isIndexed(condition: ServerCondition): condition is Indexed {
  return condition.ids !== undefined;
}
