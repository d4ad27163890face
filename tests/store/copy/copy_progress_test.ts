/** Covers src/store/copy/copy_progress.ts: which database an unfinished copy belongs to. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../../src/core/errors.ts";
import { copyDatabase } from "../../../src/store/copy/copy_database.ts";
import { readSourceIdentity, takeOver } from "../../../src/store/copy/copy_progress.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { createTables, createTablesForCopy } from "../../../src/store/schema/create_tables.ts";
import { Store } from "../../../src/store/store.ts";
import { all, onEngines } from "../databases.ts";
import { record, scanId } from "../records.ts";
import { createOldTables, insert, oldServer } from "./old_database.ts";

/** A database that the user has named differently. */
function renamed(database: Database, name: string): Database {
  return new Proxy(database, {
    get(_, property) {
      if (property === "name") return name;
      const member = Reflect.get(database, property, database);
      return typeof member === "function" ? member.bind(database) : member;
    },
  });
}

/** An empty target of a copy into which a copy of `source` has begun. */
async function begunCopy(source: Database): Promise<Database> {
  const target = openSqlite(":memory:");
  await createTablesForCopy(target);
  await takeOver(target, source);
  return target;
}

onEngines("a copy continues from the same database by another path", async (source) => {
  await using target = await begunCopy(renamed(source, '"big.db"'));
  await takeOver(target, renamed(source, '"/tmp/big.db"'));
  assertEquals(await all(target, "select source from unfinished_copy"), [
    { source: '"/tmp/big.db"' },
  ]);
});

onEngines(
  "an unfinished copy of another database with the same path is not continued",
  async (source) => {
    await using target = await begunCopy(renamed(source, '"big.db"'));
    const before = await all(target, "select * from unfinished_copy");
    await using other = openSqlite(":memory:");
    await createTables(other);
    const [identity, begun] = [await readSourceIdentity(other), await readSourceIdentity(source)];
    await assertRejects(
      () => copyDatabase(renamed(other, '"big.db"'), target, { report: () => {} }),
      InputError,
      `Cannot copy "big.db" (database ${identity}) into ${target.name}: it contains an unfinished ` +
        `copy of "big.db" (database ${begun}); name that database, or an empty target`,
    );
    assertEquals(await all(target, "select * from unfinished_copy"), before);
  },
);

Deno.test("the identity of a database of version 1 to 3 stays when it grows", async () => {
  for (const version of [1, 2, 3]) {
    await using source = openSqlite(":memory:");
    await createOldTables(source, version);
    const scan = { kind: "sweep", state: "finished", shards: 1, config: "{}" };
    await insert(source, "servers", oldServer("127.0.0.1", 1));
    const found = await readSourceIdentity(source);
    await insert(source, "scans", { id: scanId(2), started_at: 2000, ...scan });
    const scanned = await readSourceIdentity(source);
    await insert(source, "scans", { id: scanId(1), started_at: 3000, ...scan });
    await insert(source, "servers", oldServer("127.0.0.2", 1, { first_seen: 10 }));
    assertEquals(await readSourceIdentity(source), scanned);
    await source.run("delete from scans", []);
    assert(scanned !== found && await readSourceIdentity(source) !== found);
  }
});

onEngines("a database of version 4 has the identity of its first scan", async (source) => {
  await new Store(source, () => Promise.resolve()).write([record(1)]);
  await source.script(
    "alter table blocksweep_schema drop column identity; drop table blocksweep_salt; update blocksweep_schema set version = 4",
  );
  const first = await readSourceIdentity(source);
  await source.script(`update scans set uuid = '${scanId(7)}'`);
  assert(await readSourceIdentity(source) !== first);
});
