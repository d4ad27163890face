/** Covers src/store/schema/: both files of tables, and their description in docs/database.md. */
import { assert, assertEquals } from "@std/assert";
import { openSqlite } from "../../src/store/database/sqlite.ts";
import { createTables } from "../../src/store/schema/create_tables.ts";

/** A column in a file of tables. */
interface Column {
  readonly name: string;
  readonly type: string;
  readonly isNullable: boolean;
  readonly comment: string;
}

const read = (path: string) => Deno.readTextFile(new URL(`../../${path}`, import.meta.url));

/** The columns of each table in a file. */
async function tablesOf(engine: string): Promise<Map<string, Column[]>> {
  const text = await read(`src/store/schema/${engine}.sql`);
  const tables = new Map<string, Column[]>();
  for (const [, comment, table, body, keyed] of text.matchAll(TABLE)) {
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

Deno.test("both engines have the same tables and columns, each with a comment", async () => {
  const [postgres, sqlite] = [await tablesOf("postgres"), await tablesOf("sqlite")];
  assertEquals([...sqlite.keys()], [...postgres.keys()]);
  assert(sqlite.size > 11, `${sqlite.size} tables`);
  for (const [table, columns] of postgres) {
    const expected = columns.map((column) => ({ ...column, type: TYPES[column.type] }));
    const found = sqlite.get(table)!.filter(({ name }) => name !== "address_sort");
    assertEquals(found, expected, table);
    for (const { name, comment } of columns) assert(comment !== "", `${table}.${name}`);
  }
});

Deno.test("docs/database.md lists each table with its columns and types", async () => {
  const text = await read("docs/database.md");
  for (const [table, columns] of await tablesOf("postgres")) {
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
  for (const engine of ["postgres", "sqlite"]) {
    const [, columns] = /create view server_list as\nselect ([^]*?)\nfrom /.exec(
      await read(`src/store/schema/${engine}.sql`),
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
