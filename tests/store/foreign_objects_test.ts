/** Covers src/store/schema/foreign_objects.ts: files in which views take the place of tables. */
import { DatabaseSync } from "node:sqlite";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { openSqlite } from "../../src/store/database/sqlite.ts";
import { createTables, SCHEMA_VERSION } from "../../src/store/schema/create_tables.ts";
import { createTextIndex } from "../../src/store/schema/text_index.ts";
import { inFolder } from "../app/resume/stopped_programs.ts";
import { run } from "../cli/program.ts";
import { runHere } from "../cli/run_here.ts";

const ENDLESS = "with recursive n (i) as (select 1 union all select i + 1 from n)";

/** The command lines that open a database. */
const COMMANDS: readonly ((file: string, folder: string) => readonly string[])[] = [
  (file) => ["servers", file],
  (file) => ["history", file, "127.0.0.1"],
  (file) => ["scans", file],
  (file) => ["serve", file, "--port", "0"],
  (file, folder) => ["report", file, "-o", `${folder}/report.html`],
  (file) => ["export", file, "--format", "csv"],
  (file, folder) => ["import", file, `${folder}/rows.txt`],
  (file) => ["prune", file, "--observations", "90d"],
  (file, folder) => ["copy", file, `${folder}/copy.db`],
  (file) => ["forget", file, "127.0.0.1:1"],
  (file) => ["watch", file],
  (file) => ["watch", "127.0.0.1:1", "-o", file],
  (file) => ["scan", "127.0.0.1", "-p", "1", "-o", file],
  (file) => ["scan", "--rescan", file],
];

/** Makes a database with the tables of this program, and runs SQL in it, which may write any schema. */
async function make(path: string, ...sql: readonly string[]): Promise<void> {
  {
    await using database = openSqlite(path);
    await createTables(database);
    await createTextIndex(database);
  }
  const options: object = { defensive: false }; // the types do not have this option
  using database = new DatabaseSync(path, options);
  for (const one of sql) database.exec(one);
}

/** Puts a view without an end in place of a table. */
function falseTable(table: string, name: string = table): string {
  return `drop view server_list; drop view recent_uptime; drop table ${table}; ` +
    `create view ${name} as ${ENDLESS} select i as id, i as server, 'x' as host, i as at from n`;
}

Deno.test("every command refuses a SQLite file with a view in place of a table, and names both", () =>
  inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/rows.txt`, "127.0.0.1:1\n");
    const file = `${folder}/false.db`;
    await make(file, falseTable("servers"));
    for (const words of COMMANDS) {
      const args = words(file, folder);
      // A scan that is refused leaves its sockets to the end of the process.
      const { code, stdout, stderr } = await (args[0] === "scan" ? run : runHere)(args);
      assertEquals([code, stdout], [2, ""], `${args.join(" ")}: ${stderr}`);
      assertStringIncludes(
        stderr,
        `Cannot use "${file}": blocksweep did not make the view "servers" in it, `,
      );
    }
  }));

Deno.test("views and virtual tables with names of tables, and triggers, are refused in any spelling", () =>
  inFolder(async (folder) => {
    const cases: [sql: string, named: string][] = [
      [falseTable("server_state", "SERVER_STATE"), 'the view "SERVER_STATE"'],
      [
        "drop table events; create virtual table events using fts5 (at, kind)",
        'the virtual table "events"',
      ],
      [
        "drop view server_list; drop view recent_uptime; " +
        `create view recent_uptime as ${ENDLESS} select i as server, 1.0 as uptime_30d from n`,
        'the view "recent_uptime"',
      ],
      ["drop table server_text; create view server_text as select 1", 'the view "server_text"'],
      [
        "drop trigger server_text_delete; create trigger server_text_delete after insert on servers " +
        "begin delete from servers; end",
        'the trigger "server_text_delete"',
      ],
      [
        `create view n as ${ENDLESS} select i from n; create trigger slow after insert on servers ` +
        "begin delete from servers where id in (select i from n); end",
        'the trigger "slow"',
      ],
    ];
    const spelt = (spaces: string, more = "") =>
      "drop table events; create virtual table events using fts5 (at, kind); " +
      "pragma writable_schema = on; update sqlite_master set sql = " +
      `replace(sql, 'CREATE VIRTUAL', 'CREATE${spaces}VIRTUAL')${more} where name = 'events'`;
    cases.push(
      [spelt("  "), 'the virtual table "events"'],
      [spelt("/**/", ", rootpage = 2"), 'the virtual table "events"'],
      [
        "drop table server_text_config; create view server_text_config as select 1 as k, 2 as v",
        'the view "server_text_config"',
      ],
      ["create view unfinished_copy as select 1", 'the view "unfinished_copy"'],
    );
    for (const [i, [sql, named]] of cases.entries()) {
      const file = `${folder}/${i}.db`;
      await make(file, sql);
      const { code, stderr } = await runHere(["servers", file]);
      assertEquals(code, 2, stderr);
      assertStringIncludes(
        stderr,
        `Cannot use "${file}": blocksweep did not make ${named} in it, `,
      );
    }
  }));

Deno.test("a virtual table in place of the table of the version is refused before it is read", () =>
  inFolder(async (folder) => {
    const file = `${folder}/a.db`;
    {
      await using database = openSqlite(file);
      await database.script(
        "create view v as select 1 as rowid, 99 as version; " +
          "create virtual table blocksweep_schema using fts5 (version, content = 'v')",
      );
    }
    const { code, stderr } = await runHere(["servers", file]);
    assertEquals(code, 2);
    assertStringIncludes(
      stderr,
      `Cannot use "${file}": blocksweep did not make the virtual table "blocksweep_schema" in it, `,
    );
  }));

Deno.test("a database with a text index and views of its user is used", () =>
  inFolder(async (folder) => {
    const file = `${folder}/a.db`;
    await make(file, "create view busy as select key from server_list where players_online > 9");
    assertEquals((await runHere(["servers", file])).code, 0);
    assertEquals((await runHere(["copy", file, `${folder}/b.db`])).code, 0);
  }));

Deno.test("every command refuses a file of another version, also with a view in place of a table", () =>
  inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/rows.txt`, "127.0.0.1:1\n");
    for (const version of [1, SCHEMA_VERSION + 1]) {
      const file = `${folder}/${version}.db`;
      await make(file, falseTable("scans"), `update blocksweep_schema set version = ${version}`);
      for (const words of COMMANDS) {
        const args = words(file, folder);
        const { code, stdout, stderr } = await (args[0] === "scan" ? run : runHere)(args);
        assertEquals([code, stdout], [2, ""], `${args.join(" ")}: ${stderr}`);
        assertStringIncludes(stderr, `Cannot use "${file}": its tables have version ${version}, `);
      }
    }
  }));
