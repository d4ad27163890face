/** Databases that a program opens as the command line names them. */
import { assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../src/core/errors.ts";
import { openDatabase, readDatabase, selectServers, Store } from "../../src/entry/store.ts";
import { record } from "../store/records.ts";

Deno.test("what a program writes into a database, it reads again by the same name", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/servers.db`;
    const written = record(7);
    {
      await using store = new Store(await openDatabase(path));
      await store.write([written]);
    }
    await using database = await readDatabase(`sqlite:${path}`);
    const rows = await Array.fromAsync(selectServers(database, { sort: "address" }));
    assertEquals(rows.map(({ host, port }) => [host, port]), [[written.host, 7]]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a program is told which name is no database, and which is not there", async () => {
  await assertRejects(() => openDatabase("servers.csv"), InputError, 'Cannot use "servers.csv"');
  await assertRejects(() => readDatabase("/nonexistent/servers.db"), InputError, "/nonexistent");
});
