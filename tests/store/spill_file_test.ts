/** Covers src/store/spill_file.ts: to which database the rows in a spill file belong. */
import { assertEquals, assertRejects } from "@std/assert";
import { systemClock } from "../../src/net/clock.ts";
import { foreignLineReader } from "../../src/sinks/foreign_files.ts";
import { type Database, StoreError, Unavailable } from "../../src/store/database/database.ts";
import { readDatabaseIdentity, spillHead } from "../../src/store/spill_file.ts";
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
): Promise<SpillingStore> {
  const pause = () => isAway() ? Promise.reject(new Unavailable("away")) : Promise.resolve();
  const store = new SpillingStore(new Store(database, pause), {
    path,
    identity: await readDatabaseIdentity(database),
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
