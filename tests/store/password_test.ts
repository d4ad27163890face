/** What is said where a server wants a password, and where one has to be given again. */
import { assertEquals, assertRejects } from "@std/assert";
import { readCommandLine } from "../../src/cli/options/read_options.ts";
import type { Continuable } from "../../src/cli/term/scan_continuation.ts";
import { endLines } from "../../src/cli/term/scan_summary.ts";
import { InputError } from "../../src/core/errors.ts";
import type { ScanEnd } from "../../src/scan/scan_options.ts";
import type { ScanState } from "../../src/scan/scan_state.ts";
import { openStore, parseDatabaseLocation } from "../../src/store/open_store.ts";

/** `R`, its length, and what is wanted: SASL by SCRAM-SHA-256, then the server's first message. */
const SASL = [82, 0, 0, 0, 23, 0, 0, 0, 10, ...new TextEncoder().encode("SCRAM-SHA-256"), 0, 0];
const CONTINUE = [82, 0, 0, 0, 8, 0, 0, 0, 11];

/** A server that wants a password of each connection. */
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

Deno.test("a server that wants a password where there is none is answered in plain words", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const serving = serve(listener);
  const place = parseDatabaseLocation(
    `postgres://ann@127.0.0.1:${listener.addr.port}/d?sslmode=disable`,
  )!;
  const { port } = listener.addr;
  const { message } = await assertRejects(
    () => openStore(place, { resolve: String, password: () => Promise.resolve(undefined) }),
    InputError,
  );
  // True where that file is missing, and where it has no line for this server.
  const line = `127.0.0.1:${port}:d:ann:PASSWORD`;
  assertEquals(
    message,
    `Cannot open ${place.path}: no password: set PGPASSWORD, or write ${line} into ~/.pgpass ` +
      "(PGPASSFILE)",
  );
  listener.close();
  await serving;
});

Deno.test("a password that stood in a URL has to be given again to continue with a scan", () => {
  const lines = (url: string) => {
    const job = {
      ...readCommandLine("scan", ["10.0.0.1"]),
      ...{ outputs: [], resumable: true, stores: { places: [parseDatabaseLocation(url)!] } },
    };
    return endLines(
      job as unknown as Continuable,
      {} as ScanState,
      { reason: "interrupted" } as ScanEnd,
      "a.checkpoint",
    ).slice(1);
  };
  assertEquals(lines("postgres://ann:secret@h/d"), [
    "the password of postgres://ann@h/d is not stored: give it in PGPASSWORD or ~/.pgpass",
  ]);
  assertEquals([lines("postgres://ann@h/d"), lines("a.db")], [[], []]);
});
