/**
 * Servers that a user wants to forget: how they are found, and what is removed from files.
 *
 * Covers src/app/databases/forget.ts, src/app/databases/forget_in_files.ts and
 * src/app/databases/find_server.ts.
 */
import { assertEquals, assertRejects } from "@std/assert";
import { findServersToForget, forgetServers } from "../../../src/app/databases/forget.ts";
import { forgetInFiles } from "../../../src/app/databases/forget_in_files.ts";
import { InputError } from "../../../src/core/errors.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import type { DatabaseLocation } from "../../../src/store/database_location.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { Store } from "../../../src/store/store.ts";
import { EventOutbox } from "../../../src/watch/webhook/event_outbox.ts";
import { record, scanId } from "../../store/records.ts";

const find = (database: ReturnType<typeof openSqlite>, ...names: string[]) =>
  findServersToForget(database, { names, optedOut: false });

Deno.test("a server is found by key, host or endpoint, with others of its endpoint", async () => {
  await using database = openSqlite(":memory:");
  await createTables(database);
  const store = new Store(database, () => Promise.resolve());
  await store.write([record(1), record(2), record(7, { host: "::1" })]);
  await store.write([record(1, { requested_as: "play.example.org" })]);
  const keys = async (...names: string[]) =>
    (await find(database, ...names)).map(({ key, observations }) => [key, observations]);
  const both = [["127.0.0.1:1", 1], ["play.example.org:1", 1]];
  assertEquals(await keys("play.example.org"), both);
  assertEquals(await keys("127.0.0.1:1", "PLAY.example.org:1"), both);
  assertEquals(await keys("::1", "127.0.0.9:5"), [["127.0.0.9:5", 0], ["[::1]:7", 1]]);
  assertEquals(await keys("127.0.0.1:9"), [["127.0.0.1:9", 0]]);
  for (
    const [name, message] of [
      ["127.0.0.1", "has this host only as 127.0.0.1:1, play.example.org:1, 127.0.0.1:2"],
      ["127.0.0.9", "name its port too to forget it nevertheless"],
      ["a b", "expected an address or a name"],
    ]
  ) await assertRejects(() => find(database, name), InputError, message);
});

const SPILL = `spill-${scanId(1)}.1.ndjson`;

/** A folder with a database, a spill file and an outbox. */
async function inFolder(
  work: (folder: string, location: DatabaseLocation) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/servers.db`;
  try {
    const rows = [
      record(1),
      record(2),
      record(1, { host: "127.0.0.2", requested_as: "b.example" }),
    ];
    const lines = rows.map((row) => `${JSON.stringify(row)}\n`);
    await Deno.writeTextFile(`${folder}/${SPILL}`, `${lines.join("")}null\n{"host":1}\ntorn {`);
    await Deno.writeTextFile(`${folder}/rows.ndjson`, lines.join(""));
    const outbox = await EventOutbox.open({ path: `${path}.webhook`, onWriteError: () => {} });
    for (const [i, { host, port, requested_as }] of rows.entries()) {
      const event = { id: scanId(i), event: "opted_out", at: 1, host, port, requested_as } as const;
      outbox.add({ ...event, scan_id: scanId(9), name: null });
    }
    await outbox.close();
    await work(folder, { path, file: path, format: { name: "sqlite" } });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a spill file and an outbox lose the lines of a server, and no others", async () => {
  await inFolder(async (folder, location) => {
    const keys = new Set(["127.0.0.1:1", "b.example:1"]);
    const files = [`${folder}/${SPILL}`, `${location.file}.webhook`];
    const search = { location, keys, outbox: undefined };
    const before = files.map((file) => Deno.readFileSync(file));
    const expected = files.map((path) => ({ path, lines: 2 }));
    const found = await forgetInFiles({ ...search, dryRun: true });
    assertEquals(found.map(({ path, lines }) => ({ path, lines })), expected);
    assertEquals(files.map((file) => Deno.readFileSync(file)), before);
    const removed = await forgetInFiles({ ...search, dryRun: false });
    assertEquals(removed.map(({ path, lines }) => ({ path, lines })), expected);
    assertEquals(
      await Deno.readTextFile(files[0]),
      `${JSON.stringify(record(2))}\nnull\n{"host":1}\ntorn {`,
    );
    const outbox = await EventOutbox.open({ path: files[1], onWriteError: () => {} });
    assertEquals([outbox.recovered, outbox.damaged, outbox.oldest(1)[0].id], [1, 0, scanId(1)]);
    await outbox.close();
    assertEquals(await forgetInFiles({ ...search, dryRun: false }), []);
    const names = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
    assertEquals(names, ["rows.ndjson", "servers.db.webhook", SPILL]);
  });
});

Deno.test("the outbox of a running watch is named, and is no failure: the watch removes events", async () => {
  await inFolder(async (_, location) => {
    await using database = openSqlite(":memory:");
    await createTables(database);
    const path = `${location.file}.webhook`;
    const outbox = await EventOutbox.open({ path, onWriteError: () => {} });
    const servers = await find(database, "127.0.0.1:2");
    const search = { location, outbox: path, dryRun: false };
    const [, used] = await forgetServers(database, servers, search);
    assertEquals(used, { path, lines: undefined });
    await outbox.close();
  });
});
