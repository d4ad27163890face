/**
 * Covers src/store/spilling_store.ts and src/store/open_store.ts, with a SQLite database that a second
 * connection has locked, and with a fake clock.
 */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { InputError } from "../../src/core/errors.ts";
import { type Clock, systemClock } from "../../src/net/clock.ts";
import {
  ATTACHMENTS,
  type Attachments,
  type RecordWithAttachments,
  type ServerRecord,
} from "../../src/core/record.ts";
import { type Database, StoreError } from "../../src/store/database/database.ts";
import { parseDatabaseLocation } from "../../src/store/database_location.ts";
import { openStore } from "../../src/store/open_store.ts";
import { readDatabaseIdentity, spilledRecords } from "../../src/store/spill_file.ts";
import { SpillingStore } from "../../src/store/spilling_store.ts";
import { type ScanEndRow, Store, withDatabaseErrors } from "../../src/store/store.ts";
import { writeImportedRecords } from "../../src/store/writers/import_writer.ts";
import { all } from "./databases.ts";
import { record, scanId } from "./records.ts";
import { syncedBy } from "./synced.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

const AROUND = { resolve: (path: string) => path, password: () => Promise.resolve(undefined) };
const END: ScanEndRow = {
  id: scanId(1),
  since: 0,
  at: 5000,
  state: "finished",
  isComplete: true,
  downAfter: 3,
  probesSent: 9,
  replies: 8,
  found: 7,
};
const BEGIN = { id: scanId(1), at: 0, config: "{}" };

/** A clock that advances at once for each wait; `onWait` receives the time. */
class FakeClock implements Clock {
  time = 0;
  onWait: (time: number) => void = () => {};
  readonly yieldToEvents = systemClock.yieldToEvents;
  readonly pollSockets = systemClock.pollSockets;
  now = () => this.time;
  wall = () => this.time;
  after(ms: number, callback: () => void): () => void {
    let cancelled = false;
    queueMicrotask(() => {
      if (cancelled) return;
      this.time += ms;
      this.onWait(this.time);
      callback();
    });
    return () => cancelled = true;
  }
}

/** A database, a second connection to it, and a store that spills. */
class Bench implements AsyncDisposable {
  readonly reported: string[] = [];
  readonly spill: string;

  private constructor(
    readonly path: string,
    readonly folder: string,
    readonly database: Database,
    readonly other: DatabaseSync,
    readonly clock: FakeClock,
    readonly identity: string,
  ) {
    this.spill = `${folder}/spill.ndjson`;
  }

  static async open(): Promise<Bench> {
    const folder = await Deno.makeTempDir();
    const path = `${folder}/a.db`;
    const clock = new FakeClock();
    const database = await openStore(parseDatabaseLocation(path)!, AROUND, { busyMs: 250, clock });
    const identity = await readDatabaseIdentity(database);
    return new Bench(path, folder, database, new DatabaseSync(path), clock, identity);
  }

  store(most = 1e6, signal?: AbortSignal): SpillingStore {
    return new SpillingStore(new Store(this.database, () => Promise.resolve()), {
      path: this.spill,
      identity: this.identity,
      maxBytes: most,
      maxWaitMs: 30_000,
      clock: this.clock,
      signal,
      report: (line) => this.reported.push(line),
    });
  }

  /** Number of rows in the spill file. */
  async spilled(): Promise<number> {
    return (await Array.fromAsync(spilledRecords(this.spill))).length;
  }

  /** The ports of the servers; checks that each server has one observation. */
  async ports(): Promise<unknown[]> {
    const rows = await all(this.database, "select port from servers order by port");
    const [{ n }] = await all(this.database, "select count(*) as n from observations");
    assertEquals(n, rows.length);
    return rows.map(({ port }) => port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.other.close();
    await this.database[Symbol.asyncDispose]();
    await Deno.remove(this.folder, { recursive: true });
  }
}

for (const lock of ["begin immediate", "begin exclusive"]) {
  Deno.test(`rows are spilled during another program's "${lock}", and none is lost or duplicated`, async () => {
    await using bench = await Bench.open();
    const { clock, other, reported } = bench;
    const store = bench.store();
    await store.begin(BEGIN);
    await store.write([record(1)]);
    other.exec(lock);
    await store.write([record(2)]);
    await store.write([record(3), record(2)]);
    assertEquals(await bench.spilled(), 3);
    assertEquals([store.waiting, store.failing], [3, true]);
    if (Deno.build.os !== "windows") {
      assertEquals((await Deno.stat(bench.spill)).mode! & 0o777, 0o600);
    }
    await store.flush();
    clock.time += 1000;
    await store.write([record(4)]);
    other.exec("commit");
    await store.write([record(5)]); // too soon after the last attempt
    assertEquals(await bench.spilled(), 5);
    clock.time += 1000;
    await store.write([record(6)]);
    assertEquals([await bench.spilled(), await bench.ports()], [0, [1, 2, 3, 4, 5, 6]]);
    await assertRejects(() => Deno.stat(bench.spill), Deno.errors.NotFound);
    assertEquals(await store.end(END), 0);
    assertEquals(reported, [
      `"${bench.path}" is unavailable (another program is writing to it): rows are kept in ` +
      `"${bench.spill}"`,
      `"${bench.path}" is available again: 5 kept rows were written`,
    ]);
  });
}

Deno.test("spilled rows keep their attachments", async () => {
  await using bench = await Bench.open();
  const { clock, other } = bench;
  const store = bench.store();
  const attachments: Attachments = { replies: { raknet: { size: 1, data: "AA==" } } };
  other.exec("begin immediate");
  await store.write([{ ...record(1), [ATTACHMENTS]: attachments } as RecordWithAttachments]);
  other.exec("commit");
  clock.time += 1000;
  await store.write([record(2)]);
  assertEquals(
    await all(
      bench.database,
      "select key as server_id, hex(data) as data from replies join servers on id = server",
    ),
    [
      { server_id: "127.0.0.1:1", data: "00" },
    ],
  );
});

Deno.test("the end of a scan waits for a locked database", async () => {
  await using bench = await Bench.open();
  const { clock, other } = bench;
  const store = bench.store();
  await store.begin(BEGIN);
  other.exec("begin immediate");
  await store.write([record(1)]);
  clock.onWait = (time) => {
    if (time >= 20_000 && other.isTransaction) other.exec("commit");
  };
  assertEquals(await store.end(END), 0);
  assert(clock.time >= 20_000 && clock.time < 23_000, String(clock.time));
  assertEquals([await bench.spilled(), await bench.ports()], [0, [1]]);
  assertEquals((await all(bench.database, "select state from scans"))[0], { state: "finished" });
});

for (const interruptedAt of [-1, 10_000]) {
  Deno.test(
    `an interruption ${
      interruptedAt < 0 ? "before" : "during"
    } the wait for a locked database ends it soon, and the file is named`,
    async () => {
      await using bench = await Bench.open();
      const { clock, other, spill } = bench;
      const interrupt = new AbortController();
      const store = bench.store(1e6, interrupt.signal);
      await store.begin(BEGIN);
      other.exec("begin immediate");
      await store.write([record(1)]);
      const before = clock.time;
      if (interruptedAt < 0) interrupt.abort();
      clock.onWait = (time) => {
        if (time >= interruptedAt) interrupt.abort();
      };
      const { message } = await assertRejects(() => store.end(END), StoreError);
      assertStringIncludes(message, `1 rows are in "${spill}"`);
      const waited = clock.time - Math.max(before, interruptedAt);
      assert(waited >= 1000 && waited < 4000, String(waited));
      other.exec("rollback");
    },
  );
}

Deno.test("when a database stays locked, its rows stay in the spill file, and the resumed scan writes them", async () => {
  await using bench = await Bench.open();
  const { other, spill } = bench;
  const store = bench.store();
  await store.begin(BEGIN);
  other.exec("begin exclusive");
  const rows = Array.from({ length: 1200 }, (_, i) => record(i + 1));
  await store.write(rows);
  let message = "";
  const synced = await syncedBy(async () => {
    ({ message } = await assertRejects(() => store.end(END), StoreError));
  });
  assertEquals(synced, [(await Deno.stat(spill)).ino]); // the spill file has the only copy
  assertStringIncludes(message, "another program is writing to it; 1200 rows are in");
  assertStringIncludes(message, `"${spill}"; import this file when the database is available`);
  await Deno.writeTextFile(spill, '{"torn', { append: true });
  other.exec("rollback");
  const later = bench.store();
  await later.begin(BEGIN);
  assertEquals(await bench.spilled(), 1200);
  assertEquals(await later.end(END), 0);
  assertEquals((await bench.ports()).length, 1200);
  await assertRejects(() => Deno.stat(spill), Deno.errors.NotFound);
});

Deno.test("servers without a row are those in neither the database nor the spill file", async () => {
  await using bench = await Bench.open();
  const { other, spill } = bench;
  const store = bench.store();
  await store.begin(BEGIN);
  await store.write([record(1), record(2)]);
  other.exec("begin immediate");
  await store.write([record(3), record(4)]);
  other.exec("delete from servers where port = 2");
  other.exec(
    "delete from observations where server = 2; delete from scan_servers where server = 2",
  );
  other.exec("commit");
  const ids = [1, 2, 3, 4, 5].map((port) => `127.0.0.1:${port}`);
  const missing = async () => [...await bench.store().serversWithoutRow(scanId(1), ids)];
  assertEquals(await missing(), ["127.0.0.1:2", "127.0.0.1:5"]);
  // A crash of the system may leave lines that are not records.
  const text = await Deno.readTextFile(spill);
  const [head, third, fourth] = text.split("\n");
  await Deno.writeTextFile(spill, `${head}\n${"\0".repeat(third.length)}\n${fourth}\n{"torn`);
  assertEquals(await missing(), ["127.0.0.1:2", "127.0.0.1:3", "127.0.0.1:5"]);
  const later = bench.store();
  await later.begin(BEGIN);
  await later.end(END);
  assertEquals(await bench.ports(), [1, 4]);
  assertEquals(await missing(), ["127.0.0.1:2", "127.0.0.1:3", "127.0.0.1:5"]);
});

Deno.test("flushing syncs the spill file and the database", async () => {
  await using bench = await Bench.open();
  const { other, spill, path } = bench;
  const store = bench.store();
  await store.write([record(1)]);
  other.exec("begin immediate");
  await store.write([record(2)]);
  const synced = await syncedBy(() => store.flush());
  const files = await Promise.all([spill, `${path}-wal`].map((file) => Deno.stat(file)));
  assertEquals(synced, files.map(({ ino }) => ino));
  other.exec("commit");
});

Deno.test("a database that is locked again during the replay has each row once at the end", async () => {
  await using bench = await Bench.open();
  const { clock, database, other } = bench;
  let batches = 0;
  class Interrupted extends Store {
    override async write(records: readonly ServerRecord[]): Promise<void> {
      if (++batches === 3) other.exec("begin immediate");
      await super.write(records);
    }
  }
  const inner = new Interrupted(database, () => Promise.resolve());
  const options = {
    ...{ path: bench.spill, identity: bench.identity, maxBytes: 1e7, maxWaitMs: 0, clock },
    report: () => {},
  };
  const store = new SpillingStore(inner, options);
  await store.begin(BEGIN);
  other.exec("begin immediate");
  await store.write(Array.from({ length: 1200 }, (_, i) => record(i + 1))); // the first batch
  other.exec("commit");
  clock.time += 1000;
  await store.write([record(1201)]); // two more batches of 500 rows: the second is refused
  assertEquals([await bench.spilled(), (await bench.ports()).length], [1201, 500]);
  other.exec("commit");
  assertEquals(await store.end(END), 0);
  assertEquals((await bench.ports()).length, 1201);
});

Deno.test("the start of a scan in a locked database is stored with the first rows", async () => {
  await using bench = await Bench.open();
  const { clock, other, reported } = bench;
  const store = bench.store();
  other.exec("begin immediate");
  await store.begin(BEGIN);
  assertEquals(reported, [
    `"${bench.path}" is unavailable (another program is writing to it): rows are kept in ` +
    `"${bench.spill}"`,
  ]);
  await store.write([record(1)]);
  other.exec("commit");
  assertEquals(await all(bench.database, "select count(*) as n from scans"), [{ n: 0 }]);
  clock.time += 1000;
  await store.write([record(2)]);
  assertEquals(await all(bench.database, "select uuid, state from scans"), [
    { uuid: scanId(1), state: "running" },
  ]);
  assertEquals([await bench.ports(), reported.length], [[1, 2], 2]);
});

Deno.test("a full spill file ends the scan with an error", async () => {
  await using bench = await Bench.open();
  const store = bench.store(100);
  bench.other.exec("begin immediate");
  const error = await assertRejects(() => store.write([record(1)]), StoreError);
  assertStringIncludes(error.message, `it is unavailable, and "${bench.spill}" is full`);
  bench.other.exec("commit");
});

Deno.test("opening a locked database waits for five seconds", async () => {
  await using bench = await Bench.open();
  const { clock, other, path } = bench;
  const location = parseDatabaseLocation(path)!;
  const open = () => openStore(location, AROUND, { busyMs: 250, clock });
  other.exec("begin immediate");
  const { message } = await assertRejects(open, InputError);
  assertEquals(message, `Cannot open "${path}": another program is writing to it`);
  assert(clock.time >= 5000 && clock.time < 6000, String(clock.time));
  const from = clock.time;
  clock.onWait = (time) => {
    if (time - from >= 3000 && other.isTransaction) other.exec("commit");
  };
  await (await open())[Symbol.asyncDispose]();
  assert(clock.time - from < 4000);
});

Deno.test("an unlimited wait for a locked database is reported once", async () => {
  await using bench = await Bench.open();
  const { clock, other, path, reported } = bench;
  const controller = new AbortController();
  const lockWait = { signal: controller.signal, report: (line: string) => reported.push(line) };
  const open = () =>
    openStore(parseDatabaseLocation(path)!, AROUND, { busyMs: 250, clock, lockWait });
  other.exec("begin immediate");
  clock.onWait = (time) => {
    if (time >= 12_000 && other.isTransaction) other.exec("commit");
  };
  await (await open())[Symbol.asyncDispose]();
  assert(clock.time >= 12_000);
  assertEquals(reported, [
    `"${path}": another program is writing to it; waiting until the lock is released`,
  ]);
  other.exec("begin immediate");
  clock.onWait = (time) => time >= 20_000 && controller.abort();
  await assertRejects(open, InputError, "another program is writing to it");
  assert(clock.time < 21_000);
});

Deno.test("a statement that waits for a lock does not block the event loop", async () => {
  await using bench = await Bench.open();
  const { other, path } = bench;
  await using database = await openStore(parseDatabaseLocation(path)!, AROUND);
  other.exec("begin exclusive");
  setTimeout(() => other.exec("commit"), 0);
  await database.transaction(() => database.run("delete from servers"));
});

Deno.test("import and watch report a locked database in one line, and write all or nothing", async () => {
  await using bench = await Bench.open();
  const { database, other, path } = bench;
  other.exec("begin immediate");
  const one = { ...record(1), online: true, missed_scans: 0, first_seen: 1, probed_at: 1 };
  const write = () =>
    withDatabaseErrors(
      "write to",
      database,
      () => writeImportedRecords(database, [one], PROTOCOLS),
    );
  const { message } = await assertRejects(write, StoreError);
  assertEquals(message, `Cannot write to "${path}": another program is writing to it`);
  other.exec("commit");
  assertEquals(await write(), { changed: 1, new: 1, back: 0, lost: 0 });
});

Deno.test("the progress of a scan waits for its database, and is stored with the last numbers", async () => {
  await using bench = await Bench.open();
  const { clock, other, reported } = bench;
  const store = bench.store();
  const numbers = { id: scanId(1), probesSent: 1, replies: 1 };
  await store.begin(BEGIN);
  const stored = async () =>
    (await all(bench.database, "select found, position from scans")).map(Object.values);
  await store.progress({ ...numbers, found: 1, position: 10 });
  assertEquals(await stored(), [[1, 10]]);
  other.exec("begin immediate");
  await store.progress({ ...numbers, found: 2, position: 20 });
  await store.progress({ ...numbers, found: 3, position: 30 });
  await store.write([record(1)]);
  assertEquals([reported.length, store.failing, await bench.spilled()], [1, true, 1]);
  other.exec("rollback");
  clock.time += 2000;
  await Promise.all([ // both find the spill file, and one of them replays it
    store.write([record(2)]),
    store.progress({ ...numbers, found: 4, position: 40 }),
  ]);
  assertEquals([await stored(), store.failing], [[[4, 40]], false]);
  assertEquals(await bench.ports(), [1, 2]);
});
