/** Connections to PostgreSQL over a Unix socket. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../src/core/errors.ts";
import { parseDatabaseLocation } from "../../src/store/database_location.ts";
import { openStore } from "../../src/store/open_store.ts";
import { PASSWORD, startPostgres } from "./server.ts";

Deno.test("a URL may name the folder of a Unix socket as its host, or in the parameter host", async () => {
  await using server = await startPostgres();
  const folder = server.socketFolder;
  const open = async (url: string) =>
    await openStore(
      parseDatabaseLocation(url)!,
      { resolve: String, password: () => Promise.resolve(PASSWORD) },
    );
  const asHost = (port: number) =>
    `postgres://lists@${encodeURIComponent(folder)}:${port}/postgres?sslmode=require`;
  const asParameter = `postgres:///postgres?host=${folder}&port=${server.port}&user=lists`;
  for (const url of [asHost(server.port), asParameter]) {
    await using database = await open(url);
    const [row] = await database.rows("select inet_server_addr() as address");
    assertEquals(row.address, null);
  }
  const { message } = await assertRejects(() => open(asHost(1)), InputError);
  assert(message.includes("ENOENT"), message);
});
