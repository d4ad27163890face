/** Covers src/store/copy/copy_progress.ts: which database an unfinished copy belongs to. */
import { assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../../src/core/errors.ts";
import { copyDatabase } from "../../../src/store/copy/copy_database.ts";
import { takeOver } from "../../../src/store/copy/copy_progress.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { createTables, createTablesForCopy } from "../../../src/store/schema/create_tables.ts";
import { readDatabaseIdentity } from "../../../src/store/spill_file.ts";
import { all, onEngines } from "../databases.ts";

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
    const [identity, begun] = [
      await readDatabaseIdentity(other),
      await readDatabaseIdentity(source),
    ];
    await assertRejects(
      () => copyDatabase(renamed(other, '"big.db"'), target, { report: () => {} }),
      InputError,
      `Cannot copy "big.db" (database ${identity}) into ${target.name}: it contains an unfinished ` +
        `copy of "big.db" (database ${begun}); name that database, or an empty target`,
    );
    assertEquals(await all(target, "select * from unfinished_copy"), before);
  },
);
