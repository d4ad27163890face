/** Covers src/store/events/newest_events.ts. */
import { assert, assertEquals } from "@std/assert";
import type { Database } from "../../../src/store/database/database.ts";
import { type NewestEvents, newestEvents } from "../../../src/store/events/newest_events.ts";
import { writeEvents } from "../../../src/store/events/write_events.ts";
import { newEventId } from "../../../src/store/rows/uuid.ts";
import { Store } from "../../../src/store/store.ts";
import { onEngines } from "../databases.ts";
import { record } from "../records.ts";

/** Writes an event by a transaction of its own. */
function write(database: Database, at: number, kind: string, server: number | null = null) {
  const event = { id: newEventId(at), at, server, scan: null, kind, data: {} };
  return database.transaction(() => writeEvents(database, [event]));
}

/** Reads all pages of at most two events. */
async function pagesOf(database: Database, selection: Partial<NewestEvents> = {}) {
  const pages = [await newestEvents(database, { ...selection, limit: 2 })];
  for (let next = pages[0].next; next !== null; next = pages.at(-1)!.next) {
    pages.push(await newestEvents(database, { ...selection, before: next, limit: 2 }));
  }
  return pages.map(({ events }) => events.map(({ at, kind }) => `${at} ${kind}`));
}

onEngines("events are listed by time, whatever the order of their transactions", async (db) => {
  for (const at of [3000, 1000, 5000, 3000, 4000, 2000]) await write(db, at, `of ${at}`);
  await write(db, 3000, "last");
  assertEquals(await pagesOf(db), [
    ["5000 of 5000", "4000 of 4000"],
    ["3000 last", "3000 of 3000"],
    ["3000 of 3000", "2000 of 2000"],
    ["1000 of 1000"],
  ]);
  assertEquals(await pagesOf(db, { from: 2000, to: 3000, kinds: ["of 3000", "of 2000"] }), [
    ["3000 of 3000", "3000 of 3000"],
    ["2000 of 2000"],
  ]);
  assertEquals((await pagesOf(db, { from: 5001 })).flat(), []);
  assertEquals((await pagesOf(db, { kinds: [] })).flat(), []);
});

onEngines("a page follows a full last one only if it has events", async (db) => {
  for (const at of [1, 2]) await write(db, at, "changed");
  assertEquals((await newestEvents(db, { limit: 2 })).next, null);
  const [{ next }] = [await newestEvents(db, { limit: 1 })];
  assert(next !== null);
  await write(db, 3, "later"); // the next page stays the same
  const { events } = await newestEvents(db, { limit: 1, before: next });
  assertEquals(events.map(({ at }) => at), [1]);
});

onEngines("events name their servers, and are selected by them", async (db) => {
  const store = new Store(db, () => Promise.resolve());
  await store.write([record(1, { name: "one" }), record(2, { name: null }), record(3)]);
  const rows = await db.rows("select id from servers order by port");
  const [one, two] = rows.map(({ id }) => Number(id));
  await write(db, 9000, "changed", one);
  const read = async (servers?: readonly number[]) =>
    (await newestEvents(db, { servers, limit: 10 })).events
      .map(({ server, server_id: id, name, kind }) => [server, id, name, kind]);
  assertEquals(await read([one]), [
    ["127.0.0.1:1", one, "one", "changed"],
    ["127.0.0.1:1", one, "one", "new"],
  ]);
  assertEquals(await read([two]), [["127.0.0.1:2", two, null, "new"]]);
  assertEquals((await read([one, two])).length, 3);
  assertEquals((await read()).length, 4);
  assertEquals(await read([]), []);
});

onEngines("damaged events do not end the pages", async (db) => {
  for (const at of [1000, 2000, 3000]) await write(db, at, "changed");
  const late = db.engine === "postgres" ? "'280000-01-01'" : "8640000000000001";
  await db.run(`update events set at = ${late} where seq = (select min(seq) + 1 from events)`, []);
  const broken: string[] = [];
  const onBroken = ({ reason }: { readonly reason: string }) => broken.push(reason);
  const { events } = await newestEvents(db, { limit: 10, onBroken });
  assertEquals([events.map(({ at }) => at), broken.length], [[3000, 1000], 1]);
});

onEngines("an index gives the order of each list", async (db) => {
  if (db.engine === "postgres") return; // the planner of an empty table needs no index
  for (const condition of ["true", "e.server = 7", "(e.at, e.tx, e.seq) < (1, 2, 3)"]) {
    const plan = await db.rows(
      `explain query plan select e.id from events e where ${condition} ` +
        "order by e.at desc, e.tx desc, e.seq desc limit 10",
    );
    const details = plan.map(({ detail }) => String(detail)).join("; ");
    assert(details.includes("INDEX events_") && !details.includes("TEMP B-TREE"), details);
  }
});
