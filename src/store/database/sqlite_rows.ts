/**
 * Reads the rows of SQLite statements, and converts those of bulk statements.
 *
 * @module
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { BulkRows, BulkStatement, Row, Value } from "./database.ts";

/** A statement, with a method that the types of Deno 2.9.6 lack. */
type Statement = StatementSync & { readonly setReturnArrays: (isArray: boolean) => void };

/** Runs a statement, and returns its rows. */
export type RowReader = (parameters: readonly Value[]) => Row[];

/**
 * Prepares a statement that reads rows. The driver returns arrays, which are converted: its objects are
 * hash tables, and reading many of them takes almost twice the time (Deno 2.9.6).
 */
export function newRowReader(db: DatabaseSync, sql: string): RowReader {
  const statement = db.prepare(sql) as Statement;
  statement.setReturnArrays(true);
  const names = statement.columns().map(({ name }) => name);
  return (parameters) =>
    (statement.all(...parameters) as unknown as readonly Value[][]).map((values) => {
      const row: Record<string, Value> = {};
      for (let i = 0; i < names.length; i++) row[names[i]] = values[i];
      return row;
    });
}

/** A statement that reads integers of any size: all integers are of the type `bigint`. */
export function withLargeIntegers(db: DatabaseSync, sql: string): StatementSync {
  const statement = db.prepare(sql);
  statement.setReadBigInts(true);
  return statement;
}

/** A row with numbers in place of integers of the type `bigint`. Large ones are rounded. */
export function rounded(row: object): Row {
  return Object.fromEntries(
    Object.entries(row).map((
      [name, value],
    ) => [name, typeof value === "bigint" ? Number(value) : value]),
  );
}

/** Rows of a bulk statement as the driver binds them: bytes in place of hexadecimal text. */
export function boundRows({ types }: BulkStatement, rows: BulkRows): BulkRows {
  const columns = types.flatMap((type, i) => type === "bytea" ? [i] : []);
  if (columns.length === 0) return rows;
  return rows.map((row) => {
    const bound = [...row];
    for (const i of columns) {
      const value = row[i];
      if (typeof value === "string") bound[i] = Uint8Array.fromHex(value);
    }
    return bound;
  });
}
