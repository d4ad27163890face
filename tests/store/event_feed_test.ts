/** Covers src/store/events/event_feed.ts and src/store/remove_old_rows.ts. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { InputError } from "../../src/core/errors.ts";
import { systemClock } from "../../src/net/clock.ts";
import type { Database } from "../../src/store/database/database.ts";
import { openSqlite } from "../../src/store/database/sqlite.ts";
import {
  BEFORE_EVENTS,
  type BrokenEvent,
  countHeldUp,
  eventsAfter,
  followEvents,
  lastEvents,
  type StoredEvent,
} from "../../src/store/events/event_feed.ts";
import { removeEvents } from "../../src/store/remove_old_rows.ts";
import { writeEvents } from "../../src/store/events/write_events.ts";
import { newEventId } from "../../src/store/rows/uuid.ts";
import { createTables } from "../../src/store/schema/create_tables.ts";
import { Store } from "../../src/store/store.ts";
import { connect, onEngines, postgresTest, SERVER, withPostgres } from "./databases.ts";
import { run } from "../cli/program.ts";
import { record, scanId } from "./records.ts";

const newEvent = (at: number, data = {}) => (
  { id: newEventId(at), at, server: null, scan: null, kind: "changed", data }
);
const write = (database: Database, at: number, data = {}) =>
  database.transaction(() => writeEvents(database, [newEvent(at, data)]));
/** Waits until other transactions of the database have ended, such as those of autovacuum. */
async function settled(database: Database): Promise<void> {
  const isRunning = database.engine === "postgres"
    ? "tx >= (select tx from event_horizon)"
    : "false";
  const count = `select count(*) as n from events where ${isRunning}`;
  await waitUntil(async () => (await database.rows(count))[0].n === 0);
}

const times = (events: readonly StoredEvent[]) => events.map(({ at }) => at);

onEngines("events are read page by page, after a position, and of one server", async (db) => {
  assertEquals(await eventsAfter(db, BEFORE_EVENTS), []);
  const store = new Store(db, () => Promise.resolve());
  await store.write([record(1), record(2)]);
  await store.write([record(2, { seen_at: 2000, motd: "new" })]);
  await settled(db);
  const all = await eventsAfter(db, BEFORE_EVENTS);
  assertEquals(all.map(({ kind, server, at, scan_id }) => [kind, server, at, scan_id]), [
    ["new", "127.0.0.1:1", 1000, scanId(1)],
    ["new", "127.0.0.1:2", 1000, scanId(1)],
    ["changed", "127.0.0.1:2", 2000, scanId(1)],
  ]);
  const pages = [];
  for (let after = BEFORE_EVENTS;;) {
    const page = await eventsAfter(db, after, { limit: 2 });
    if (page.length === 0) break;
    pages.push(...page);
    after = page.at(-1)!;
  }
  assertEquals(pages, all);
  const [{ server: id }] = await db.rows("select max(server) as server from events");
  assertEquals(times(await eventsAfter(db, BEFORE_EVENTS, { server: Number(id) })), [1000, 2000]);
  assertEquals(await lastEvents(db, { limit: 2 }), all.slice(1));
  assertEquals(await lastEvents(db, { limit: 1, server: Number(id) }), all.slice(2));
});

onEngines("old events are removed, and a number is never used again", async (db) => {
  for (const at of [1000, 2000, 3000]) await write(db, at);
  await settled(db);
  const [position] = await lastEvents(db, { limit: 1 });
  const between = () => Promise.resolve();
  assertEquals(await removeEvents(db, 2000, between), 1);
  assertEquals(times(await eventsAfter(db, BEFORE_EVENTS)), [2000, 3000]);
  assertEquals(await removeEvents(db, 9000, between), 2);
  await write(db, 4000);
  await settled(db);
  assertEquals(times(await eventsAfter(db, position)), [4000]);
});

/**
 * Writes events over several connections, while a reader follows them over another one until it reads
 * the last one, which is written after all others.
 */
async function follow(
  [reader, ...writers]: readonly Database[],
  work: (writers: readonly Database[]) => Promise<void>,
): Promise<StoredEvent[]> {
  const seen: StoredEvent[] = [];
  const ended = new AbortController();
  const options = { pauseMs: 1, clock: systemClock, signal: ended.signal, limit: 7 };
  const reading = (async () => {
    for await (const event of followEvents(reader, BEFORE_EVENTS, options)) {
      if (event.data.last) ended.abort();
      else seen.push(event);
    }
  })();
  await work(writers);
  await write(writers[0], 1, { last: true });
  await reading;
  return seen;
}

/** Four writers, each with transactions of two events. */
async function writeAtOnce(writers: readonly Database[], rounds: number): Promise<void> {
  await Promise.all(writers.map(async (writer, i) => {
    for (let round = 0; round < rounds; round++) {
      await writer.transaction(async () => {
        await writeEvents(writer, [newEvent(round, { i, round, n: 1 })]);
        for (let k = 0; k <= (i * 7 + round * 3) % 5; k++) await writer.rows("select 1 as one");
        await writeEvents(writer, [newEvent(round, { i, round, n: 2 })]);
      });
    }
  }));
}

/** Checks that a reader got each event once, and the events of each writer in their order. */
function assertFollowed(seen: readonly StoredEvent[], rounds: number): void {
  assertEquals(new Set(seen.map(({ id }) => id)).size, seen.length);
  assertEquals(seen.length, 2 * rounds * 4);
  for (let i = 0; i < 4; i++) {
    const own = seen.filter(({ data }) => data.i === i);
    const expected = Array.from({ length: 2 * rounds }, (_, k) => [k >> 1, k % 2 + 1]);
    assertEquals(own.map(({ data: { round, n } }) => [round, n]), expected);
  }
}

/** Runs transactions that write, until the signal. */
async function writeElsewhere(database: Database, signal: AbortSignal): Promise<void> {
  await database.script("create table t (n integer)");
  while (!signal.aborted) {
    await database.transaction(() => database.run("insert into t values (1)"));
  }
}

postgresTest(
  "PostgreSQL: a reader beside four writers skips no event, and reads none twice",
  (url) =>
    withPostgres(SERVER!, async (other) => {
      await using stack = new AsyncDisposableStack();
      const databases: Database[] = [];
      for (let i = 0; i < 5; i++) databases.push(stack.use(await connect(url)));
      await createTables(databases[0]);
      const ended = new AbortController();
      const elsewhere = writeElsewhere(stack.use(await connect(other)), ended.signal);
      const seen = await follow(databases, (writers) => writeAtOnce(writers, 60));
      ended.abort();
      await elsewhere;
      assertFollowed(seen, 60);
    }),
);

postgresTest(
  "PostgreSQL: events wait for earlier transactions that commit later, and for no reader",
  async (url) => {
    await using stack = new AsyncDisposableStack();
    const databases: Database[] = [];
    for (let i = 0; i < 5; i++) databases.push(stack.use(await connect(url)));
    const [reader, ...writers] = databases;
    await createTables(reader);
    const gates = writers.map(() => Promise.withResolvers<void>());
    const begun = writers.map(() => Promise.withResolvers<void>());
    const transactions: Promise<void>[] = [];
    for (const [i, writer] of writers.entries()) {
      transactions.push(writer.transaction(async () => {
        await writeEvents(writer, [newEvent(i + 1)]);
        begun[i].resolve();
        await gates[i].promise;
      }));
      await begun[i].promise;
    }
    const read = async () => times(await eventsAfter(reader, BEFORE_EVENTS));
    for (const i of [3, 1, 2]) {
      gates[i].resolve();
      await transactions[i];
      assertEquals(await read(), []);
    }
    gates[0].resolve();
    await transactions[0];
    await waitUntil(async () => (await read()).length === 4);
    assertEquals(await read(), [1, 2, 3, 4]);
  },
);

/** Repeats a check that depends on other transactions of the database, such as those of autovacuum. */
async function waitUntil(check: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !await check(); tries++) assert(tries < 10_000, "it never holds");
}

Deno.test("SQLite: a reader beside four writers skips no event, and reads none twice", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await using stack = new AsyncDisposableStack();
    const open = () => stack.use(openSqlite(join(folder, "a.db"), { busyMs: 60_000 }));
    const databases: Database[] = [open()];
    await createTables(databases[0]);
    for (let i = 0; i < 4; i++) databases.push(open());
    const seen = await follow(databases, (writers) => writeAtOnce(writers, 8));
    assertFollowed(seen, 8);
    await stack.disposeAsync();
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

onEngines("an event that another program damaged is named", async (db) => {
  await write(db, 1);
  const late = db.engine === "postgres" ? "'280000-01-01'" : "8640000000000001";
  await db.run(`update events set at = ${late}`, []);
  await settled(db);
  const [{ id }] = await db.rows("select id from events");
  const wanted = `Cannot read event ${id}: its time is not valid`;
  await assertRejects(() => lastEvents(db), InputError, wanted);
  if (db.engine === "postgres") return; // the type jsonb of the column allows no other data
  await db.run("update events set at = 1, data = 'x' || char(27)", []);
  await assertRejects(() => lastEvents(db), InputError, "its data is not JSON");
});

onEngines("readers report an event that another program damaged once, and go on", async (db) => {
  for (const at of [1000, 2000, 3000]) await write(db, at);
  const late = db.engine === "postgres" ? "'infinity'" : "8640000000000001";
  await db.run(`update events set at = ${late} where seq = (select min(seq) + 1 from events)`, []);
  await settled(db);
  const reasons: string[] = [];
  const onBroken = ({ reason }: BrokenEvent) => reasons.push(reason);
  assertEquals(times(await lastEvents(db, { onBroken })), [1000, 3000]);
  assertEquals(times(await eventsAfter(db, BEFORE_EVENTS, { onBroken })), [1000, 3000]);
  const ended = new AbortController();
  const options = { pauseMs: 1, clock: systemClock, signal: ended.signal, limit: 1, onBroken };
  const followed: number[] = [];
  for await (const { at } of followEvents(db, BEFORE_EVENTS, options)) {
    followed.push(at);
    if (at === 3000) ended.abort();
  }
  assertEquals(followed, [1000, 3000]);
  assertEquals(
    reasons.map((reason) => reason.split("its ")[1]),
    Array(3).fill("time is not valid"),
  );
});

postgresTest(
  "events behind a transaction of another connection are delayed, and counted",
  async (url) => {
    await using db = await connect(url);
    await using other = await connect(url);
    await createTables(db);
    await write(db, 1000);
    await settled(db);
    const { promise: isDone, resolve: end } = Promise.withResolvers<void>();
    const { promise: isRunning, resolve: begin } = Promise.withResolvers<void>();
    const held = other.transaction(async () => {
      await other.rows("select pg_current_xact_id() as tx");
      begin();
      await isDone;
    });
    await isRunning;
    await write(db, 2000);
    assertEquals([times(await lastEvents(db)), await countHeldUp(db)], [[1000], 1]);
    assertEquals(await countHeldUp(db, { server: 1 }), 0);
    const shown = await run(["history", url, "--events"], { permissions: ["-A"] });
    assertStringIncludes(shown.stderr, "blocksweep: 1 newer event not shown yet: a transaction");
    end();
    await held;
    await settled(db);
    assertEquals([times(await lastEvents(db)), await countHeldUp(db)], [[1000, 2000], 0]);
  },
);
