/** Covers src/store/spill_file.ts: to which database the rows in a spill file belong. */
import { assertEquals, assertRejects } from "@std/assert";
import { systemClock } from "../../src/net/clock.ts";
import { stored } from "../../src/app/targets/servers_in_files.ts";
import { foreignLineReader, type ImportedServer } from "../../src/sinks/foreign/foreign_files.ts";
import { type Database, StoreError, Unavailable } from "../../src/store/database/database.ts";
import { writeImportedRecords } from "../../src/store/writers/import_writer.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";
import { readDatabaseIdentity, spilledRecords, spillHead } from "../../src/store/spill_file.ts";
import { SpillingStore } from "../../src/store/spilling_store.ts";
import { Store } from "../../src/store/store.ts";
import { all, onEngines } from "./databases.ts";
import { record, scanId } from "./records.ts";

const BEGIN = { id: scanId(1), at: 0, config: "{}" };
const END = {
  ...{ id: scanId(1), since: 0, at: 5000, state: "finished", downAfter: 3 } as const,
  ...{ probesSent: 9, replies: 8, found: 7 },
};

/** Runs `work` with the path of a spill file. */
async function withSpill(work: (path: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await work(`${folder}/spill.ndjson`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** A scan's store. While `isAway` returns true, the database is unavailable for rows. */
async function open(
  database: Database,
  path: string,
  isAway = () => false,
  tags?: readonly string[],
): Promise<SpillingStore> {
  const pause = () => isAway() ? Promise.reject(new Unavailable("away")) : Promise.resolve();
  const store = new SpillingStore(new Store(database, pause), {
    path,
    identity: await readDatabaseIdentity(database),
    tags,
    maxBytes: 1e6,
    maxWaitMs: 0,
    clock: systemClock,
    report: () => {},
  });
  await store.begin(BEGIN);
  return store;
}

const ports = async (database: Database) =>
  (await all(database, "select port from servers order by port")).map(({ port }) => port);

onEngines(
  "a database that has replaced another one refuses the rows that wait for that one",
  (db) =>
    withSpill(async (path) => {
      const store = await open(db, path, () => true);
      await store.write([record(1)]);
      const owner = await readDatabaseIdentity(db);
      const own = await Deno.readTextFile(path);
      assertEquals(own.split("\n")[0], `# rows for the database ${owner}`);
      // The identity is random: another database has another one.
      await db.run("update blocksweep_schema set identity = '00000000000000ff'");
      const refused = `the rows in "${path}" wait for another database`;
      const later = await open(db, path);
      for (
        const work of [
          () => later.serversWithoutRow(scanId(1), []),
          () => later.write([record(2)]),
          () => later.end(END),
        ]
      ) {
        await assertRejects(work, StoreError, refused);
      }
      assertEquals([await ports(db), await Deno.readTextFile(path)], [[], own]);
      await Deno.writeTextFile(path, own.replace(owner, await readDatabaseIdentity(db)));
      const right = await open(db, path);
      assertEquals([await right.end(END), await ports(db)], [0, [1]]);
    }),
);

Deno.test("an import ignores the first line of a spill file", () => {
  const read = foreignLineReader({ seenAt: 0 });
  assertEquals(read(spillHead("0123456789abcdef").trimEnd()), []);
});

onEngines("an import of a spill file adds the tags of its scan", (db) =>
  withSpill(async (path) => {
    const store = await open(db, path, () => true, ["may", 'a "b"']);
    await store.write([record(1), record(2)]);
    const read = foreignLineReader({ seenAt: 0 });
    const lines = (await Deno.readTextFile(path)).trimEnd().split("\n");
    const servers = lines.flatMap((line) => read(line) as ImportedServer[]);
    await writeImportedRecords(db, servers.map((one) => stored(one, 5000)), PROTOCOLS);
    const tagged = "select g.tag, s.port from server_tags g join servers s on s.id = g.server " +
      "order by s.port, g.tag";
    assertEquals(
      await all(db, tagged),
      [1, 2].flatMap((port) => ['a "b"', "may"].map((tag) => ({ tag, port }))),
    );
    const [kept] = await Array.fromAsync(spilledRecords(path));
    assertEquals(Object.keys(kept), Object.keys(record(1))); // tags are not columns
  }));

onEngines(
  "a spill file without rows is removed, and one with a damaged head is replayed",
  (db) =>
    withSpill(async (path) => {
      await Deno.writeTextFile(path, `${spillHead(await readDatabaseIdentity(db))}{"torn`);
      assertEquals((await open(db, path)).waiting, 0);
      await assertRejects(() => Deno.stat(path), Deno.errors.NotFound);
      await Deno.writeTextFile(path, `# \0\0\n${JSON.stringify(record(7))}\n`);
      const store = await open(db, path);
      assertEquals([store.waiting, await store.end(END), await ports(db)], [1, 0, [7]]);
    }),
);
