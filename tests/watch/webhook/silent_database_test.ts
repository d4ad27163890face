/** A webhook whose database has gone silent: src/watch/webhook/webhook.ts, src/watch/webhook/event_feed_queue.ts. */
import { assert, assertEquals } from "@std/assert";
import { type Database, Unavailable } from "../../../src/store/database/database.ts";
import type { WebhookPosition } from "../../../src/store/events/webhook_position.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";
import type { WatchEvent } from "../../../src/store/events/watch_event.ts";
import { EventFeedQueue } from "../../../src/watch/webhook/event_feed_queue.ts";
import { newReceiver } from "../../../src/watch/webhook/receivers.ts";
import { Webhook } from "../../../src/watch/webhook/webhook.ts";
import { outboxIn } from "./outboxes.ts";

/** Time after which a statement of the silent database fails, milliseconds. */
const LIMIT_MS = 15_000;

/**
 * A webhook, and the times at which it read the database and delivered each event.
 *
 * @param limitMs Time after which a statement fails, milliseconds.
 * @param latencyMs Time that a request takes, milliseconds.
 */
async function hooked(limitMs: number, latencyMs = 0) {
  const clock = new FakeNetwork(1);
  const reads: number[] = [];
  const closed = Promise.withResolvers<void>();
  const database = {
    rows: (sql: string) => Promise.resolve(sql.includes("count") ? [{ n: 0 }] : []), // nothing was forgotten
    [Symbol.asyncDispose]: () => Promise.resolve(closed.resolve()),
  } as unknown as Database;
  const position = {
    key: { webhook: "00", kinds: [] },
    take: async () => {
      reads.push(clock.now());
      const limit = new Promise<void>((resolve) => clock.after(limitMs, resolve));
      await Promise.race([limit, closed.promise]);
      throw new Unavailable("the server does not respond");
    },
  } as unknown as WebhookPosition;
  const report = () => {};
  const feed = new EventFeedQueue({
    ...{ database, position, clock, report },
    wasSent: () => false,
    shown: (one) => one,
  });
  const outbox = await outboxIn();
  const delivered: number[] = [];
  const hook = new Webhook(newReceiver("json", "http://127.0.0.1/"), {
    ...{ clock, outbox, feed, report },
    fetch: async (_, { body }) => {
      const { length } = JSON.parse(new TextDecoder().decode(body as Uint8Array));
      if (latencyMs > 0) await new Promise<void>((resolve) => clock.after(latencyMs, resolve));
      delivered.push(...Array(length).fill(clock.now()));
      return new Response("");
    },
  });
  let added = 0;
  const add = (count: number) => {
    for (const end = added + count; added < end; added++) {
      hook.add({ event: "players", id: `${added}`, at: added } as unknown as WatchEvent);
    }
  };
  const pass = (ms: number) => clock.run(new Promise<void>((done) => clock.after(ms, done)));
  return { hook, clock, reads, delivered, add, pass };
}

Deno.test("a silent database delays events that it does not have by one statement at most", async () => {
  const { hook, clock, delivered, add, pass } = await hooked(LIMIT_MS);
  const start = clock.now();
  add(1);
  await pass(1000);
  add(250); // three requests
  await pass(LIMIT_MS + 1000);
  assertEquals(delivered.length, 251);
  assert(delivered.at(-1)! - start <= LIMIT_MS, String(delivered));
  await clock.run(hook.close());
});

Deno.test("while other events always wait, a database that failed is read again after a minute", async () => {
  const { hook, clock, reads, add, pass } = await hooked(1000, 2000);
  add(1);
  for (let second = 0; second < 200; second++) {
    add(3);
    await pass(1000);
    assert(hook.waitingInOutbox > 0, String(second));
  }
  assert(reads.length > 2 && reads.length < 6, String(reads));
  for (let i = 1; i < reads.length; i++) assert(reads[i] - reads[i - 1] >= 60_000, String(reads));
  await clock.run(hook.close());
});

Deno.test("the end of a webhook waits 11 seconds for a silent database", async () => {
  const { hook, clock, delivered, add, pass } = await hooked(3_600_000);
  await pass(2000); // a statement has begun
  add(1);
  const start = clock.now();
  await clock.run(hook.close());
  assert(clock.now() - start <= 11_000, String(clock.now() - start));
  assertEquals([delivered.length, hook.lost], [0, 1]); // there is no file
});
