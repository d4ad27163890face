/**
 * Conditions of queries for servers, and the indexes that find the servers of a condition. The filters of
 * servers (`filters.ts`) consist of them.
 *
 * @module
 */
import { type Database, isInList, listValue, type Sql, type Value } from "../database/database.ts";
import { storable } from "../rows/stored_values.ts";
import { indexedText } from "../schema/text_index.ts";
import type { TableAlias, UsualOrder } from "./orders.ts";

/** A condition of servers `s` and their states `t`. */
export interface ServerCondition extends Sql {
  /** The only table of which the condition reads columns. */
  readonly table: TableAlias;
  /** A query for the ids of the servers that fulfil it, by an index; `undefined`: there is none. */
  readonly ids?: Sql;
  /** Whether {@linkcode ids} may also find servers that do not fulfil the condition. Default: no. */
  readonly isApproximate?: boolean;
  /** Whether {@linkcode ids} takes much longer per server than another index. Default: no. */
  readonly isSlow?: boolean;
  /** Whether the index is one of the table `servers` itself. */
  readonly isOwn?: boolean;
  /** The sort order in which the index finds the servers. */
  readonly order?: UsualOrder;
  /**
   * A sort order of which the index finds the servers in each of some ranges, and the conditions of these
   * ranges, in ascending order.
   */
  readonly ranges?: { readonly order: UsualOrder; readonly conditions: readonly ServerCondition[] };
}

/** A condition whose servers an index finds. */
export type Indexed = ServerCondition & { readonly ids: Sql };

/** A condition of indexed columns of `servers`. */
export function ofServer(
  sql: (prefix: "s." | "") => string,
  values: readonly Value[],
): ServerCondition {
  const ids = { sql: `select id from servers where ${sql("")}`, values };
  return { table: "s", sql: sql("s."), values, ids, isOwn: true };
}

/** The condition that one of several conditions is fulfilled. */
export function anyOf(conditions: readonly Sql[]): Sql {
  return {
    sql: conditions.length === 0 ? "false" : `(${conditions.map(({ sql }) => sql).join(" or ")})`,
    values: conditions.flatMap(({ values }) => values),
  };
}

/** The condition that a column of keys has one of some values. */
export function hasKey(
  database: Database,
  column: string,
  keys: readonly string[],
): ServerCondition {
  const values = [listValue(database, keys)];
  return ofServer((s) => isInList(database, `${s}${column}`, "text"), values);
}

/**
 * The distinct values of an indexed column.
 *
 * @param condition A condition of the value `name`. Default: all values.
 */
export async function distinctValues(
  database: Database,
  column: "software_key" | "kind_key" | "version_key",
  condition: Sql = { sql: "name is not null", values: [] },
): Promise<string[]> {
  // A loose index scan: one index lookup per distinct key, independent of the number of servers.
  const sql = `with recursive keys (name) as (select min(${column}) from servers union all ` +
    `select (select min(${column}) from servers where ${column} > keys.name) from keys ` +
    `where keys.name is not null) select name from keys where ${condition.sql}`;
  return (await database.rows(sql, condition.values)).map(({ name }) => String(name));
}

/**
 * The condition that an indexed column of `servers` is in one of some ranges that do not overlap.
 *
 * @param isIn The condition of a range.
 * @param ranges The values of its parameters, for each range.
 */
export function ofRanges(
  isIn: (prefix: "s." | "") => string,
  ranges: readonly Value[][],
): ServerCondition {
  const values = ranges.flat();
  if (ranges.length === 1) return ofServer(isIn, values);
  const sql = `(${ranges.map(() => `(${isIn("s.")})`).join(" or ") || "false"})`;
  const parts = ranges.map(() => `select id from servers where ${isIn("")}`).join(" union all ");
  const ids = parts === "" ? {} : { ids: { sql: parts, values } };
  return { table: "s", sql, values, isOwn: true, ...ids };
}

/** The columns that texts are searched in. */
export const SEARCHED = ["name", "motd_plain", "map", "software"] as const;

/**
 * PostgreSQL reads the rows that its index finds. SQLite intersects the servers of all trigrams of a text,
 * and ignores the case of letters by other rules than the condition, so it may find further servers.
 */
const TEXT_INDEX: Readonly<Record<Database["engine"], Partial<ServerCondition>>> = {
  postgres: { isSlow: true, isOwn: true },
  sqlite: { isApproximate: true, isSlow: true },
};

/** The condition that a text is a part of one of {@linkcode SEARCHED}, in any case. */
export async function hasText(
  database: Database,
  text: string,
): Promise<ServerCondition> {
  const { engine } = database;
  const contains = (s: string) =>
    `(${SEARCHED.map((column) => like(`${s}${column}`, engine, text)).join(" or ")})`;
  const values = SEARCHED.map(() => `%${pattern(text)}%`);
  const ids = await indexedText(database, foldCase(text), contains(""), values);
  return {
    table: "s",
    sql: contains("s."),
    values,
    ...ids !== undefined && { ids, ...TEXT_INDEX[engine] },
  };
}

/**
 * A case-insensitive `like` condition. SQLite's `like` ignores the case of ASCII letters by itself. İ and the
 * Kelvin sign are the only other letters whose lower case contains ASCII letters. In PostgreSQL, ICU converts
 * letters as JavaScript does, whatever `lc_ctype` the database has.
 */
function like(column: string, engine: Database["engine"], text: string): string {
  const isAscii = /^[ -~]*$/.test(text);
  const folded = engine === "postgres"
    ? `lower(${column} collate "und-x-icu")`
    : isAscii
    ? /[ik]/i.test(text) ? `replace(replace(${column}, 'İ', 'i\u0307'), '\u212a', 'k')` : column
    : `unicode_lower(${column})`;
  return `${folded} like ? escape '\\'`;
}

/** Text in lower case as a `like` pattern, with wildcards escaped. */
export function pattern(text: string): string {
  return foldCase(text).replace(/[\\%_]/g, "\\$&");
}

/** A text in lower case, as databases compare it. */
export function foldCase(text: string): string {
  return storable(text).toLowerCase();
}
