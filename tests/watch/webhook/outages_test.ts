/**
 * A webhook whose database, receiver and watch are away at random times, compared with what was recorded.
 * Covers src/watch/webhook/webhook.ts, src/watch/webhook/event_feed_queue.ts and
 * src/watch/webhook/event_outbox.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { Random } from "../../../src/fleet/random.ts";
import type { Database } from "../../../src/store/database/database.ts";
import type { WatchEvent } from "../../../src/store/events/watch_event.ts";
import { WebhookPosition } from "../../../src/store/events/webhook_position.ts";
import { writeEvents } from "../../../src/store/events/write_events.ts";
import { newEventId } from "../../../src/store/rows/uuid.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";
import { EventFeedQueue } from "../../../src/watch/webhook/event_feed_queue.ts";
import { newReceiver } from "../../../src/watch/webhook/receivers.ts";
import { Webhook } from "../../../src/watch/webhook/webhook.ts";
import { longTest } from "../../long.ts";
import { onEngines, onSqlite } from "../../store/databases.ts";
import { watchId } from "../../store/records.ts";
import { breakable, endLeases, NOW, prepare, shared, STORED } from "./feed_queues.ts";
import { memoryFile, outboxIn } from "./outboxes.ts";

const STEPS = 150;

/** A request that the receiver got. */
interface Received {
  readonly ids: readonly string[];
  /** Whether the database could not be read before the request. */
  readonly isPartial: boolean;
}

/** A database during whose statements the clock stands still: those of PostgreSQL take real time. */
function timeless(database: Database, clock: FakeNetwork): Database {
  return new Proxy(database, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...values: unknown[]) => {
        const result = value.apply(target, values);
        return result instanceof Promise ? clock.hold(result) : result;
      };
    },
  });
}

/** Runs watches, one after the other, of which some are killed. */
async function run(real: Database, seed: number) {
  const random = new Random(seed);
  const isOneOf = (n: number) => random.below(n) === 0;
  const clock = new FakeNetwork(seed);
  clock.yieldToEvents = () => Promise.resolve();
  const database = timeless(real, clock);
  const file = await memoryFile();
  const away = breakable(database);
  const recorded: string[] = [];
  const received: Received[] = [];
  const repeatable = new Set<string>();
  let isUp = true;
  let losesReply = false;
  let [sent, lost] = [0, 0];

  const open = async (watch: number) => {
    const life = breakable(away.database);
    const outbox = await outboxIn(file);
    const position = new WebhookPosition(
      life.database,
      { webhook: "00", kinds: STORED },
      watchId(watch),
    );
    await position.prepare();
    const report = () => {};
    const feed = new EventFeedQueue({
      ...{ database: shared(life.database), position, clock, report },
      wasSent: (id) => outbox.handOver(id, "00"),
      shown: (record) => record,
    });
    const hook = new Webhook(newReceiver("json", "http://127.0.0.1/"), {
      ...{ clock, outbox, feed, report },
      fetch: (_, { body }) => {
        if (life.isAway) return new Promise(() => {});
        if (!isUp) return Promise.reject(new Error("connection refused"));
        const events: WatchEvent[] = JSON.parse(new TextDecoder().decode(body as Uint8Array));
        received.push({ ids: events.map(({ id }) => id), isPartial: feed.failing });
        if (!losesReply) return Promise.resolve(new Response(""));
        for (const { id } of events) repeatable.add(id);
        return Promise.reject(new Error("connection reset"));
      },
    });
    return { hook, outbox, life };
  };

  const store = (events: readonly WatchEvent[]) =>
    database.transaction(() =>
      writeEvents(
        database,
        events.map(({ id, at }, i) => {
          const data = { misses: i + 1, replied_at: null, unresponsive_since: null };
          return { id, at, server: 1, scan: 1, kind: "offline", data };
        }),
      )
    );
  const record = (kind: "players" | "offline", at: number): WatchEvent => {
    const base = {
      ...{ id: newEventId(at), at, host: "127.0.0.1", port: 1 },
      ...{ requested_as: null, scan_id: watchId(1), name: null },
    };
    const event: WatchEvent = kind === "players"
      ? { ...base, event: kind, players_online: [1, 2] }
      : { ...base, event: kind, misses: 3, replied_at: null, unresponsive_since: null };
    recorded.push(base.id);
    return event;
  };
  const pass = (ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve));

  let early: WatchEvent[] = [];
  await clock.run((async () => {
    let watch = await open(1);
    for (let step = 0; step < STEPS; step++) {
      const at = NOW + step * 60_000;
      if (isOneOf(8)) away.isAway = !away.isAway;
      if (isOneOf(8)) isUp = !isUp;
      losesReply = isOneOf(10);
      if (away.isAway) {
        const event = record(isOneOf(3) ? "players" : "offline", at);
        watch.hook.add(event);
        if (event.event !== "players") early.push(event);
      } else {
        await store(early); // the journal writes what the watch has seen meanwhile
        early = [];
        if (isOneOf(3)) watch.hook.add(record("players", at));
        else {
          const event = record("offline", at);
          await store([event]);
          watch.hook.add(event, true);
        }
      }
      await pass(isOneOf(4) ? 70_000 : 1000);
      if (!isOneOf(12)) continue;
      if (isOneOf(2)) {
        await watch.outbox.written();
        watch.life.isAway = true; // for ever: it is killed
        received.at(-1)?.ids.forEach((id) => repeatable.add(id));
      } else {
        await watch.hook.close();
        [sent, lost] = [sent + watch.hook.delivered, lost + watch.hook.lost];
        if (away.isAway) { for (const { id } of early) repeatable.add(id); }
      }
      away.isAway = false;
      await store(early);
      early = [];
      await endLeases(database);
      watch = await open(2 + step);
    }
    [away.isAway, isUp, losesReply] = [false, true, false];
    await store(early);
    await pass(200_000);
    await watch.hook.close();
    assertEquals([watch.hook.waiting, watch.hook.lost + lost], [0, 0], `seed ${seed}`);
  })());
  return { recorded, received, repeatable, file };
}

/** Requires of the received events: all, no others, each once unless a reply was lost, in order. */
async function compare(database: Database, seeds: readonly number[]): Promise<void> {
  await prepare(database);
  let [repeated, overtaken] = [0, 0];
  for (const seed of seeds) {
    const { recorded, received, repeatable, file } = await run(database, seed);
    const all = received.flatMap(({ ids }) => ids);
    const got = new Set(all);
    assertEquals(
      [...got].toSorted(),
      recorded.toSorted(),
      `seed ${seed}: all events, and no others`,
    );
    for (const id of recorded) {
      const times = all.filter((one) => one === id).length;
      if (times > 1) repeated++;
      assert(times === 1 || repeatable.has(id), `seed ${seed}: ${id} was sent ${times} times`);
    }
    const waiting = new Set(recorded);
    for (const { ids, isPartial } of received) {
      const added = ids.filter((id) => waiting.delete(id));
      assertEquals(added, recorded.filter((id) => added.includes(id)), `seed ${seed}: the order`);
      const [oldest] = waiting;
      const isInOrder = added.length === 0 || waiting.size === 0 ||
        recorded.indexOf(oldest) > recorded.indexOf(added.at(-1)!);
      if (isPartial) overtaken += isInOrder ? 0 : 1;
      else assert(isInOrder, `seed ${seed}: an older event waited`);
    }
    assertEquals(await file.database.rows("select id from outbox"), [], `seed ${seed}`);
  }
  assert(repeated > 0, "no reply was lost");
  assert(overtaken > 0, "no outage of the database was noticed");
}

const TITLE =
  "over any outages of database, receiver and watch, a receiver gets all events in order";

onEngines(`${TITLE}: 3 seeds`, (database) => compare(database, [1, 2, 3]));
onSqlite(
  `${TITLE}: 40 seeds`,
  (database) => compare(database, Array.from({ length: 40 }, (_, i) => i + 10)),
  longTest,
);
