/** Covers src/store/events/webhook_position.ts and src/watch/webhook/event_feed_queue.ts. */
import { assertEquals } from "@std/assert";
import type { Database } from "../../../src/store/database/database.ts";
import { all, onEngines } from "../../store/databases.ts";
import { breakable, endLeases, numbers, prepare, queueOf, write } from "./feed_queues.ts";

/** A watch that has sent some events while the database was away, so that its removal is not written. */
async function removeWhileAway(db: Database, removed: number) {
  await prepare(db);
  const away = breakable(db);
  const { queue, clock } = await queueOf(away.database, 1);
  assertEquals(await queue.oldest(1), []);
  await write(db, 1, 2, 3, 4);
  const events = await queue.oldest(9);
  away.isAway = true;
  assertEquals(await queue.accept(events[removed - 1].id), removed);
  await clock.run(new Promise<void>((resolve) => clock.after(21_000, resolve)));
  away.isAway = false;
  await endLeases(db); // as 20 seconds later
  return queue;
}

/** Lets another watch send some events, and end. */
async function sendElsewhere(db: Database, expected: number[], removed: number) {
  const { queue } = await queueOf(db, 2);
  const events = await queue.oldest(9);
  assertEquals(numbers(events), expected);
  if (removed > 0) await queue.accept(events[removed - 1].id);
  await queue.close();
}

onEngines(
  "a watch that returns does not move the position back that another watch has moved forward",
  async (db) => {
    const returned = await removeWhileAway(db, 1);
    await sendElsewhere(db, [1, 2, 3, 4], 3);
    assertEquals(numbers(await returned.oldest(9)), [4]);
    await returned.close();
    await sendElsewhere(db, [4], 0);
  },
);

onEngines(
  "a watch that returns continues after the events that it has sent, if another watch has sent fewer",
  async (db) => {
    const returned = await removeWhileAway(db, 3);
    await sendElsewhere(db, [1, 2, 3, 4], 1);
    assertEquals(numbers(await returned.oldest(9)), [4]);
    await returned.close();
    await sendElsewhere(db, [4], 0);
  },
);

onEngines("the position of a webhook only grows", async (db) => {
  await prepare(db);
  const { position } = await queueOf(db);
  await write(db, 1, 2);
  const before = (await position.take())!;
  const [{ tx, seq }] = await all(db, "select tx, seq from events order by tx desc, seq desc");
  const newest = { tx: String(tx), seq: Number(seq) };
  assertEquals([await position.advance(newest), await position.advance(before)], [true, false]);
  assertEquals(await position.advance(newest), true);
  assertEquals(await position.take(), { ...newest, pruned: 0 });
});

onEngines("the position moves past events that are not for the webhook", async (db) => {
  await prepare(db);
  const { queue, position } = await queueOf(db, 1, { kinds: ["online"] });
  await write(db, 1, 2);
  const [{ tx, seq }] = await all(db, "select tx, seq from events order by tx desc, seq desc");
  assertEquals(await queue.oldest(9), []);
  assertEquals(await position.take(), { tx: String(tx), seq: Number(seq), pruned: 0 });
});

onEngines(
  "a lease whose end is too late, because the clock was set back, can be taken",
  async (db) => {
    await prepare(db);
    const [one, two] = [(await queueOf(db, 1)).position, (await queueOf(db, 2)).position];
    const setEnd = (seconds: number) =>
      db.script(
        "update webhook_positions set held_until = " + (db.engine === "postgres"
          ? `clock_timestamp() + interval '${seconds} seconds'`
          : `cast(unixepoch('subsec') * 1000 as integer) + ${1000 * seconds}`),
      );
    assertEquals((await one.take())?.pruned, 0);
    await setEnd(30);
    assertEquals(await two.take(), undefined);
    await setEnd(60);
    assertEquals((await two.take())?.pruned, 0);
  },
);
