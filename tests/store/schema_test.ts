/** Covers src/store/schema/: the tables of both engines, and their description in docs/database.md. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import config from "../../deno.json" with { type: "json" };
import type { Database } from "../../src/store/database/database.ts";
import { openSqlite } from "../../src/store/database/sqlite.ts";
import { createTables, SCHEMA_VERSION } from "../../src/store/schema/create_tables.ts";
import { TABLE_COLUMNS } from "../../src/store/schema/table_columns.ts";
import { TABLE_STATEMENTS } from "../../src/store/schema/table_statements.ts";
import { all, onEngines } from "./databases.ts";

/** A column in the statement of a table. */
interface Column {
  readonly name: string;
  readonly type: string;
  readonly isNullable: boolean;
  readonly comment: string;
}

const read = (path: string) => Deno.readTextFile(new URL(`../../${path}`, import.meta.url));

/** The columns of each table in the statements for an engine. */
function tablesOf(engine: Database["engine"]): Map<string, Column[]> {
  const tables = new Map<string, Column[]>();
  for (const [, comment, table, body, keyed] of TABLE_STATEMENTS[engine].matchAll(TABLE)) {
    assert(comment.startsWith("-- "), `${engine}: ${table} has no comment`);
    const key = /primary key \((.*)\)/.exec(body + keyed)?.[1].split(", ") ?? [];
    const columns = [...body.matchAll(COLUMN)].filter(([, name]) => name !== "primary")
      .map(([, name, type, rest, meaning]) => ({
        name,
        type,
        isNullable: !/not null|primary key/.test(rest) && !key.includes(name),
        comment: meaning ?? "",
      }));
    tables.set(table, columns);
  }
  return tables;
}

const TABLE = /((?:^-- .*\n)*)^create table (\w+) \(\n([^]*?)^\)([^;]*);$/gm;
const COLUMN = /^ {2}(\w+) (double precision|\w+)(.*?)(?:-- (.*))?$/gm;

/** Types of SQLite for those of PostgreSQL. */
const TYPES: Readonly<Record<string, string>> = {
  "timestamptz": "integer",
  "boolean": "integer",
  "bigint": "integer",
  "integer": "integer",
  "jsonb": "text",
  "uuid": "text",
  "inet": "text",
  "text": "text",
  "bytea": "blob",
  "xid8": "integer",
  "double precision": "real",
};

Deno.test("both engines have the same tables and columns, each with a comment", () => {
  const [postgres, sqlite] = [tablesOf("postgres"), tablesOf("sqlite")];
  assertEquals([...sqlite.keys()], [...postgres.keys()]);
  assert(sqlite.size > 11, `${sqlite.size} tables`);
  for (const [table, columns] of postgres) {
    const expected = columns.map((column) => ({ ...column, type: TYPES[column.type] }));
    const found = sqlite.get(table)!.filter(({ name }) => name !== "address_sort");
    assertEquals(found, expected, table);
    for (const { name, comment } of columns) assert(comment !== "", `${table}.${name}`);
  }
});

/** A query for the names of tables. */
const STORED_TABLES = {
  sqlite: "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'",
  postgres: "select relname as name from pg_class where relkind = 'r' and " +
    "relnamespace = current_schema()::regnamespace",
};

/** A query for the columns of a table: names, types, and whether they can be null. */
const STORED_COLUMNS = {
  sqlite: `select name, lower(type) as type, not "notnull" as nullable, pk > 0 as keyed
    from pragma_table_xinfo(?) order by cid`,
  postgres: `select attname as name, case atttypid when 'timestamptz'::regtype then 'timestamptz'
      else atttypid::regtype::text end as type, not attnotnull as nullable, attnotnull as keyed
    from pg_attribute where attrelid = ?::regclass and attnum > 0 order by attnum`,
};

onEngines("a new database has the tables and columns of the statements", async (db) => {
  for (const [table, columns] of tablesOf(db.engine)) {
    const stored = await db.rows(STORED_COLUMNS[db.engine], [table]);
    assertEquals(
      stored.map(({ name, type, nullable, keyed }) => [name, type, nullable === 1 && keyed !== 1]),
      columns.map(({ name, type, isNullable }) => [name, type, isNullable]),
      table,
    );
  }
  const names = (await all(db, STORED_TABLES[db.engine])).map(({ name }) => String(name));
  assertEquals(names.toSorted(), [...tablesOf(db.engine).keys()].toSorted());
});

Deno.test("the tables of SQLite are strict, and those with a key of several columns have no rowid", async () => {
  await using database = openSqlite(":memory:");
  await createTables(database);
  const tables = await database.rows(
    "select name, strict, wr from pragma_table_list where type = 'table' and name not like 'sqlite_%'",
  );
  assertEquals(tables.filter(({ strict }) => strict !== 1), []);
  const withoutRowid = new Set(tables.filter(({ wr }) => wr === 1).map(({ name }) => name));
  const ofSeveral = TABLE_COLUMNS.filter(({ key }) => key.sqlite.length > 1);
  assert(ofSeveral.length > 5 && withoutRowid.size < tables.length);
  for (const { name } of ofSeveral) assert(withoutRowid.has(name), name);
});

Deno.test("documents and the statements name the version of the tables", async () => {
  const named = [
    `| \`version\`   | integer | ${SCHEMA_VERSION}; versions 1 to ${
      SCHEMA_VERSION - 1
    } had other tables`,
    `The tables have version ${SCHEMA_VERSION} (\`blocksweep_schema\`). Versions 1 to ` +
    `${SCHEMA_VERSION - 1} had other tables`,
  ];
  for (const text of named) assertStringIncludes(await read("docs/database.md"), text);
  const statements = await read("src/store/schema/tables.sql");
  assertStringIncludes(statements, `schema version ${SCHEMA_VERSION}.`);
  const versions = await read("docs/versions.md");
  assertStringIncludes(versions, `${config.version} has version ${SCHEMA_VERSION}.`);
  assertStringIncludes(
    versions,
    `its tables have version ${
      SCHEMA_VERSION + 1
    }, and this program uses version ${SCHEMA_VERSION};`,
  );
});

Deno.test("docs/database.md lists each table with its columns and types", async () => {
  const text = await read("docs/database.md");
  for (const [table, columns] of tablesOf("postgres")) {
    const section = text.split(`### ${table}\n`)[1]?.split("\n##")[0] ?? "";
    const rows = [...section.matchAll(/^\| `(\w+)` +\| ([a-z0-9 ]+?)(, or null)? +\|/gm)];
    assertEquals(
      rows.map(([, name, type, isNullable]) => [name, type, isNullable !== undefined]),
      columns.map(({ name, type, isNullable }) => [name, type, isNullable]),
      table,
    );
  }
});

Deno.test("docs/database.md lists the columns of the view for other programs, in both engines' order", async () => {
  const text = await read("docs/database.md");
  const section = text.split("## For other programs\n")[1].split("\n## ")[0];
  const listed = [...section.split(". Its columns")[0].matchAll(/`(\w+)`/g)].map(([, name]) =>
    name
  );
  for (const engine of ["postgres", "sqlite"] as const) {
    const [, columns] = /create view server_list as\nselect ([^]*?)\nfrom /.exec(
      TABLE_STATEMENTS[engine],
    )!;
    const names = columns.split(/,\s+/).map((column) => column.replace(/^[^]*[. ]/, ""));
    assertEquals(listed, ["server_list", ...names], engine);
  }
});

Deno.test("the queries of docs/database.md run", async () => {
  await using database = openSqlite(":memory:");
  await createTables(database);
  const section = (await read("docs/database.md")).split("## Queries\n")[1].split("\n## ")[0];
  const queries = [...section.matchAll(/```sql\n([^]*?)```/g)].flatMap(([, sql]) => sql.split(";"));
  const run = queries.map((sql) => sql.trim()).filter((sql) => sql !== "");
  assert(run.length >= 5);
  for (const sql of run) await database.rows(sql);
});
