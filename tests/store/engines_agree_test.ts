/** SQLite and PostgreSQL contain the same rows after the same events. */
import { assert, assertEquals } from "@std/assert";
import { formatAddress } from "../../src/core/address.ts";
import { canonicalHost } from "../../src/store/rows/addresses.ts";
import type { Database, Row } from "../../src/store/database/database.ts";
import { createTables, TABLE_NAMES } from "../../src/store/schema/create_tables.ts";
import { openSqlite } from "../../src/store/database/sqlite.ts";
import { connect, postgresTest, setClock } from "./databases.ts";
import { happen } from "./eventful_database.ts";

/** Columns that only one engine has, or whose values are random or the engine's own. */
const IN_ONE_ENGINE = new Set([
  "servers.address_sort",
  "events.tx",
  "events.seq",
  "events.id",
  "scans.heartbeat_at",
  "webhook_positions.tx",
]);

/** All rows of a table, each value in one form for both engines. */
async function contentOf(database: Database, table: string): Promise<Row[]> {
  const rows = await database.rows(`select * from ${table}`);
  const values = rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).filter(([name]) => !IN_ONE_ENGINE.has(`${table}.${name}`)).sort()
        .map(([name, value]) => [name, inOneForm(table, name, value)]),
    )
  );
  return values.sort((a, b) => JSON.stringify(a) < JSON.stringify(b) ? -1 : 1) as Row[];
}

const JSON_COLUMNS = new Set([
  "config",
  "members",
  "protocols",
  "plugins",
  "flags",
  "extras",
  "tags",
  "names",
  "players",
]);

function inOneForm(table: string, name: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return value.toHex();
  if (typeof value !== "string") return value;
  if (["address", "first", "last"].includes(name)) return canonicalHost(value);
  const isJson = JSON_COLUMNS.has(name) || table === "events" && name === "data";
  return isJson ? JSON.parse(value) : value;
}

Deno.test("every table has rows after the events of the test, and all JSON in them can be read", async () => {
  await using database = openSqlite(":memory:");
  await createTables(database);
  await happen(database);
  for (const table of [...TABLE_NAMES, "server_list"]) {
    const rows = await contentOf(database, table);
    assert(rows.length > 0, table);
  }
  for (const [column, table] of [["extras", "servers"], ["names", "server_players"]]) {
    const sql = `select count(*) as n from ${table}, json_tree(${column})`;
    assert(Number((await database.rows(sql))[0].n) > 0);
  }
});

postgresTest("SQLite and PostgreSQL contain the same rows after the same events", async (url) => {
  await using postgres = await connect(url);
  await using sqlite = openSqlite(":memory:");
  const now = Date.now();
  for (const database of [postgres, sqlite]) {
    setClock(database, now);
    await createTables(database);
    await happen(database);
  }
  for (const table of [...TABLE_NAMES, "server_list"]) {
    assertEquals(await contentOf(postgres, table), await contentOf(sqlite, table), table);
  }
  const paths = "select count(*) as n from servers, jsonb_path_query(extras, '$.**') as node";
  assert(Number((await postgres.rows(paths))[0].n) > 0);
});

postgresTest("PostgreSQL's forms of addresses are read in the canonical form", async (url) => {
  await using database = await connect(url);
  const groups = [0n, 1n, 0xffffn, 0x1020n];
  for (let i = 0; i < 4096; i++) {
    let address = 0n;
    for (let at = 0; at < 8; at++) address = address << 16n | groups[(i >> at * 1.5) & 3];
    const text = formatAddress(address);
    const [row] = await database.rows("select ?::inet as address", [text]);
    assertEquals(canonicalHost(String(row.address)), text);
  }
});
