/**
 * The tables and their columns, read from the statements that make them.
 *
 * @module
 */
import type { ColumnType } from "../database/database.ts";
import { COLUMN, TABLE, TABLE_STATEMENTS } from "./table_statements.ts";

export interface TableColumn {
  readonly name: string;
  /** Its type in PostgreSQL. */
  readonly type: ColumnType | "xid8";
  /** Whether PostgreSQL generates its values, unless the statement overrides them. */
  readonly isIdentity: boolean;
  /** Whether it can be null. */
  readonly isNullable: boolean;
}

export interface TableColumns {
  readonly name: string;
  /** Its columns, without those that only SQLite has, and those that are computed from others. */
  readonly columns: readonly TableColumn[];
  /** The names of the columns of its primary key, in order, by engine. Empty: one row, without a key. */
  readonly key: { readonly [engine in "postgres" | "sqlite"]: readonly string[] };
}

/** The table that a database has while a copy into it is unfinished. */
export const UNFINISHED_COPY = "unfinished_copy";

/** The start of the expression of a column that the engine computes. */
const COMPUTED = "generated always as (";

/** The bodies of the statements that create tables, by table. */
function bodiesOf(sql: string): ReadonlyMap<string, string> {
  return new Map([...sql.matchAll(TABLE)].map(([, name, body]) => [name, body]));
}

function keyOf(body: string): readonly string[] {
  const listed = /^ {2}primary key \((.*)\)/m.exec(body)?.[1].split(", ");
  const [single] = [...body.matchAll(COLUMN)].filter(([, , , rest]) => /primary key/.test(rest));
  return listed ?? (single === undefined ? [] : [single[1]]);
}

/** All tables, in the order in which they are created: those that others refer to come first. */
export const TABLE_COLUMNS: readonly TableColumns[] = (() => {
  const bodies = bodiesOf(TABLE_STATEMENTS.sqlite);
  return [...bodiesOf(TABLE_STATEMENTS.postgres)].map(([name, body]) => ({
    name,
    columns: [...body.matchAll(COLUMN)].filter(([line]) => !line.includes(COMPUTED))
      .map(([, column, type, rest]) => ({
        name: column,
        type: type as TableColumn["type"],
        isIdentity: /generated always/.test(rest),
        isNullable: !/not null|primary key/.test(rest),
      })),
    key: { postgres: keyOf(body), sqlite: keyOf(bodies.get(name)!) },
  }));
})();
