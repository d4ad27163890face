/** Queues of webhooks, and the events of a database, for tests. */
import type { ServerRecord } from "../../../src/core/record.ts";
import { type Database, Unavailable } from "../../../src/store/database/database.ts";
import { EVENT_KINDS, type WatchEvent } from "../../../src/store/events/watch_event.ts";
import { WebhookPosition } from "../../../src/store/events/webhook_position.ts";
import { writeEvents } from "../../../src/store/events/write_events.ts";
import { identityOf } from "../../../src/store/rows/identity.ts";
import { newEventId } from "../../../src/store/rows/uuid.ts";
import { Store } from "../../../src/store/store.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";
import { EventFeedQueue } from "../../../src/watch/webhook/event_feed_queue.ts";
import { all } from "../../store/databases.ts";
import { writePolled } from "../../store/polls.ts";
import { record, watchId } from "../../store/records.ts";

export const NOW = 1_700_000_000_000;
export const STORED = EVENT_KINDS.filter((kind) => kind !== "players");

/** A database that stays open when a queue disposes of it. */
export function shared(database: Database): Database {
  const methods = { [Symbol.asyncDispose]: { value: () => Promise.resolve() } };
  return new Proxy(database, {
    get(target, name) {
      if (name === Symbol.asyncDispose) return methods[Symbol.asyncDispose].value;
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** A database that is away while `isAway` is true. */
export function breakable(database: Database): { readonly database: Database; isAway: boolean } {
  const state = { database, isAway: false };
  state.database = new Proxy(database, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return state.isAway && (name === "rows" || name === "run")
        ? () => Promise.reject(new Unavailable("gone"))
        : value.bind(target);
    },
  });
  return state;
}

/** A queue of a watch, and what it reports. */
export async function queueOf(database: Database, watch = 1, given: {
  readonly kinds?: readonly string[];
  readonly shown?: (record: ServerRecord) => ServerRecord;
  readonly wasSent?: (id: string) => boolean;
} = {}) {
  const { kinds = STORED, shown = (record) => record, wasSent = () => false } = given;
  const clock = new FakeNetwork(1);
  clock.yieldToEvents = () => Promise.resolve(); // a test waits for the queue without running the clock
  const position = new WebhookPosition(database, { webhook: "00", kinds }, watchId(watch));
  const givenUp = await position.prepare();
  const lines: string[] = [];
  const report = (line: string) => lines.push(line);
  const queue = new EventFeedQueue({
    database: shared(database),
    ...{ position, wasSent, shown, clock, report },
  });
  const lost: [number, string][] = [];
  queue.start({
    onEvents: () => {},
    onForgotten: () => {},
    onLost: (...one) => lost.push(one),
  });
  return { queue, clock, lines, lost, givenUp, position };
}

/** Writes events of a watch that say which one they are. */
export async function write(database: Database, ...numbers: readonly number[]): Promise<void> {
  const scan = Number((await all(database, "select id from scans where kind = 'watch'"))[0].id);
  const rows = numbers.map((misses) => ({
    ...{ id: newEventId(NOW), at: NOW, server: 1, scan, kind: "offline" },
    data: { misses, replied_at: null, unresponsive_since: null },
  }));
  await database.transaction(() => writeEvents(database, rows));
}

/** Writes an event of a watch that reaches no server. */
export async function writeOffline(database: Database): Promise<void> {
  const data = { since: NOW, reason: "no_reply" };
  const event = { id: newEventId(NOW), at: NOW, server: null, scan: 1, kind: "watcher_offline" };
  await database.transaction(() => writeEvents(database, [{ ...event, data }]));
}

/** Creates a watch, and a server that it has observed. */
export async function prepare(database: Database): Promise<void> {
  await new Store(database).begin({
    id: watchId(1),
    kind: "watch",
    at: NOW,
    config: "{}",
  });
  const one = record(1, { seen_at: NOW, scan_id: watchId(1) });
  const identity = identityOf(one)!;
  await writePolled(database, [{ identity, at: NOW, record: one }], [
    { identity, at: NOW, record: one, scanId: watchId(1) },
  ]);
}

export const numbers = (events: readonly WatchEvent[]) =>
  events.map((event) => event.event === "offline" ? event.misses : undefined);
export const endLeases = (database: Database) =>
  database.script("update webhook_positions set holder = null");
