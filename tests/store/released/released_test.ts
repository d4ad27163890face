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
import {
  all,
  connect,
  onEngines,
  postgresTest,
  SERVER,
  storedServers,
  withPostgres,
} from "../databases.ts";
import { record } from "../records.ts";

/** The version of the tables of each release. */
const RELEASED = [21];

/** The content of a compressed file beside this one. */
async function open(name: string): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const { readable } = await Deno.open(new URL(`${name}.gz`, import.meta.url));
  return readable.pipeThrough(new DecompressionStream("gzip"));
}

const textIn = async (name: string) => await new Response(await open(name)).text();

/** Runs `work` with a database of a release. */
async function withReleased(
  version: number,
  engine: Database["engine"],
  work: (database: Database) => Promise<void>,
): Promise<void> {
  if (engine === "postgres") {
    return await withPostgres(SERVER!, async (url) => {
      await using database = await connect(url);
      await database.script(await textIn(`tables${version}.sql`));
      await work(database);
    });
  }
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
    const run = (engine: Database["engine"]) => () =>
      withReleased(version, engine, (database) => work(database, version));
    Deno.test(`SQLite: ${title}`, run("sqlite"));
    postgresTest(`PostgreSQL: ${title}`, run("postgres"));
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

/** A query for the definitions of tables, indexes and views. */
const DEFINITIONS = {
  // The text index and its triggers are made when a user wants them.
  sqlite: "select sql as text from sqlite_master where sql is not null and " +
    "tbl_name not like 'server_text%' and name not like 'server_text%'",
  postgres: `select c.relname || ' ' || coalesce(c.reloptions::text, '') || ' ' || case c.relkind
      when 'i' then pg_get_indexdef(c.oid)
      when 'v' then pg_get_viewdef(c.oid)
      else (select string_agg(concat_ws(' ', attname, atttypid::regtype, attnotnull, attcollation,
          attidentity, pg_get_expr(d.adbin, d.adrelid)), ', ' order by attnum)
        from pg_attribute left join pg_attrdef d on d.adrelid = attrelid and d.adnum = attnum
        where attrelid = c.oid and attnum > 0)
    end as text
    from pg_class c where c.relkind in ('r', 'i', 'v') and
      c.relnamespace = current_schema()::regnamespace`,
};

/** The definitions of tables, indexes and views. Comments may change without a new version. */
async function definitionsIn(database: Database): Promise<string[]> {
  const rows = await all(database, DEFINITIONS[database.engine]);
  return rows.map(({ text }) => String(text).replaceAll(/ *--.*/g, "").replaceAll(/\s+/g, " "))
    .sort();
}

onEngines("a change of the tables has a new version", async (database) => {
  assert(RELEASED.includes(SCHEMA_VERSION) || SCHEMA_VERSION > Math.max(...RELEASED));
  if (!RELEASED.includes(SCHEMA_VERSION)) return;
  const current = new Set(await definitionsIn(database));
  assert(current.size > 20);
  await withReleased(SCHEMA_VERSION, database.engine, async (released) => {
    const before = new Set(await definitionsIn(released));
    const [removed, added] = [[...before.difference(current)], [...current.difference(before)]];
    assertEquals({ removed, added }, { removed: [], added: [] }, "raise SCHEMA_VERSION");
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
