/** Covers src/watch/pending_events.ts and src/watch/poll_queue.ts. */
import { assertEquals } from "@std/assert";
import { emptyRecord, type ServerRecord } from "../../src/core/record.ts";
import type { ServerEvent, WatchEvent } from "../../src/store/events/watch_event.ts";
import type { Polls } from "../../src/store/rows/polls.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import { Journal, MAX_DECISION_MS, PendingEvents, WatchedServer } from "../../src/watch/mod.ts";

const event = (id: string, kind = "changed") =>
  ({ id, event: kind, at: 1, changes: {}, server: {} }) as unknown as ServerEvent;
const stored = (...events: readonly ServerEvent[]) =>
  events.map((event) => ({ event, isStored: event.event !== "players" }));
/** The results of polls of a server, of which only the events count. */
const polls = (candidates: readonly ServerEvent[]) =>
  ({
    servers: [{ identity: { key: "a" }, candidates }],
    dropped: [],
    watcherEvents: [],
  }) as unknown as Polls;
const ids = (events: readonly ServerEvent[]) => events.map(({ id }) => id);

/** Pending events whose time a test lets pass. */
function scene() {
  const network = new FakeNetwork(1);
  const reported: string[] = [];
  const pending = new PendingEvents(network, ({ id }) => reported.push(id));
  const later = (ms: number) =>
    network.run(new Promise<void>((resolve) => network.after(ms, resolve)));
  return { pending, reported, later };
}

Deno.test("what the database decides is reported, and not what the watch has seen", async () => {
  const { pending, reported, later } = scene();
  const candidates = pending.add([], [event("a"), event("b", "players")]);
  pending.decided(polls(candidates), stored(event("a"), event("c")));
  await later(2 * MAX_DECISION_MS);
  pending.close();
  assertEquals(reported, ["a", "c"]);
});

Deno.test("while the database cannot be written, events are reported after 10 seconds, and once", async () => {
  const { pending, reported, later } = scene();
  const first = pending.add([], [event("a", "offline")]);
  await later(MAX_DECISION_MS - 1);
  assertEquals(reported, []);
  await later(1);
  assertEquals(reported, ["a"]);
  const second = pending.add(first, [event("b", "online")]);
  await later(MAX_DECISION_MS);
  assertEquals([reported, ids(second)], [["a", "b"], ["a", "b"]]);
  const third = pending.add(second, [event("c", "offline")]);
  await later(MAX_DECISION_MS);
  const fourth = pending.add(third, [event("d", "online")]);
  assertEquals([ids(third), ids(fourth)], [["a", "b", "c"], ["b", "c", "d"]]);
  // An earlier transaction of unknown outcome has stored the first event.
  const all = [event("a", "offline"), event("d", "online"), event("e")];
  pending.decided(polls(fourth), stored(...all));
  pending.close();
  assertEquals(reported, ["a", "b", "c", "d", "e"]);
});

/** Reports a server as offline without the database. */
async function reportOffline({ pending, later }: ReturnType<typeof scene>) {
  const candidates = pending.add([], [event("offline", "offline")]);
  await later(MAX_DECISION_MS);
  return candidates;
}

Deno.test("a server that was reported as offline, and replied before the database could be written, is reported online", async () => {
  const one = scene();
  const candidates = one.pending.add(await reportOffline(one), [event("online", "online")]);
  one.pending.decided(polls(candidates), []);
  await one.later(2 * MAX_DECISION_MS);
  assertEquals(one.reported, ["offline", "online"]);
  one.pending.decided(polls(one.pending.add([], [event("next", "offline")])), []);
  assertEquals(one.reported.length, 2); // from now on the database decides
});

Deno.test("a server that was reported as offline, and that other watches keep online, is reported online when it replies", async () => {
  const one = scene();
  one.pending.decided(polls(await reportOffline(one)), []);
  one.pending.decided(polls(one.pending.add([], [event("other")])), []);
  assertEquals(one.reported, ["offline"]);
  one.pending.decided(polls(one.pending.add([], [event("online", "online")])), []);
  one.pending.decided(polls(one.pending.add([], [event("again", "online")])), []);
  assertEquals(one.reported, ["offline", "online"]);
});

Deno.test("a column that has its earlier value again is reported, if its change was reported without the database", async () => {
  const { pending, reported, later } = scene();
  const change = (id: string, ...columns: readonly string[]) => {
    const changes = Object.fromEntries(columns.map((name) => [name, ["a", "b"]]));
    return { ...event(id), changes } as unknown as ServerEvent;
  };
  const first = pending.add([], [change("there", "motd")]);
  await later(MAX_DECISION_MS);
  const second = pending.add(first, [change("back", "motd"), change("other", "map")]);
  pending.decided(polls(second), stored(change("other", "map")));
  assertEquals(reported, ["there", "back", "other"]);
});

Deno.test("events that wait at the end are reported", async () => {
  const { pending, reported, later } = scene();
  const candidates = pending.add([], [event("a")]);
  pending.close();
  pending.decided(polls(candidates), stored(event("a"))); // a transaction that ends too late
  await later(2 * MAX_DECISION_MS);
  assertEquals(reported, ["a"]);
});

const row = (motd: string): ServerRecord => ({
  ...emptyRecord({ address: 0x7f000001, port: 1 }, 5),
  protocol: "raknet",
  protocols: ["raknet"],
  motd,
});

Deno.test("a journal gives its database what the watch has seen, also after a failed write", async () => {
  const network = new FakeNetwork(1);
  let count = 0;
  const rules = { intervalMs: 10_000, downAfter: 1, scanId: "w", newEventId: () => `${++count}` };
  const server = new WatchedServer({ address: 0x7f000001, port: 1 }, "a.example", rules);
  const [written, reported]: [Polls[], WatchEvent[]] = [[], []];
  let away = true;
  const journal = new Journal({
    name: "a.db",
    scanId: "w",
    clock: network,
    report: () => {},
    onEvent: (event) => reported.push(event),
    write: (polls) => {
      written.push(polls);
      if (away) return Promise.reject(new Error("gone"));
      return Promise.resolve(stored(
        ...polls.servers.flatMap(({ candidates }) => candidates),
        ...polls.dropped.map(({ event }) => event),
      ));
    },
  });
  const later = (ms: number) => new Promise<void>((resolve) => network.after(ms, resolve));
  await network.run((async () => {
    journal.addPoll(server, server.addReply(row("one"), 1), 1);
    await later(1500);
    journal.addPoll(server, server.addReply(row("two"), 2), 2);
    away = false;
    await later(5000);
    journal.addPoll(server, server.addFailure(3), 3);
    journal.drop(server, server.optedOut(4));
    await journal.close(1000);
  })());
  assertEquals(written.map(({ servers }) => servers.map(({ candidates }) => ids(candidates))), [
    [["1"]],
    [["1", "2"]],
    [["3"]],
  ]);
  assertEquals(reported.map(({ id, event }) => [id, event]), [
    ["1", "online"],
    ["2", "changed"],
    ["3", "offline"],
    ["4", "opted_out"],
  ]);
  assertEquals(written[2].dropped.map(({ event }) => event.id), ["4"]);
});
