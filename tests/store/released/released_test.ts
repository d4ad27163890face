/**
 * Databases that releases wrote, in files that write_release.ts made: this program opens them, and changes
 * no row. Covers src/store/schema/create_tables.ts.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../../src/core/errors.ts";
import type { Database, Row } from "../../../src/store/database/database.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import {
  checkVersion,
  createTables,
  SCHEMA_VERSION,
  TABLE_NAMES,
} from "../../../src/store/schema/create_tables.ts";
import { Store } from "../../../src/store/store.ts";
import { all, connect, onSqlite, postgresTest, storedServers } from "../databases.ts";
import { record } from "../records.ts";

/** The version of the tables of each release. */
const RELEASED = [16];

/** The content of a compressed file beside this one. */
async function open(name: string): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const { readable } = await Deno.open(new URL(`${name}.gz`, import.meta.url));
  return readable.pipeThrough(new DecompressionStream("gzip"));
}

const textIn = async (name: string) => await new Response(await open(name)).text();

/** Runs `work` with a database of a release in SQLite. */
async function withReleased(version: number, work: (database: Database) => Promise<void>) {
  const path = await Deno.makeTempFile({ suffix: ".db" });
  try {
    await Deno.writeFile(path, await open(`tables${version}.db`));
    await using database = openSqlite(path);
    await work(database);
  } finally {
    await Deno.remove(path);
  }
}

/** Registers a test for each release and engine. */
function onReleased(name: string, work: (database: Database, version: number) => Promise<void>) {
  for (const version of RELEASED) {
    const title = `tables of version ${version}: ${name}`;
    Deno.test(`SQLite: ${title}`, () => withReleased(version, (db) => work(db, version)));
    postgresTest(`PostgreSQL: ${title}`, async (url) => {
      await using database = await connect(url);
      await database.script(await textIn(`tables${version}.sql`));
      await work(database, version);
    });
  }
}

/** All rows of all tables, each as text. */
async function rowsOf(database: Database): Promise<Record<string, string[]>> {
  const tables: Record<string, string[]> = {};
  for (const table of TABLE_NAMES) {
    const sql = database.engine === "postgres"
      ? `select t::text as row from ${table} t`
      : `select * from ${table}`;
    tables[table] = (await all(database, sql)).map(textOf).sort();
  }
  return tables;
}

const textOf = (row: Row) =>
  JSON.stringify(row, (_, value) => value instanceof Uint8Array ? value.toHex() : value);

onReleased("this program opens the database, and changes no row", async (database, version) => {
  const before = await rowsOf(database);
  for (const [table, rows] of Object.entries(before)) assert(rows.length > 0, table);
  await checkVersion(database);
  await createTables(database);
  assertEquals(await rowsOf(database), before);
  const listed = await textIn(`servers${version}.ndjson`);
  const servers = listed.trimEnd().split("\n").map((line) => JSON.parse(line));
  assertEquals(JSON.parse(JSON.stringify(await storedServers(database))), servers);
});

onReleased("the results of a scan are written to it", async (database) => {
  await createTables(database);
  const [before] = await all(database, "select count(*) as n from servers");
  const store = new Store(database, () => Promise.resolve());
  const later = 1_800_000_000_000;
  await store.write([record(7, { seen_at: later }), record(4321, { seen_at: later })]);
  const [after] = await all(database, "select count(*) as n from servers");
  assertEquals(Number(after.n), Number(before.n) + 1);
});

/** The statements that made the tables, indexes, views and triggers of a database of SQLite. */
async function statementsOf(database: Database): Promise<string[]> {
  // Triggers and the text index are made when a program first needs them.
  const rows = await all(
    database,
    "select sql from sqlite_master where sql is not null and tbl_name not like 'server_text%' " +
      "and name not like 'server_text%'",
  );
  // Comments of the tables may change without a new version.
  return rows.map(({ sql }) => String(sql).replaceAll(/ *--.*/g, "").replaceAll(/\s+/g, " "))
    .sort();
}

onSqlite("a change of the tables has a new version", async (database) => {
  assert(RELEASED.includes(SCHEMA_VERSION) || SCHEMA_VERSION > Math.max(...RELEASED));
  if (!RELEASED.includes(SCHEMA_VERSION)) return;
  const current = await statementsOf(database);
  await withReleased(SCHEMA_VERSION, async (released) => {
    assertEquals(await statementsOf(released), current, "raise SCHEMA_VERSION");
  });
});

onReleased("a database of a later program is refused, with a message", async (database) => {
  const later = SCHEMA_VERSION + 1;
  await database.script(`update blocksweep_schema set version = ${later}`);
  const before = await rowsOf(database);
  const expected = `its tables have version ${later}, and this program uses version ` +
    `${SCHEMA_VERSION}; use a newer program`;
  for (const use of [checkVersion, createTables]) {
    await assertRejects(() => use(database), InputError, expected);
  }
  assertEquals(await rowsOf(database), before);
});
