import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { InputError } from "../../../src/core/errors.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { DataError } from "../../../src/web/queries/dashboard_data.ts";
import { DatabaseAccess } from "../../../src/web/data/database_access.ts";
import { connect, postgresTest } from "../../store/databases.ts";
import { parsePostgres } from "../../../src/store/database/postgres_url.ts";

async function troubleOf(access: DatabaseAccess, sql = "select 1"): Promise<string> {
  const error = await assertRejects(() => access.read((database) => database.rows(sql)));
  assert(error instanceof DataError, String(error));
  return error.trouble;
}

Deno.test("a locked file is an error with its reason, and is read when the lock is released", async () => {
  const folder = await Deno.makeTempDir();
  const file = `${folder}/servers.db`;
  try {
    await using other = openSqlite(file);
    await createTables(other);
    await other.script("pragma journal_mode = delete"); // writers lock readers out then
    await other.script("begin exclusive");
    await using access = new DatabaseAccess({ name: "test", file });
    assertEquals(await troubleOf(access), "locked");
    await other.script("rollback");
    const read = () =>
      access.read((database) => database.rows("select count(*) as n from servers"));
    assertEquals(Number((await read())[0].n), 0);
    await other.script("begin exclusive");
    assertEquals(await troubleOf(access, "select * from servers"), "locked");
    await other.script("rollback");
    await read();
    const wrong = new InputError("a wrong question");
    await assertRejects(() => access.read(() => Promise.reject(wrong)), InputError, "a wrong");
    await assertRejects(
      () => access.read((database) => database.run("delete from servers")),
      Error,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("an error of a file that is no database, or of others, has no folder", async () => {
  const folder = await Deno.makeTempDir();
  const file = `${folder}/servers.db`;
  try {
    await using access = new DatabaseAccess({ name: "test", file });
    const messageOf = async () =>
      (await assertRejects(() => access.read(() => Promise.resolve()), DataError)).message;
    await Deno.writeTextFile(file, "no database ".repeat(1000));
    const unopened = await messageOf();
    assertStringIncludes(unopened, 'Cannot open "servers.db": ');
    await Deno.remove(file);
    await Deno.mkdir(file);
    const isFolder = await messageOf();
    await Deno.remove(file);
    {
      await using other = openSqlite(file);
      await createTables(other);
      await other.run("update blocksweep_schema set version = 9999");
    }
    const newer = await messageOf();
    for (const message of [unopened, isFolder, newer]) {
      assert(!message.includes(folder), message);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

postgresTest("PostgreSQL: a slow statement is cancelled, and the next one runs", async (url) => {
  {
    await using database = await connect(url);
    await createTables(database);
  }
  const postgres = parsePostgres(url);
  await using access = new DatabaseAccess({
    name: "test",
    postgres,
    password: postgres.password,
  });
  assertEquals(await troubleOf(access, "select pg_sleep(60)"), "slow");
  await access.read((database) => database.rows("select 1"));
});
