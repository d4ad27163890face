/**
 * Covers src/store/database/database.ts, src/store/database/sqlite_rows.ts, src/store/open_store.ts and
 * src/store/schema/create_tables.ts.
 */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { InputError } from "../../../src/core/errors.ts";
import { StoreError, Unavailable } from "../../../src/store/database/database.ts";
import {
  checkVersion,
  createTables,
  SCHEMA_VERSION,
} from "../../../src/store/schema/create_tables.ts";
import { parseDatabaseLocation } from "../../../src/store/database_location.ts";
import { openStore, readStore } from "../../../src/store/open_store.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { Store } from "../../../src/store/store.ts";
import { all } from "../databases.ts";
import { record, scanId } from "../records.ts";
import { syncedBy } from "../synced.ts";

/** Runs `work` with a temporary folder. */
async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const AROUND = { resolve: (path: string) => path, password: () => Promise.resolve(undefined) };
const open = (path: string) => openStore(parseDatabaseLocation(`sqlite:${path}`)!, AROUND);
const read = (path: string) => readStore(parseDatabaseLocation(`sqlite:${path}`)!, AROUND);

Deno.test("paths and sqlite: URLs name a database, other texts do not", () => {
  const file = (text: string) => parseDatabaseLocation(text)?.file;
  assertEquals(["a.db", "b/c.SQLITE", "d.sqlite3"].map(file), ["a.db", "b/c.SQLITE", "d.sqlite3"]);
  assertEquals(file("sqlite:odd name.txt"), "odd name.txt");
  assertEquals(["a.csv", "-", "db", "sqlite:", "a.db.csv"].map(file), Array(5).fill(undefined));
});

Deno.test("a database is created, is complete on the disk, and can be read during writes", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/a.db`;
    await using database = await open(path);
    const store = new Store(database, () => Promise.resolve());
    await store.write([record(1)]);
    {
      await using other = await read(path);
      assertEquals(await all(other, "select key from servers"), [{ key: "127.0.0.1:1" }]);
      await assertRejects(() => other.script("delete from servers"), Error, "readonly");
    }
    await store.flush();
    await using again = await open(path);
    assertEquals((await all(again, "pragma integrity_check"))[0], { integrity_check: "ok" });
    assertEquals((await all(again, "pragma journal_mode"))[0], { journal_mode: "wal" });
  });
});

Deno.test("files that are not databases of blocksweep are refused and stay unchanged", async () => {
  await inFolder(async (folder) => {
    const text = `${"no database, but long enough to look at ".repeat(20)}`;
    await Deno.writeTextFile(`${folder}/text.db`, text);
    await assertRejects(
      () => open(`${folder}/text.db`),
      InputError,
      "it is not an SQLite database",
    );
    assertEquals(await Deno.readTextFile(`${folder}/text.db`), text);
    {
      await using other = openSqlite(`${folder}/other.db`);
      await other.script("create table songs (title text)");
    }
    const before = await Deno.readFile(`${folder}/other.db`);
    const error = await assertRejects(
      () => open(`${folder}/other.db`),
      InputError,
      "another program made it",
    );
    assertEquals(
      error.message,
      `Cannot use "${folder}/other.db": another program made it; it contains a table "songs"`,
    );
    assertEquals(await Deno.readFile(`${folder}/other.db`), before);
    await assertRejects(() => open(`${folder}/none/a.db`), InputError, "there is no such folder");
    await assertRejects(() => read(`${folder}/a.db`), InputError, "there is no such file");
    await assertRejects(() => open(folder), InputError, "it is a folder");
    await Deno.writeTextFile(`${folder}/empty.db`, "");
    await assertRejects(
      () => read(`${folder}/empty.db`),
      InputError,
      "it has no tables of blocksweep",
    );
    await (await open(`${folder}/empty.db`))[Symbol.asyncDispose]();
  });
});

Deno.test("a database of another schema version is refused with advice, and stays unchanged", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/a.db`;
    await using database = await open(path);
    await createTables(database); // once more: nothing to do
    for (const version of [0, 1, 2, 3, 4, 5, 6, 7, SCHEMA_VERSION + 1]) {
      await database.run("update blocksweep_schema set version = ?", [version]);
      for (const use of [open, read]) {
        const { message } = await assertRejects(() => use(path), InputError);
        assertEquals(
          message,
          `Cannot use "${path}": its tables have version ${version}, and this program uses version ` +
            `${SCHEMA_VERSION}; ` +
            (version > SCHEMA_VERSION
              ? "use a newer program"
              : "export its servers with the program that wrote it, and import them into a new database"),
        );
      }
    }
    await database.run("delete from blocksweep_schema");
    await assertRejects(() => createTables(database), InputError, "is empty");
    await assertRejects(() => checkVersion(database), InputError, "is empty");
  });
});

Deno.test("a locked database is refused after a wait", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/a.db`;
    await using database = await open(path);
    await database.transaction(async () => {
      await database.run("delete from servers");
      assertThrows(() => openSqlite(path), Unavailable, "another program is writing");
    });
    await openSqlite(path)[Symbol.asyncDispose]();
  });
});

/** Opens databases in a folder, and prints the reasons why that fails. */
const OPEN_ALL = `
  import { openSqlite } from "${import.meta.resolve("../../../src/store/database/sqlite.ts")}";
  const [folder] = Deno.args;
  for (const name of ["a.db", "new.db"]) {
    for (const readOnly of [false, true]) {
      try {
        openSqlite(folder + "/" + name, { readOnly });
      } catch ({ message }) {
        console.log(message.replace(folder + "/", ""));
      }
    }
  }`;

/** Runs a shell script in a mount namespace of its own. */
async function inMountNamespace(script: string, ...args: string[]): Promise<Deno.CommandOutput> {
  const words = ["-c", `exec unshare --user --map-root-user --mount sh -c "$@"`, "sh", script];
  return await new Deno.Command("sh", { args: [...words, "sh", ...args] }).output();
}

Deno.test({
  name:
    "a database on a read-only file system is refused with that reason (Linux with mount namespaces)",
  ignore: Deno.build.os !== "linux" || !(await inMountNamespace("true")).success,
  fn: () =>
    inFolder(async (folder) => {
      await (await open(`${folder}/a.db`))[Symbol.asyncDispose]();
      const mount = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"';
      const { stdout, stderr } = await inMountNamespace(
        `${mount} && exec deno eval "$2" "$1"`,
        folder,
        OPEN_ALL,
      );
      const place = "its folder or file system is not writable";
      const beside = `${place}, and SQLite needs a file beside it`;
      assertEquals(new TextDecoder().decode(stdout).split("\n").slice(0, -1), [
        `Cannot open "a.db": ${beside}`,
        `Cannot open "a.db": ${beside}; read a copy in another folder`,
        `Cannot open "new.db": it cannot be created: ${place}`,
        `Cannot open "new.db": there is no such file`,
      ], new TextDecoder().decode(stderr));
    }),
});

Deno.test("flushing syncs the write-ahead log while another connection reads", async () => {
  await inFolder(async (folder) => {
    await (await open(`${folder}/a.db`))[Symbol.asyncDispose]();
    await Deno.symlink(`${folder}/a.db`, `${folder}/link.db`);
    await using database = await open(`${folder}/link.db`);
    const store = new Store(database, () => Promise.resolve());
    await using other = await read(`${folder}/a.db`);
    await other.script("begin");
    await all(other, "select count(*) from servers");
    await store.write([record(1)]);
    const { ino } = await Deno.stat(`${folder}/a.db-wal`);
    assertEquals(await syncedBy(() => store.flush()), [ino]);
    await Deno.remove(`${folder}/a.db-wal`);
    await assertRejects(() => store.flush(), StoreError, `a.db-wal" was deleted`);
  });
});

Deno.test("the end of a scan is synced before it is reported", async () => {
  await inFolder(async (folder) => {
    await using database = await open(`${folder}/a.db`);
    await using other = await read(`${folder}/a.db`);
    const store = new Store(database, () => Promise.resolve());
    await store.begin({ id: scanId(1), at: 1, config: "{}" });
    const states: unknown[] = [];
    const end = () =>
      store.end({
        id: scanId(1),
        since: 1,
        at: 2,
        state: "finished",
        downAfter: 3,
        probesSent: 1,
        replies: 1,
        found: 1,
      });
    const { ino } = await Deno.stat(`${folder}/a.db-wal`);
    const synced = await syncedBy(end, async () => {
      states.push(...(await all(other, "select state from scans")).map(({ state }) => state));
    });
    assertEquals([synced, states], [[ino], ["finished"]]);
  });
});

Deno.test("a stream has each row once, whether its integers fit into a number or not", async () => {
  await using database = openSqlite(":memory:");
  await database.script("create table numbers (n)");
  const sql = "select n from numbers order by rowid";
  const read = async () => {
    const rows = await Array.fromAsync(database.stream(sql));
    assertEquals(await all(database, sql), rows);
    return rows.map(({ n }) => n);
  };
  assertEquals(await read(), []);
  await database.script("insert into numbers values (1), (2), (3)");
  assertEquals(await read(), [1, 2, 3]);
  // The first one fits into a number without loss, the second one does not.
  await database.script("insert into numbers values (4503599627370496), (9007199254740993), (6)");
  assertEquals(await read(), [1, 2, 3, 2 ** 52, 2 ** 53, 6]);
  await database.transaction(() => database.run("delete from numbers")); // the stream has ended
  assertEquals(await read(), []);
});

Deno.test("a stream and a snapshot read one state of the file while another program writes", async () => {
  await inFolder(async (folder) => {
    await using database = await open(`${folder}/a.db`);
    await using other = await open(`${folder}/a.db`);
    await database.script("create table numbers (n); insert into numbers values (1), (2)");
    const sql = "select n from numbers";
    const add = (n: number) => other.run("insert into numbers values (?)", [n]);
    const seen: unknown[] = [];
    for await (const { n } of database.stream(sql)) {
      seen.push(n);
      await add(7);
    }
    assertEquals(seen, [1, 2]);
    const read = async () => (await database.rows(sql)).length;
    assertEquals(await read(), 4);
    const counts = await database.snapshot(async () => {
      const before = await read();
      await add(8);
      return [
        before,
        await read(),
        (await Array.fromAsync(database.stream(sql))).length,
        await read(),
      ];
    });
    assertEquals(counts, [4, 4, 4, 4]);
    assertEquals(await read(), 5);
    await database.transaction(() => database.run("delete from numbers"));
  });
});

Deno.test("flushing needs no descriptor once a scan has begun", async () => {
  await inFolder(async (folder) => {
    await using database = await open(`${folder}/a.db`);
    const store = new Store(database, () => Promise.resolve());
    await store.begin({ id: scanId(1), at: 1, config: "{}" });
    await store.write([record(1)]);
    const { open: openFile } = Deno;
    Deno.open = () => Promise.reject(new Error("Too many open files"));
    try {
      assertEquals((await syncedBy(() => store.flush())).length, 1);
    } finally {
      Deno.open = openFile;
    }
  });
});

Deno.test("without permission for the write-ahead log, SQLite syncs each commit", async () => {
  await inFolder(async (folder) => {
    const { querySync } = Deno.permissions;
    Deno.permissions.querySync = () =>
      Object.assign(
        new EventTarget(),
        { state: "prompt", partial: false, onchange: null } as const,
      );
    try {
      await using database = await open(`${folder}/a.db`);
      assertEquals((await all(database, "pragma synchronous"))[0], { synchronous: 2 });
    } finally {
      Deno.permissions.querySync = querySync;
    }
    await using database = await open(`${folder}/a.db`);
    assertEquals((await all(database, "pragma synchronous"))[0], { synchronous: 1 });
  });
});

Deno.test("a file that is opened for reading is mapped into memory", async () => {
  await inFolder(async (folder) => {
    await using writer = await open(`${folder}/a.db`);
    assertEquals(await all(writer, "pragma mmap_size"), [{ mmap_size: 0 }]);
    await using reader = openSqlite(`${folder}/a.db`, { readOnly: true });
    const [{ mmap_size: bytes }] = await all(reader, "pragma mmap_size");
    assert(Number(bytes) > 2e9, `${bytes} bytes`);
    await using unmapped = openSqlite(`${folder}/a.db`, { readOnly: true, isMapped: false });
    assertEquals(await all(unmapped, "pragma mmap_size"), [{ mmap_size: 0 }]);
  });
});

Deno.test("a full disk ends the scan with an error, and committed rows stay", async () => {
  await using database = openSqlite(":memory:");
  await createTables(database);
  const store = new Store(database, () => Promise.resolve());
  await store.write([record(1)]);
  const pages = Number(((await all(database, "pragma page_count"))[0])!.page_count);
  await database.script(`pragma max_page_count = ${pages + 20}`);
  const rows = Array.from({ length: 5000 }, (_, i) => record(i + 2));
  const error = await assertRejects(() => store.write(rows), StoreError, "disk is full");
  assertEquals(error.cause instanceof Error, true);
  const [{ n }] = await all(database, "select count(*) as n from servers");
  const [{ m }] = await all(database, "select count(*) as m from observations");
  assertEquals([n, (Number(n) - 1) % 1000], [m, 0]); // whole transactions
  assertEquals((await all(database, "pragma integrity_check"))[0], { integrity_check: "ok" });
});
