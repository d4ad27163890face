/** Covers the statements for many rows in src/store/database/database.ts. */
import { assertEquals } from "@std/assert";
import { BLOCK_ROWS, insertInto } from "../../../src/store/database/database.ts";
import { newEventId } from "../../../src/store/rows/uuid.ts";
import { INSERT_EVENT } from "../../../src/store/events/write_events.ts";
import { all, onEngines } from "../databases.ts";

const INSERT_FLAG = insertInto(
  "server_flags",
  [["flag", "text"], ["server", "integer"]],
  "on conflict (flag, server) do nothing",
);

onEngines("a bulk statement writes each row once and counts those that changed", async (db) => {
  for (const count of [0, 1, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1, 3 * BLOCK_ROWS + 2]) {
    await db.script("delete from server_flags");
    const rows = Array.from({ length: count }, (_, i) => [`flag ${i % 7}`, i]);
    assertEquals(await db.bulk(INSERT_FLAG, rows.slice(2, 5)), Math.max(0, Math.min(3, count - 2)));
    assertEquals(await db.bulk(INSERT_FLAG, rows), count - Math.max(0, Math.min(3, count - 2)));
    assertEquals(
      await all(db, "select flag, server from server_flags order by server"),
      rows.map(([flag, server]) => ({ flag, server })),
    );
  }
});

onEngines("an insertion returns the ids of new rows in the order of the rows", async (db) => {
  await db.script("create table things (id integer primary key, key text unique)");
  if (db.engine === "postgres") {
    await db.script("alter table things alter column id add generated always as identity");
  }
  const statement = insertInto("things", [["key", "text"]], "on conflict (key) do nothing");
  assertEquals(await db.insert(statement, []), []);
  const first = await db.insert(statement, [["b"], ["a"]]);
  const second = await db.insert(statement, [["d"], ["b"], ["c"], ["a"]]);
  assertEquals([second[1], second[3]], [undefined, undefined]);
  const ids = new Map(
    (await all(db, "select id, key from things")).map((row) => [row.key, row.id]),
  );
  assertEquals(
    [first[1], first[0], second[2], second[0]],
    ["a", "b", "c", "d"].map((key) => ids.get(key)),
  );
});

onEngines("the identity of an event is a UUIDv7, also if its time cannot be stored", async (db) => {
  const times = [0, 1.7e12, -1, 1.5, NaN, 2 ** 50, 253_402_300_799_999];
  const ids = times.map(newEventId);
  await db.bulk(INSERT_EVENT, ids.map((id) => [id, 5, null, null, "online", "{}"]));
  const stored = (await all(db, "select id from events order by seq")).map(({ id }) => id);
  assertEquals(stored, ids);
  for (const [i, id] of ids.entries()) {
    assertEquals(
      /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id),
      true,
    );
    const time = [0, 1.7e12, 0, 0, 0, 0, 253_402_300_799_999][i];
    assertEquals(parseInt(id.replace("-", "").slice(0, 12), 16), time);
  }
  assertEquals(new Set(ids).size, ids.length);
});
