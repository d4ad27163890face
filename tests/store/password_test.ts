/** Messages about passwords that PostgreSQL requires, and that a resumed scan needs again. */
import { assertEquals, assertRejects } from "@std/assert";
import { readCommandLine } from "../cli/command_line.ts";
import type { Continuable } from "../../src/cli/term/scan_continuation.ts";
import { endLines } from "../../src/cli/term/scan_summary.ts";
import { InputError } from "../../src/core/errors.ts";
import type { ScanEnd } from "../../src/scan/setup/scan_setup.ts";
import type { ScanState } from "../../src/scan/setup/scan_state.ts";
import { parseDatabaseLocation } from "../../src/store/database_location.ts";
import { openStore } from "../../src/store/open_store.ts";

/** Authentication requests: `R`, length, content. SASL with SCRAM-SHA-256, then its first message. */
const SASL = [82, 0, 0, 0, 23, 0, 0, 0, 10, ...new TextEncoder().encode("SCRAM-SHA-256"), 0, 0];
const CONTINUE = [82, 0, 0, 0, 8, 0, 0, 0, 11];

/** A server that requires a password for each connection. */
async function serve(listener: Deno.TcpListener) {
  for await (const connection of listener) {
    for (const message of [SASL, CONTINUE]) {
      if (await connection.read(new Uint8Array(1000)) === null) break;
      await connection.write(Uint8Array.from(message));
    }
    await connection.closeWrite();
    while (await connection.read(new Uint8Array(1000)).catch(() => null) !== null);
    connection.close();
  }
}

Deno.test("a missing password gives an error that names PGPASSWORD and the line for ~/.pgpass", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const serving = serve(listener);
  const location = parseDatabaseLocation(
    `postgres://ann@127.0.0.1:${listener.addr.port}/d?sslmode=disable`,
  )!;
  const { port } = listener.addr;
  const { message } = await assertRejects(
    () => openStore(location, { resolve: String, password: () => Promise.resolve(undefined) }),
    InputError,
  );
  // Equal without a password file, and with a file that has no line for this server.
  const line = `127.0.0.1:${port}:d:ann:PASSWORD`;
  assertEquals(
    message,
    `Cannot open ${location.path}: no password: set PGPASSWORD, or write ${line} into ~/.pgpass ` +
      "(PGPASSFILE)",
  );
  listener.close();
  await serving;
});

Deno.test("a resumed scan needs the password again when it was part of the URL", () => {
  const lines = (url: string) => {
    const job = {
      ...readCommandLine("scan", ["10.0.0.1"]),
      outputs: [],
      resumable: true,
      databases: { locations: [parseDatabaseLocation(url)!] },
    };
    return endLines(
      job as unknown as Continuable,
      {} as ScanState,
      { reason: "interrupted" } as ScanEnd,
      "a.checkpoint",
      0,
    ).slice(1);
  };
  assertEquals(lines("postgres://ann:secret@h/d"), [
    "the password of postgres://ann@h/d is not stored: give it in PGPASSWORD or ~/.pgpass",
  ]);
  assertEquals([lines("postgres://ann@h/d"), lines("a.db")], [[], []]);
});
