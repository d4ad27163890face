/** Databases that a program opens by locations in the form of the command line. */
import { assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../src/core/errors.ts";
import { openDatabase, readDatabase, selectServers, Store } from "../../src/entry/store.ts";
import { record } from "../store/records.ts";

Deno.test("a program reads records back from the database that it wrote", async () => {
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

Deno.test("a text that names no database, and a missing database, are refused by name", async () => {
  await assertRejects(() => openDatabase("servers.csv"), InputError, 'Cannot use "servers.csv"');
  await assertRejects(() => readDatabase("/nonexistent/servers.db"), InputError, "/nonexistent");
});
