/**
 * Covers src/web/data/open_dashboard_data.ts, src/web/data/database_access.ts,
 * src/web/data/threads/query_thread.ts, src/web/data/threads/server_index_thread.ts and
 * src/web/data/threads/answers.ts.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../../src/core/errors.ts";
import { parseDatabaseLocation } from "../../../src/store/database_location.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import {
  type DashboardData,
  DataError,
  type DataTrouble,
  type Facets,
} from "../../../src/web/queries/dashboard_data.ts";
import { openDashboardData } from "../../../src/web/data/open_dashboard_data.ts";
import { connect, postgresTest, SERVER } from "../../store/databases.ts";
import { fillGrouped } from "../../store/groups/grouped_servers.ts";
import { fillServers } from "../oracle.ts";

const ENVIRONMENT = {
  resolve: (path: string) => path,
  password: () => Promise.resolve(undefined),
};

const open = (location: string) =>
  openDashboardData(parseDatabaseLocation(location)!, ENVIRONMENT, (line) => {
    throw new Error(line);
  });

/** Makes a database with servers. */
async function make(file: string, servers = true): Promise<void> {
  await using database = openSqlite(file);
  await createTables(database);
  if (servers) await fillServers(database);
}

/** Asks until there is an answer: on a busy machine, answers may take too long. */
async function answered<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
    }
  }
}

/** Asks until the servers are counted, and there are enough of them. */
async function counted(data: DashboardData, least = 0): Promise<Facets> {
  for (;;) {
    const facets = await answered(() => data.facets({}));
    if (facets.servers >= least) return facets;
  }
}

async function troubleOf(data: DashboardData): Promise<DataTrouble> {
  const error = await assertRejects(() => data.servers({ filters: {}, sort: "new", limit: 3 }));
  assert(error instanceof DataError, String(error));
  return error.trouble;
}

Deno.test("threads read a SQLite file, and notice when it was removed or replaced", async () => {
  const folder = await Deno.makeTempDir();
  const file = `${folder}/servers.db`;
  try {
    await assertRejects(() => open(file), InputError, "no such file");
    await make(file);
    await using data = await open(file);
    const page = await data.servers({ filters: {}, sort: "new", limit: 3 });
    assertEquals([page.servers.length, page.next?.direction], [3, "after"]);
    const { servers } = await counted(data);
    assertEquals((await data.overview()).servers, servers);
    await assertRejects(
      () => data.servers({ filters: { network: ["x"] }, sort: "new", limit: 3 }),
      InputError,
    );
    const remove = async () => {
      for (const end of ["", "-wal", "-shm"]) {
        await Deno.remove(file + end).catch((error) =>
          assert(error instanceof Deno.errors.NotFound)
        );
      }
    };
    await remove();
    assertEquals(await troubleOf(data), "gone");
    await Deno.writeTextFile(file, "not a database");
    assertEquals(await troubleOf(data), "schema");
    await remove();
    await make(file, false);
    assertEquals((await data.servers({ filters: {}, sort: "new", limit: 3 })).servers, []);
    assertEquals((await counted(data)).servers, 0);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("threads group rows when the groups have been read", async () => {
  const folder = await Deno.makeTempDir();
  const file = `${folder}/servers.db`;
  try {
    await make(file, false);
    {
      await using database = openSqlite(file);
      await fillGrouped(database);
    }
    await using data = await open(file);
    const read = () => data.servers({ filters: {}, sort: "new", limit: 10, group: true });
    let page = await answered(read);
    while (Object.keys(page.others).length === 0) page = await answered(read);
    assertEquals(page.servers.length, 4);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a database of another version is an error", async () => {
  const folder = await Deno.makeTempDir();
  const file = `${folder}/servers.db`;
  try {
    await make(file);
    await using data = await open(file);
    const newer = `${folder}/newer.db`;
    await make(newer);
    {
      await using other = openSqlite(newer);
      await other.script("update blocksweep_schema set version = 4");
    }
    await Deno.rename(newer, file);
    assertEquals(await troubleOf(data), "schema");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a query that takes too long is an error, and the next question is answered", async () => {
  const folder = await Deno.makeTempDir();
  const file = `${folder}/servers.db`;
  try {
    await make(file);
    await using data = await open(file);
    await counted(data); // the threads have opened the file
    {
      await using database = openSqlite(file);
      const sql = "select sql from sqlite_master where name = 'recent_uptime'";
      const [{ sql: view }] = await database.rows(sql);
      await database.script(
        "drop view recent_uptime; create view recent_uptime as " +
          "with recursive n (i) as (select 1 union all select i + 1 from n where i < 30000000) " +
          "select max(i) as server, 1.0 as uptime_30d from n",
      );
      assertEquals(await troubleOf(data), "slow");
      await database.script(`drop view recent_uptime; ${view}`);
    }
    assertEquals((await answered(() => data.scans())).length, 1);
    const { servers } = await counted(data);
    assert(servers > 100);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

postgresTest(
  "PostgreSQL: threads read a database, and notice when it was dropped and made again",
  async (url) => {
    const name = new URL(url).pathname.slice(1);
    await using admin = await connect(`${SERVER}postgres`);
    const make = async () => {
      await using database = await connect(url);
      await createTables(database);
      await fillServers(database);
    };
    await make();
    await using data = await open(url);
    assert((await counted(data)).servers > 100);
    await admin.script(`drop database ${name} with (force)`);
    assertEquals(await troubleOf(data), "unreachable");
    await admin.script(`create database ${name}`);
    assertEquals(await troubleOf(data), "schema");
    await make();
    assertEquals((await data.servers({ filters: {}, sort: "new", limit: 3 })).servers.length, 3);
    await counted(data, 100);
  },
);
