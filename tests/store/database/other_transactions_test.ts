/** Which transactions of a PostgreSQL server delay events, removals and rollups, and which do not. */
import { assertEquals } from "@std/assert";
import type { Database } from "../../../src/store/database/database.ts";
import { othersEnded } from "../../../src/store/database/other_transactions.ts";
import { countHeldUp, lastEvents } from "../../../src/store/events/event_feed.ts";
import { writeEvents } from "../../../src/store/events/write_events.ts";
import { newEventId } from "../../../src/store/rows/uuid.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { connect, postgresTest, SERVER, withPostgres } from "../databases.ts";

const ATTEMPTS = 100;

/** Whether events are shown at once, and whether no other transaction is waited for. */
async function isFree(database: Database): Promise<[shown: boolean, ended: boolean]> {
  const at = Date.now();
  const event = { id: newEventId(at), at, server: null, scan: null, kind: "changed", data: {} };
  await database.transaction(() => writeEvents(database, [event]));
  const ended = await othersEnded(database, () => Promise.resolve(), ATTEMPTS);
  const shown = (await lastEvents(database)).some(({ id }) => id === event.id);
  assertEquals(await countHeldUp(database) === 0, shown);
  return [shown, ended];
}

/** Registers a test with a database with tables, and the URL of another database of the server. */
function onTwoDatabases(
  name: string,
  work: (url: string, other: string, database: Database) => Promise<void>,
): void {
  postgresTest(`PostgreSQL: ${name}`, (url) =>
    withPostgres(SERVER!, async (other) => {
      await using database = await connect(url);
      await createTables(database);
      await work(url, other, database);
    }));
}

onTwoDatabases(
  "a transaction that has written delays its own database, and no other",
  async (url, other, database) => {
    await using open = await connect(url);
    await open.script("begin; select pg_current_xact_id()");
    assertEquals(await isFree(database), [false, false]);
    await open.script("commit");
    assertEquals(await isFree(database), [true, true]);
    await using foreign = await connect(other);
    await foreign.script("begin; create table t (a integer)");
    assertEquals(await isFree(database), [true, true]);
    // A transaction of the database, before and after one of the other database.
    await open.script("begin; select pg_current_xact_id()");
    assertEquals(await isFree(database), [false, false]);
    await foreign.script("commit; begin; select pg_current_xact_id()");
    assertEquals(await isFree(database), [false, false]);
    await open.script("rollback");
    assertEquals(await isFree(database), [true, true]);
  },
);

onTwoDatabases(
  "the query in docs/database.md shows what delays a database",
  async (url, other, database) => {
    const text = await Deno.readTextFile(new URL("../../../docs/database.md", import.meta.url));
    const [, query] = /## Long transactions in PostgreSQL\n[^]*?```text\n([^]*?);\n```/.exec(text)!;
    const connections = [await connect(url), await connect(url), await connect(other)];
    await using stack = new AsyncDisposableStack();
    for (const one of connections) stack.use(one);
    await connections[1].script("begin; select pg_current_xact_id(), 'second'");
    await connections[0].script("begin; select pg_current_xact_id(), 'first'");
    await connections[2].script("begin; select pg_current_xact_id(), 'foreign'");
    const rows = await database.rows(query);
    assertEquals(rows.map(({ query }) => /'(.*)'/.exec(String(query))?.[1]), ["second", "first"]);
  },
);

onTwoDatabases("a transaction that only reads delays nothing", async (url, _, database) => {
  await using open = await connect(url);
  await open.script("begin isolation level repeatable read; select count(*) from events");
  assertEquals(await isFree(database), [true, true]);
});

onTwoDatabases(
  "a prepared transaction delays its own database, and no other",
  async (url, other, database) => {
    const gid = crypto.randomUUID();
    for (const [place, isFreeThen] of [[other, true], [url, false]] as const) {
      await using open = await connect(place);
      await open.script(`begin; select pg_current_xact_id(); prepare transaction '${gid}'`);
      try {
        assertEquals(await isFree(database), [isFreeThen, isFreeThen]);
      } finally {
        await open.script(`rollback prepared '${gid}'`);
      }
    }
  },
);

onTwoDatabases(
  "a role without privileges knows which transactions to wait for",
  async (url, other, database) => {
    const role = `reader_${crypto.randomUUID().slice(0, 8)}`;
    await database.script(
      `create role ${role} nologin; grant select, insert on events to ${role}; ` +
        `grant select on servers, scans, event_horizon to ${role}`,
    );
    try {
      await using open = await connect(url);
      await using foreign = await connect(other);
      await foreign.script("begin; select pg_current_xact_id()");
      await database.script(`set role ${role}`);
      assertEquals(await isFree(database), [true, true]);
      await open.script("begin; select pg_current_xact_id()");
      assertEquals(await isFree(database), [false, false]);
      await open.script("rollback");
    } finally {
      await database.script(`reset role; drop owned by ${role}; drop role ${role}`);
    }
  },
);

onTwoDatabases("a transaction that reads events does not get its own", async (_, __, database) => {
  await database.transaction(async () => {
    const event = { id: newEventId(1), at: 1, server: null, scan: null, kind: "changed", data: {} };
    await writeEvents(database, [event]);
    assertEquals(await lastEvents(database), []);
  });
  assertEquals((await lastEvents(database)).length, 1);
});
