/**
 * Refuses SQLite files with views, triggers or virtual tables that this program did not make. A file of
 * a stranger may have a view in place of a table, and reading a view may never end. SQLite has no timeout.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import type { Database } from "../database/database.ts";
import { TABLE_COLUMNS, UNFINISHED_COPY } from "./table_columns.ts";
import { TABLE_STATEMENTS } from "./table_statements.ts";
import textIndex from "./text_index_sqlite.sql" with { type: "text" };

const CREATE = /^create ((?:view|trigger|virtual table) (\w+)[^]*?);\n(?=\n|$(?![^]))/gm;

/** The statements for views, triggers and virtual tables of this program, by name; without `create`. */
const OWN = new Map(
  [TABLE_STATEMENTS.sqlite, textIndex].flatMap((text) => [...text.matchAll(CREATE)])
    .map(([, statement, name]) => [name, statement.toLowerCase()]),
);

/** The names of tables. SQLite ignores the case of names. */
const TABLES: ReadonlySet<string> = new Set([
  UNFINISHED_COPY,
  ...TABLE_COLUMNS.map(({ name }) => name),
]);

/** The prefix of the tables in which SQLite keeps the text index. */
const TEXT_INDEX_PREFIX = "server_text_";

/**
 * The views, triggers and virtual tables of a file. Only the statement of a plain table begins with
 * `create table`. A file may have the statement of a virtual table in any spelling, with any root page.
 * SQLite refuses a file whose types or names differ from its statements.
 */
const LIST = `select name, iif(type = 'table', 'virtual table', type) as kind,
    lower(substr(sql, length('create ') + 1)) as statement
  from sqlite_master where type in ('view', 'trigger')
    or type = 'table' and sql not like 'create table %' order by name`;

/**
 * Checks the views, triggers and virtual tables of a SQLite file. Views with names of their own are
 * allowed, because no statement of this program reads them.
 *
 * @param table The only table to check. Default: all tables, and all triggers.
 * @throws InputError that names the file and the object.
 */
export async function refuseForeignObjects(database: Database, table?: string): Promise<void> {
  if (database.engine !== "sqlite") return;
  for (const { name, kind, statement } of await database.rows(LIST)) {
    const key = String(name).toLowerCase();
    const isRead = TABLES.has(key) || OWN.has(key) || key.startsWith(TEXT_INDEX_PREFIX) ||
      kind === "trigger";
    if (!isRead || OWN.get(key) === statement || (table ?? key) !== key) continue;
    throw new InputError(
      `Cannot use ${database.name}: blocksweep did not make the ${kind} "${name}" in it, ` +
        "and statements that use it might never end",
    );
  }
}
