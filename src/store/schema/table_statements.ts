/**
 * The statements that make the tables, by engine. They are made from one text, tables.sql.
 *
 * @module
 */
import type { ColumnType, Database } from "../database/database.ts";
import text from "./tables.sql" with { type: "text" };

/** The types of columns in SQLite, by their types in PostgreSQL, which tables.sql has. */
const SQLITE_TYPES: Readonly<Record<ColumnType | "xid8", string>> = {
  "bigint": "integer",
  "boolean": "integer",
  "bytea": "blob",
  "double precision": "real",
  "inet": "text",
  "integer": "integer",
  "jsonb": "text",
  "text": "text",
  "timestamptz": "integer",
  "uuid": "text",
  "xid8": "integer",
};

/** A statement that makes a table: its name, and the lines of its columns and of its key. */
export const TABLE = /^create table (\w+) \(\n([^]*?)^\)/gm;
/** The line of a column: its name, its type, the rest of its definition, and its comment. */
export const COLUMN = /^ {2}(?!primary key)(\w+) (double precision|\w+)(.*?)(?: *(--.*))?$/gm;
/** Number of characters before the comment of a column. */
const INDENT = 42;

/** The statements that make the tables, by engine. */
export const TABLE_STATEMENTS: Readonly<Record<Database["engine"], string>> = {
  postgres: linesFor("postgres").replaceAll("\n) without rowid;", "\n);"),
  sqlite: linesFor("sqlite")
    .replace(TABLE, (table) => table.replace(COLUMN, sqliteColumn))
    .replaceAll("\n);", "\n) strict;")
    .replaceAll("\n) without rowid;", "\n) strict, without rowid;"),
};

/** The lines for an engine, without their marks. */
function linesFor(engine: Database["engine"]): string {
  return text.replace(
    /^(postgres|sqlite): (.*\n)/gm,
    (_, marked, line) => marked === engine ? line : "",
  );
}

function sqliteColumn(
  _: string,
  name: string,
  type: keyof typeof SQLITE_TYPES,
  rest: string,
  comment = "",
): string {
  const options = rest.replace(/ collate "C"| generated always as identity/g, "");
  return `  ${name} ${SQLITE_TYPES[type]}${options} `.padEnd(INDENT) + comment;
}
