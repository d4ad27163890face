/** Covers src/store/events/write_events.ts and src/store/rows/uuid.ts. */
import { assertEquals, assertMatch } from "@std/assert";
import { writeEvents } from "../../src/store/events/write_events.ts";
import { newEventId } from "../../src/store/rows/uuid.ts";
import { all, onEngines } from "./databases.ts";

onEngines("an event is stored once, however often it is written", async (database) => {
  const id = newEventId(1_700_000_000_000);
  assertMatch(id, /^018bcfe5-6800-7/);
  const event = { id, at: 5, server: 1, scan: 2, kind: "offline", data: { misses: 3 } };
  await database.transaction(() => writeEvents(database, [event, event]));
  await database.transaction(() => writeEvents(database, [event]));
  assertEquals(await all(database, "select id, at, server, scan, kind from events"), [
    { id, at: 5, server: 1, scan: 2, kind: "offline" },
  ]);
});
