/** Connections to PostgreSQL over a Unix socket. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../src/core/errors.ts";
import { parseDatabaseLocation } from "../../src/store/database_location.ts";
import { openStore } from "../../src/store/open_store.ts";
import { PASSWORD, startPostgres } from "./server.ts";

Deno.test("a URL may name the folder of a Unix socket", async () => {
  await using server = await startPostgres();
  const folder = encodeURIComponent(server.socketFolder);
  const open = async (port: number) =>
    await openStore(
      parseDatabaseLocation(`postgres://lists@${folder}:${port}/postgres?sslmode=require`)!,
      { resolve: String, password: () => Promise.resolve(PASSWORD) },
    );
  await using database = await open(server.port);
  const [row] = await database.rows("select inet_server_addr() as address");
  assertEquals(row.address, null);
  const { message } = await assertRejects(() => open(1), InputError);
  assert(message.includes("ENOENT"), message);
});
