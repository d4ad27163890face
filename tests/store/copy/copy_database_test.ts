/** Covers src/store/copy/: copies of databases, between engines. */
import { assert, assertEquals, assertMatch, assertNotEquals, assertRejects } from "@std/assert";
import { InputError } from "../../../src/core/errors.ts";
import {
  copyDatabase,
  type CopyResult,
  isSameTable,
} from "../../../src/store/copy/copy_database.ts";
import { readProgress, takeOver } from "../../../src/store/copy/copy_progress.ts";
import { type Database, hexColumn, StoreError } from "../../../src/store/database/database.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { writeTombstones } from "../../../src/store/forget/forget_servers.ts";
import {
  checkVersion,
  createTables,
  createTablesForCopy,
  SCHEMA_VERSION,
  TABLE_NAMES,
} from "../../../src/store/schema/create_tables.ts";
import { readSalt } from "../../../src/store/forget/tombstones.ts";
import { readCollectorIdentity } from "../../../src/store/parts/campaign_scan.ts";
import { readDatabaseIdentity } from "../../../src/store/spill_file.ts";
import { Store } from "../../../src/store/store.ts";
import { longTest, type Register } from "../../long.ts";
import { all, connect, onEngines, postgresTest, storedServers } from "../databases.ts";
import { happen } from "../eventful_database.ts";
import { forgettable, record, scanId } from "../records.ts";

const quick = (database: Database) => new Store(database, () => Promise.resolve());
const quiet = { report: () => {} };

/** Copies into an empty database, and checks that all tables are equal. */
async function copied(source: Database, target: Database): Promise<CopyResult> {
  await createTablesForCopy(target);
  const result = await copyDatabase(source, target, quiet);
  assert(result.complete);
  assertEquals(result.tables.filter((table) => !isSameTable(table)), []);
  await checkVersion(target);
  return result;
}

/** Registers a test for each pair of engines with two empty databases: see `onSqlite()`. */
function onPairs(
  name: string,
  work: (source: Database, target: Database) => Promise<void>,
  register: Register = Deno.test,
): void {
  register(`SQLite to SQLite: ${name}`, async () => {
    await using source = openSqlite(":memory:");
    await using target = openSqlite(":memory:");
    await work(source, target);
  });
  for (const isSource of [true, false]) {
    postgresTest(
      `${isSource ? "PostgreSQL to SQLite" : "SQLite to PostgreSQL"}: ${name}`,
      async (url) => {
        await using postgres = await connect(url);
        await using sqlite = openSqlite(":memory:");
        await (isSource ? work(postgres, sqlite) : work(sqlite, postgres));
      },
    );
  }
}

onPairs("a copy there and back has the same rows in all tables", async (source, target) => {
  await createTables(source);
  await happen(source);
  await source.run("update servers set notes = ?", ["the owner's"]);
  const { tables } = await copied(source, target);
  const others = ["blocksweep_schema", "blocksweep_salt", "webhook_positions"];
  const copiedTables = TABLE_NAMES.filter((name) => !others.includes(name));
  assertEquals(tables.map(({ table }) => table), copiedTables);
  for (const { table, rows, leftOut } of tables) assert(rows > 0 && leftOut === 0, table);
  assertEquals(await storedServers(target), await storedServers(source));
  const owned = "select distinct notes from servers";
  assertEquals(await all(target, owned), [{ notes: "the owner's" }]);
  await using back = openSqlite(":memory:");
  const returned = await copied(target, back);
  const digests = (result: CopyResult) => result.tables.map(({ digest }) => digest);
  assertEquals(digests(returned), digests({ complete: true, tables }));
});

onPairs(
  "scans continue in a copy with the next numbers, and forgotten servers stay forgotten",
  async (source, target) => {
    await createTables(source);
    await quick(source).write([record(1), record(2)]);
    await writeTombstones(source, [forgettable(record(9))], 5);
    await copied(source, target);
    await quick(target).write([record(2, { seen_at: 9000 }), record(3), record(9)]);
    await quick(target).begin({ id: scanId(7), at: 1, config: "{}" });
    assertEquals(await all(target, "select id, key from servers order by id"), [
      { id: 1, key: "127.0.0.1:1" },
      { id: 2, key: "127.0.0.1:2" },
      { id: 3, key: "127.0.0.1:3" },
    ]);
  },
);

onPairs("icons and raw replies keep their bytes, whatever they are", async (source, target) => {
  await createTables(source);
  await quick(source).write([record(1)]);
  const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
  const files = [bytes, new Uint8Array(), new TextEncoder().encode("AA=="), new Uint8Array(70_000)];
  const time = source.engine === "postgres" ? "to_timestamp(0)" : "0";
  const data = source.engine === "postgres" ? "decode(?, 'hex')" : "unhex(?)";
  for (const [i, file] of files.entries()) {
    const [name, hex] = [`${i}`, file.toHex()];
    await source.run(`insert into favicons values (?, ${data}, ${time})`, [name, hex]);
    await source.run(`insert into replies values (1, ?, ${time}, 1, ${data})`, [name, hex]);
  }
  await copied(source, target);
  await using back = openSqlite(":memory:");
  await copied(target, back);
  const expected = files.map((file) => ({ data: file.toHex() }));
  for (const database of [target, back]) {
    const hex = `${hexColumn(database, "data")} as data`;
    assertEquals(await all(database, `select ${hex} from favicons order by hash`), expected);
    assertEquals(await all(database, `select ${hex} from replies order by protocol`), expected);
  }
});

onPairs(
  "a copy has the salt and the identity of its source, and collectors of its own",
  async (source, target) => {
    await createTables(source);
    const kept = async (database: Database) => [
      await readSalt(database),
      await readDatabaseIdentity(database),
    ];
    await copied(source, target);
    assertEquals(await kept(target), await kept(source));
    const [own, other] = [await readCollectorIdentity(target), await readCollectorIdentity(source)];
    assertNotEquals(own, other);
    for (const identity of [own, other]) assertMatch(identity, /^[0-9a-f]{16}$/);
  },
);

onPairs("a copy of another version is not continued", async (source, target) => {
  await createTables(source);
  await createTablesForCopy(target);
  for (const version of [6, SCHEMA_VERSION + 1]) {
    await target.run("update blocksweep_schema set version = ?", [version]);
    const sentence = `its tables have version ${version}, and this program uses`;
    await assertRejects(() => createTablesForCopy(target), InputError, sentence);
    await assertRejects(() => createTables(target), InputError, sentence);
  }
});

onPairs("a copy that ended early continues where it ended", async (source, target) => {
  await createTables(source);
  const servers = Array.from({ length: 5000 }, (_, i) => record(i + 1));
  await quick(source).write(servers);
  await createTablesForCopy(target);
  const controller = new AbortController();
  const limited = stoppingInServers(target, controller);
  const first = await copyDatabase(source, limited, { ...quiet, signal: controller.signal });
  assertEquals(first, { complete: false, tables: [] });
  await assertRejects(() => checkVersion(target), InputError, "a copy into it is unfinished");
  await assertRejects(() => createTables(target), InputError, "a copy into it is unfinished");
  const [{ n }] = await all(target, "select count(*) as n from servers");
  assert(Number(n) > 0 && Number(n) < 5000, String(n));
  const lines: string[] = [];
  await createTablesForCopy(target);
  const second = await copyDatabase(source, target, { report: (line) => lines.push(line) });
  assert(second.complete && second.tables.every(isSameTable));
  assertEquals(lines.length, 1, lines.join("\n"));
  assertEquals(second.tables.find(({ table }) => table === "observations")!.copied, 5000);
  await checkVersion(target);
});

onPairs(
  "a copy that is cancelled anywhere ends within a batch, and continues",
  async (source, target) => {
    await createTables(source);
    const servers = Array.from({ length: 2500 }, (_, i) => record(i + 1));
    await quick(source).write(servers);
    await createTablesForCopy(target);
    let [read, last] = [0, Infinity];
    let controller = new AbortController();
    const onRow = () => void (++read === last && controller.abort());
    const databases = [source, target].map((database) => countingRows(database, onRow));
    const lines: string[] = [];
    let kept = 0;
    // Each part reads more rows than the one before: first, it compares what the earlier ones have copied.
    for (let part = 1; part < 20; part++) {
      controller = new AbortController();
      [read, last] = [0, 1700 * part];
      const result = await copyDatabase(databases[0], databases[1], {
        report: (line) => lines.push(line),
        signal: controller.signal,
      });
      if (result.complete) {
        assert(part > 5 && result.tables.every(isSameTable), `${part} parts`);
        break;
      }
      assert(read < last + 2000, `${read - last} rows after the signal of part ${part}`);
      assertEquals(result.tables, []);
      const counts = await Promise.all(
        ["servers", "server_state", "observations"].map((table) =>
          all(target, `select count(*) as n from ${table}`)
        ),
      );
      const copied = counts.reduce((sum, [{ n }]) => sum + Number(n), 0);
      assert(copied >= kept, `part ${part}: ${copied} rows, after ${kept}`);
      kept = copied;
    }
    await checkVersion(target);
    assert(lines.every((line) => line.includes(": continuing the copy of ")), lines.join("\n"));
  },
  longTest,
);

onPairs(
  "numbers that are too large for a column are reported and count as empty",
  async (source, target) => {
    if (source.engine !== "sqlite") return; // no column of PostgreSQL has such numbers
    await createTables(source);
    await quick(source).write([1, 2, 3].map((port) => record(port, { protocol_version: 7 })));
    await source.script("update servers set protocol_version = 9223372036854775807 where port = 1");
    await source.script("update server_state set probed_at = 9223372036854775807 where server = 2");
    await source.script("update server_state set server = 9007199254740993 where server = 3");
    await createTablesForCopy(target);
    const broken: string[] = [];
    const { complete, tables } = await copyDatabase(source, target, {
      ...quiet,
      onBroken: ({ key, column }) => broken.push(`${column} of ${key}`),
    });
    assert(complete && tables.every(isSameTable));
    assertEquals(broken, [
      "servers.protocol_version of 127.0.0.1:1",
      "server_state.probed_at of 2",
      "server_state.server of 9007199254740992",
    ]);
    assertEquals(tables.find(({ table }) => table === "server_state")!.leftOut, 1);
    const rows = await all(target, "select protocol_version from servers order by id");
    assertEquals(rows.map((row) => row.protocol_version === null), [true, false, false]);
  },
);

onPairs(
  "a source that changed before the copy continues is copied again",
  async (source, target) => {
    await createTables(source);
    await quick(source).write(Array.from({ length: 5000 }, (_, i) => record(i + 1)));
    await createTablesForCopy(target);
    const controller = new AbortController();
    await copyDatabase(source, stoppingInServers(target, controller), {
      ...quiet,
      signal: controller.signal,
    });
    await quick(source).write([record(1, { seen_at: 9000, motd: "new" })]);
    const lines: string[] = [];
    const second = await copyDatabase(source, target, { report: (line) => lines.push(line) });
    assert(second.complete && second.tables.every(isSameTable));
    assert(lines[1].includes("has changed since the copy began"), lines.join("\n"));
    assertEquals((await storedServers(target))[0].motd, "new");
  },
);

onPairs("a copy ends when another program copies into its target", async (source, target) => {
  await createTables(source);
  await quick(source).write([record(1), record(2)]);
  await using empty = openSqlite(":memory:");
  const others: [Database, () => Promise<unknown>][] = [
    [target, () => takeOver(target, source)], // began
    [empty, () => empty.script("drop table unfinished_copy")], // finished
  ];
  for (const [copies, other] of others) {
    await createTablesForCopy(copies);
    let isRunning = false;
    const shared = afterTransactions(copies, async () => {
      if (isRunning || (await readProgress(copies)).table !== "servers") return;
      isRunning = true;
      await other();
    });
    const copy = copyDatabase(source, shared, quiet);
    await assertRejects(() => copy, StoreError, "another program copies into it");
    assertEquals(await all(copies, "select * from observations"), []);
  }
  assert((await copyDatabase(source, target, quiet)).tables.every(isSameTable));
});

onPairs("JSON that is too deep is reported, and counts as empty", async (source, target) => {
  await createTables(source);
  await quick(source).write([record(1), record(2)]);
  const deep = "[".repeat(5000) + "]".repeat(5000);
  await source.run("update servers set extras = ?, flags = ? where id = 1", [deep, deep]);
  if (source.engine === "sqlite") {
    await source.script("pragma ignore_check_constraints = 1");
    await source.run("update servers set plugins = 'x' where id = 2");
  }
  await createTablesForCopy(target);
  const broken: string[] = [];
  const { tables } = await copyDatabase(source, target, {
    ...quiet,
    onBroken: ({ key, column }) => broken.push(`${key} ${column}`),
  });
  assert(tables.every(isSameTable));
  const expected = ["127.0.0.1:1 servers.extras", "127.0.0.1:1 servers.flags"];
  if (source.engine === "sqlite") expected.push("127.0.0.1:2 servers.plugins");
  assertEquals(broken.toSorted(), expected);
  const empty = "select extras, cast(flags as text) as flags from servers where id = 1";
  assertEquals(await all(target, empty), [{ extras: null, flags: "[]" }]);
});

/** The target of a copy that is aborted after the first rows of servers. */
function stoppingInServers(target: Database, controller: AbortController): Database {
  return afterTransactions(target, async () => {
    if ((await readProgress(target)).table === "servers") controller.abort();
  });
}

/** A database that calls back for each row that is read as a part of a table. */
function countingRows(database: Database, onRow: () => void): Database {
  return new Proxy(database, {
    get(_, name) {
      const member = Reflect.get(database, name, database);
      if (typeof member !== "function") return member;
      if (name !== "stream") return member.bind(database);
      return async function* (...query: Parameters<Database["stream"]>) {
        for await (const row of database.stream(...query)) {
          onRow();
          yield row;
        }
      };
    },
  });
}

/** A database that calls back after each transaction. */
function afterTransactions(database: Database, then: () => Promise<void>): Database {
  return new Proxy(database, {
    get(_, name) {
      const member = Reflect.get(database, name, database);
      if (typeof member !== "function") return member;
      if (name !== "transaction") return member.bind(database);
      return async (work: () => Promise<unknown>) => {
        const result = await database.transaction(work);
        await then();
        return result;
      };
    },
  });
}

onEngines("rows that differ in the target are reported", async (source) => {
  await createTables(source);
  await quick(source).write([record(1)]);
  await using target = openSqlite(":memory:");
  await createTablesForCopy(target);
  await target.script(
    "create trigger spoil after insert on observations begin " +
      "update observations set players_online = 99; end",
  );
  const { complete, tables } = await copyDatabase(source, target, quiet);
  assertEquals(complete, true);
  assertEquals(tables.filter((table) => !isSameTable(table)).map(({ table }) => table), [
    "observations",
  ]);
  await assertRejects(() => checkVersion(target), InputError, "a copy into it is unfinished");
});

onEngines("a database with tables is refused as a target, whatever their version", async (db) => {
  for (const version of [0, 6, SCHEMA_VERSION, SCHEMA_VERSION + 1]) {
    await db.run("update blocksweep_schema set version = ?", [version]);
    await assertRejects(() => createTablesForCopy(db), InputError, "name an empty one");
  }
});

postgresTest(
  "the rows of a copy are those of one moment, while other programs write",
  async (url) => {
    await using source = await connect(url);
    await using other = await connect(url);
    await using target = openSqlite(":memory:");
    await createTables(source);
    await quick(source).write([record(1), record(2)]);
    await createTablesForCopy(target);
    const spying = afterTransactions(
      target,
      () => other.script("delete from observations; delete from server_state"),
    );
    const { tables } = await copyDatabase(source, spying, quiet);
    const rows = new Map(tables.map(({ table, copied }) => [table, copied]));
    assertEquals([rows.get("server_state"), rows.get("observations")], [2, 2]);
  },
);
