/** Connections to PostgreSQL that fail. */
import { assert, assertRejects } from "@std/assert";
import { InputError } from "../../src/core/errors.ts";
import { systemClock } from "../../src/net/clock.ts";
import { parseDatabaseLocation } from "../../src/store/database_location.ts";
import { openStore } from "../../src/store/open_store.ts";

/** An ErrorResponse: the database does not exist. */
const REFUSAL = (() => {
  const fields = new TextEncoder().encode("SFATAL\0C3D000\0Mno such database\0\0");
  const message = new Uint8Array(5 + fields.length);
  message[0] = "E".charCodeAt(0);
  new DataView(message.buffer).setUint32(1, 4 + fields.length);
  message.set(fields, 5);
  return message;
})();

/** Refuses one connection, and reads until its peer closes it. */
async function refuse(listener: Deno.TcpListener): Promise<void> {
  using connection = await listener.accept();
  await connection.read(new Uint8Array(1000));
  await connection.write(REFUSAL);
  while ((await connection.read(new Uint8Array(1000)).catch(() => null)) !== null);
}

Deno.test("a connection that a server refuses, and does not close, is closed", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  let isClosed = false;
  const refusing = refuse(listener).then(() => isClosed = true);
  const location = parseDatabaseLocation(`postgres://ann@127.0.0.1:${port}/none?sslmode=disable`)!;
  await assertRejects(
    () => openStore(location, { resolve: String, password: () => Promise.resolve("secret") }),
    InputError,
    `Cannot open ${location.path}: no such database`,
  );
  for (let looks = 0; looks < 1000 && !isClosed; looks++) await systemClock.pollSockets();
  assert(isClosed, "it is still open");
  await refusing;
});
