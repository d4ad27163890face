/** Covers src/watch/webhook/event_feed_queue.ts and src/store/events/sendable_events.ts. */
import { assert, assertEquals } from "@std/assert";
import type { Database } from "../../../src/store/database/database.ts";
import { EVENT_KINDS } from "../../../src/store/events/watch_event.ts";
import { removeServers, writeTombstones } from "../../../src/store/forget/forget_servers.ts";
import { removeEvents } from "../../../src/store/remove_old_rows.ts";
import { writeEvents } from "../../../src/store/events/write_events.ts";
import { newEventId } from "../../../src/store/rows/uuid.ts";
import { Store } from "../../../src/store/store.ts";
import type { WatchEvent } from "../../../src/store/events/watch_event.ts";
import { newReceiver } from "../../../src/watch/webhook/receivers.ts";
import { Webhook } from "../../../src/watch/webhook/webhook.ts";
import { all, onEngines, onSqlite } from "../../store/databases.ts";
import { forgettable, record, scanId, watchId } from "../../store/records.ts";
import {
  breakable,
  endLeases,
  NOW,
  numbers,
  prepare,
  queueOf,
  write,
  writeOffline,
} from "./feed_queues.ts";
import { outboxIn } from "./outboxes.ts";

/** Writes an event `offline` of a scan, about a server that no watch has observed. */
async function writeOfScan(database: Database, at: number): Promise<void> {
  const found = record(2, { seen_at: at, scan_id: scanId(1) });
  const store = new Store(database, () => Promise.resolve());
  await store.begin({ id: scanId(1), kind: "sweep", at, config: "{}" });
  await store.write([found]);
  const [{ server, scan }] = await all(
    database,
    "select s.id as server, c.id as scan from servers s, scans c where s.port = 2 and c.kind = 'sweep'",
  );
  await database.transaction(() =>
    writeEvents(database, [{
      ...{ id: newEventId(at), at, server: Number(server), scan: Number(scan), kind: "offline" },
      data: { missed_scans: 2, replied_at: null },
    }])
  );
}

onEngines(
  "a new webhook gets later events only, in order, and continues after each removal",
  async (db) => {
    await prepare(db);
    await write(db, 1, 2);
    const first = await queueOf(db);
    assertEquals(await first.queue.oldest(10), []);
    await write(db, ...Array.from({ length: 250 }, (_, i) => i));
    const some = await first.queue.oldest(3);
    assertEquals(numbers(some), [0, 1, 2]);
    const [event] = some;
    assertEquals([event.event, event.host, event.port, event.scan_id, event.at], [
      ...["offline", "127.0.0.1", 1, watchId(1), NOW],
    ]);
    assertEquals(await first.queue.accept(some[1].id), 2);
    assertEquals((await first.queue.oldest(1000)).length, 248);
    await endLeases(db); // as 20 seconds after the watch was killed
    const next = await queueOf(db, 2);
    assertEquals(numbers(await next.queue.oldest(1)), [2]);
    assertEquals(await first.queue.accept(some[2].id), 1); // the request had been sent
    assertEquals([await first.queue.oldest(1), numbers(await next.queue.oldest(1))], [[], [2]]);
    await next.queue.close();
    assertEquals(next.queue.waiting, 248);
    await first.queue.close();
  },
);

onEngines("one of two watches sends, and the other one when the first has ended", async (db) => {
  await prepare(db);
  const [one, two] = [await queueOf(db, 1), await queueOf(db, 2)];
  assertEquals([await one.queue.oldest(1), await two.queue.oldest(1)], [[], []]);
  await write(db, 1, 2);
  assertEquals([await two.queue.oldest(1), numbers(await one.queue.oldest(2))], [[], [1, 2]]);
  await one.queue.accept((await one.queue.oldest(1))[0].id);
  await one.queue.close();
  await two.clock.run(new Promise<void>((resolve) => two.clock.after(6000, resolve)));
  assertEquals(numbers(await two.queue.oldest(2)), [2]);
  await two.queue.close();
  assertEquals([one.lost, two.lost], [[], []]);
});

onEngines(
  "events that prune removes while they wait are reported with their number",
  async (db) => {
    await prepare(db);
    const { queue, lost, clock } = await queueOf(db, 1, { kinds: ["offline"] });
    assertEquals(await queue.oldest(1), []);
    await write(db, 1, 2, 3);
    await writeOfScan(db, NOW); // the webhook does not get this event: no watch has observed its server
    const [first] = await queue.oldest(1);
    await queue.accept(first.id);
    assertEquals(await removeEvents(db, NOW + 1, () => Promise.resolve()), 5); // the first scan tells of no new server
    assertEquals(await queue.oldest(9), []);
    await clock.run(new Promise<void>((resolve) => clock.after(20_000, resolve)));
    await queue.oldest(1);
    assertEquals(lost, [[2, "2 events pruned before delivery"]]);
    await clock.run(new Promise<void>((resolve) => clock.after(20_000, resolve)));
    assertEquals(lost.length, 1);
    await queue.close();
  },
);

onEngines("a request that may have more than 1,000 events gets all that wait", async (db) => {
  await prepare(db);
  const { queue } = await queueOf(db);
  assertEquals(await queue.oldest(1), []);
  await write(db, ...Array.from({ length: 2345 }, (_, i) => i));
  const events = await queue.oldest(10_000);
  assertEquals(numbers(events), Array.from({ length: 2345 }, (_, i) => i));
  assertEquals(await queue.accept(events.at(-1)!.id), 2345);
  assertEquals(await queue.oldest(10_000), []);
  await queue.close();
});

onEngines(
  "events that wait for a repeated request show changes of their servers, and forgotten servers have none",
  async (db) => {
    await prepare(db);
    const { queue, lost } = await queueOf(db);
    assertEquals(await queue.oldest(1), []);
    await write(db, 1);
    await writeOffline(db);
    const names = async () => (await queue.oldest(9)).map(({ event, name }) => [event, name]);
    assertEquals(await names(), [["offline", null], ["watcher_offline", null]]);
    await db.script("update servers set name = 'renamed'");
    assertEquals(await names(), [["offline", "renamed"], ["watcher_offline", null]]);
    const server = forgettable(record(1), 1);
    await writeTombstones(db, [server], NOW);
    await removeServers(db, [server], () => Promise.resolve());
    assertEquals(await names(), [["watcher_offline", null]]);
    assertEquals(lost, []);
    await queue.close();
  },
);

onEngines(
  "a webhook that no watch had for a week is new, and its events are counted",
  async (db) => {
    await prepare(db);
    const old = await queueOf(db);
    assertEquals(await old.queue.oldest(1), []);
    await write(db, 1, 2, 3);
    await old.queue.close();
    const set = (days: number) =>
      db.script(
        "update webhook_positions set held_until = held_until - " +
          (db.engine === "postgres" ? `interval '${days} days'` : `${days} * 86400000`),
      );
    await set(6);
    const soon = await queueOf(db, 2);
    assertEquals([soon.givenUp, numbers(await soon.queue.oldest(9))], [0, [1, 2, 3]]);
    await soon.queue.close();
    await set(8);
    const late = await queueOf(db, 3);
    assertEquals([late.givenUp, await late.queue.oldest(9)], [3, []]);
    await late.queue.close();
  },
);

onEngines("other kinds of events continue where the webhook stands", async (db) => {
  await prepare(db);
  const one = await queueOf(db);
  assertEquals(await one.queue.oldest(1), []);
  await write(db, 1, 2);
  await one.queue.accept((await one.queue.oldest(1))[0].id);
  await one.queue.close();
  const other = await queueOf(db, 2, { kinds: ["offline", "online"] });
  assertEquals(numbers(await other.queue.oldest(9)), [2]);
  await other.queue.close();
  const none = await queueOf(db, 2, { kinds: ["restarted"] });
  assertEquals(await none.queue.oldest(9), []);
  await none.queue.close();
  assertEquals(none.queue.waiting, 0);
});

onEngines("a webhook that returns to earlier kinds of events gets each event once", async (db) => {
  await prepare(db);
  const sent: unknown[] = [];
  const watch = async (kinds: readonly string[], most = 9) => {
    const { queue, givenUp, lost } = await queueOf(db, 1, { kinds });
    const events = await queue.oldest(most);
    sent.push(...numbers(events));
    if (events.length > 0) await queue.accept(events.at(-1)!.id);
    await queue.close();
    assertEquals([givenUp, lost], [0, []]);
    return queue.waiting;
  };
  await watch(["offline"]);
  await write(db, 1, 2);
  await watch(["offline", "watcher_offline"]);
  assertEquals([await watch(["offline"]), sent], [0, [1, 2]]);
  await write(db, 3);
  await writeOffline(db);
  await write(db, 4, 5);
  await watch(["watcher_offline"]);
  assertEquals(sent.slice(2), [undefined]); // the watch's own outage
  assertEquals([await watch(["offline", "watcher_offline"], 2), sent.slice(3)], [1, [3, 4]]);
  await removeEvents(db, NOW + 1, () => Promise.resolve());
  const pruned = await all(db, "select kinds, pruned from webhook_positions order by kinds");
  assertEquals(pruned.map(Object.values), [
    ...[["offline", 1], ["offline,watcher_offline", 1], ["watcher_offline", 0]],
  ]);
});

onEngines(
  "events of scans are sent if they are new servers, or a watch has observed the server",
  async (db) => {
    await prepare(db);
    const { queue } = await queueOf(db, 1, { shown: (one) => ({ ...one, players: null }) });
    assertEquals(await queue.oldest(1), []);
    const store = new Store(db, () => Promise.resolve());
    await store.write([
      record(1, { seen_at: NOW + 1000, scan_id: scanId(5), motd: "new", players: ["Ann"] }),
      record(2, { seen_at: NOW + 1000, scan_id: scanId(5) }), // a server that no watch has observed
    ]);
    assertEquals((await queue.oldest(9)).map(({ event, port }) => [event, port]), [
      ["changed", 1],
      ["new", 2],
    ]);
    await db.run("update server_state set online = ?", [db.engine === "postgres" ? "f" : 0]);
    await store.write([record(1, { seen_at: NOW + 9000, scan_id: scanId(5), players: ["Ann"] })]);
    const online = (await queue.oldest(9)).find(({ event }) => event === "online");
    assert(online?.event === "online");
    assertEquals([online.event, online.server.players, online.server.seen_at], [
      ...["online", null, NOW + 9000],
    ]);
    await queue.close();
  },
);

onEngines("broken and foreign rows do not stop the queue", async (db) => {
  await prepare(db);
  const { queue, lost } = await queueOf(db);
  assertEquals(await queue.oldest(1), []);
  await write(db, 1);
  const scan = Number((await all(db, "select id from scans"))[0].id);
  const base = { at: NOW, server: 1, scan, kind: "offline" };
  const rows = [
    { ...base, data: { misses: "many" } },
    { ...base, kind: "changed", data: { changes: 5 } },
    { ...base, server: 99, data: {} }, // its server was forgotten
    { ...base, server: 99, kind: "online", data: { offline_ms: 1 } },
    { ...base, kind: "later_kind", data: {} },
  ].map((row) => ({ ...row, id: newEventId(NOW) }));
  await db.transaction(() => writeEvents(db, rows));
  if (db.engine === "sqlite") {
    await db.script("update events set data = 'not JSON' where kind = 'changed'");
  }
  await write(db, 2);
  assertEquals(numbers(await queue.oldest(9)), [1, 2]);
  assertEquals(lost.map(([count]) => count), [1, 1]);
  await queue.close();
});

onEngines(
  "while the database is not available nothing is lost, and one message says so",
  async (db) => {
    await prepare(db);
    const away = breakable(db);
    const { queue, lines, clock } = await queueOf(away.database);
    assertEquals(await queue.oldest(1), []);
    await write(db, 1, 2, 3);
    away.isAway = true;
    for (let second = 0; second < 9; second++) { // while the lease is valid, and then without it
      assertEquals(await queue.oldest(1), []);
      await clock.run(new Promise<void>((resolve) => clock.after(1000, resolve)));
    }
    away.isAway = false;
    const [first] = await queue.oldest(1);
    assertEquals(lines.splice(0).length, 2);
    away.isAway = true;
    assertEquals(await queue.accept(first.id), 1);
    await clock.run(new Promise<void>((resolve) => clock.after(30_000, resolve)));
    assertEquals(await queue.oldest(9), []);
    assertEquals(lines, [
      "events for the webhook cannot be read: gone; they wait in the database",
    ]);
    away.isAway = false;
    assertEquals(numbers(await queue.oldest(9)), [2, 3]); // the removal is written first
    assertEquals(lines.slice(1), ["events for the webhook can be read again"]);
    await queue.close();
    assertEquals(queue.waiting, 2);
  },
);

onEngines("a position of another PostgreSQL server does not hide later events", async (db) => {
  if (db.engine === "sqlite") return;
  await prepare(db);
  const before = await queueOf(db);
  await before.queue.close();
  await db.script("update webhook_positions set tx = '9000000000000000000', seq = 1");
  const { queue } = await queueOf(db);
  assertEquals(await queue.oldest(9), []); // as a new webhook
  await write(db, 1);
  assertEquals(numbers(await queue.oldest(9)), [1]);
  await queue.close();
});

onEngines(
  "an event that was sent during an outage of the database is not sent again",
  async (db) => {
    await prepare(db);
    const outbox = await outboxIn();
    const { queue, clock } = await queueOf(db, 1, { wasSent: (id) => outbox.handOver(id, "00") });
    const sent: WatchEvent[] = [];
    const hook = new Webhook(newReceiver("json", "http://127.0.0.1/"), {
      ...{ clock, outbox, feed: queue, report: () => {} },
      fetch: (_, { body }) => {
        sent.push(...JSON.parse(new TextDecoder().decode(body as Uint8Array)));
        return Promise.resolve(new Response(""));
      },
    });
    const id = newEventId(NOW);
    const base = { at: NOW, host: "127.0.0.1", port: 1, requested_as: null, scan_id: watchId(1) };
    const event = { ...base, id, name: null, event: "offline", misses: 3, replied_at: null };
    hook.add({ ...event, unresponsive_since: null } as WatchEvent);
    await hook.idle();
    const scan = Number((await all(db, "select id from scans"))[0].id);
    const data = { misses: 3, replied_at: null, unresponsive_since: null };
    await db.transaction(() =>
      writeEvents(db, [{ id, at: NOW, server: 1, scan, kind: "offline", data }])
    );
    await write(db, 7);
    hook.add({ ...event, id: "stored", unresponsive_since: null } as WatchEvent, true);
    await hook.close();
    assertEquals(sent.map(({ id: one }) => one === id), [true, false]);
    assertEquals([hook.delivered, hook.waiting, hook.lost], [2, 0, 0]);
    assert(!sent.some(({ id: one }) => one === "stored")); // the database sends its own row
  },
);

for (const kinds of [EVENT_KINDS.filter((kind) => kind !== "players"), []]) {
  onSqlite(
    `events of forgotten servers leave the outbox, also while requests fail, and are not sent${
      kinds.length === 0 ? ", if the webhook gets no event of the database" : ""
    }`,
    async (db) => {
      await prepare(db);
      const { queue, clock } = await queueOf(db, 1, { kinds });
      const outbox = await outboxIn();
      const requests: string[][] = [];
      let isUp = false;
      await using hook = new Webhook(newReceiver("json", "http://127.0.0.1/"), {
        ...{ clock, outbox, feed: queue, report: () => {} },
        fetch: (_, { body }) => {
          if (!isUp) return Promise.reject(new Error("connection refused"));
          const events: WatchEvent[] = JSON.parse(new TextDecoder().decode(body as Uint8Array));
          requests.push(events.map(({ id }) => id));
          return Promise.resolve(new Response(""));
        },
      });
      const add = (id: string, port: number, requested_as: string | null) =>
        hook.add({
          ...{ id, event: "players", at: NOW, host: "127.0.0.1", port, requested_as },
          ...{ scan_id: watchId(1), name: null, players_online: [1, 2] },
        });
      const pass = (ms: number) =>
        clock.run(new Promise<void>((resolve) => clock.after(ms, resolve)));
      add("a", 1, null);
      add("b", 2, null);
      add("c", 3, "play.example.org");
      await pass(25_000);
      assertEquals(hook.waitingInOutbox, 3);
      const service = { id: undefined, key: "play.example.org", keys: ["play.example.org"] };
      await writeTombstones(db, [forgettable(record(1)), service], NOW);
      await pass(15_000);
      assertEquals(hook.waitingInOutbox, 1);
      isUp = true;
      add("d", 1, null); // the watch still polls the server
      await pass(60_000);
      assertEquals([requests, hook.waitingInOutbox, hook.delivered, hook.lost], [[["b"]], 0, 1, 0]);
    },
  );
}

onEngines(
  "the queue finds events whose servers were forgotten, by name and by address",
  async (db) => {
    await prepare(db);
    const { queue } = await queueOf(db);
    const event = (id: string, port: number, requested_as: string | null): WatchEvent => ({
      ...{ id, event: "players", at: NOW, host: "127.0.0.1", port, requested_as },
      ...{ scan_id: watchId(1), name: null, players_online: [1, 2] },
    });
    const events = [event("a", 1, null), event("b", 2, null), event("c", 3, "play.example.org")];
    assertEquals([...await queue.forgotten(events)], []);
    const service = { id: undefined, key: "play.example.org", keys: ["play.example.org"] };
    await writeTombstones(db, [forgettable(record(1)), service], NOW);
    assertEquals([...await queue.forgotten(events)], ["a", "c"]);
    await queue.close();
  },
);
