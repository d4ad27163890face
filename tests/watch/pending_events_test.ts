/** Covers src/watch/pending_events.ts and src/watch/poll_queue.ts. */
import { assertEquals } from "@std/assert";
import { emptyRecord, type ServerRecord } from "../../src/core/record.ts";
import type { ServerEvent, WatchEvent } from "../../src/store/events/watch_event.ts";
import type { Polls } from "../../src/store/writers/polls.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import { Journal } from "../../src/watch/journal.ts";
import { MAX_DECISION_MS, PendingEvents } from "../../src/watch/pending_events.ts";
import { WatchedServer } from "../../src/watch/watched_server.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

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

/** A watched server that is offline after one failed poll. */
function watched(newEventId: () => string): WatchedServer {
  const rules = {
    intervalMs: 10_000,
    downAfter: 1,
    scanId: "w",
    newEventId,
    allProtocols: PROTOCOLS,
  };
  return new WatchedServer({ address: 0x7f000001, port: 1 }, "a.example", rules);
}

/** Pending events whose time a test lets pass. */
function scene() {
  const network = new FakeNetwork(1);
  const reported: string[] = [];
  const server = watched(() => "x");
  const pending = new PendingEvents(network, ({ id }) => reported.push(id));
  const later = (ms: number) =>
    network.run(new Promise<void>((resolve) => network.after(ms, resolve)));
  return { pending, reported, later, server };
}

Deno.test("what the database decides is reported, and not what the watch has seen", async () => {
  const { pending, reported, later, server } = scene();
  const candidates = pending.add(server, [], [event("a"), event("b", "players")]);
  pending.decided(polls(candidates), stored(event("a"), event("c")));
  await later(2 * MAX_DECISION_MS);
  pending.close();
  assertEquals(reported, ["a", "c"]);
});

Deno.test("while the database cannot be written, events are reported after 10 seconds, and once", async () => {
  const { pending, reported, later, server } = scene();
  const first = pending.add(server, [], [event("a", "offline")]);
  await later(MAX_DECISION_MS - 1);
  assertEquals(reported, []);
  await later(1);
  assertEquals(reported, ["a"]);
  const second = pending.add(server, first, [event("b", "online")]);
  await later(MAX_DECISION_MS);
  assertEquals([reported, ids(second)], [["a", "b"], ["a", "b"]]);
  const third = pending.add(server, second, [event("c", "offline")]);
  await later(MAX_DECISION_MS);
  const fourth = pending.add(server, third, [event("d", "online")]);
  assertEquals([ids(third), ids(fourth)], [["a", "b", "c"], ["b", "c", "d"]]);
  // An earlier transaction of unknown outcome has stored the first event.
  const all = [event("a", "offline"), event("d", "online"), event("e")];
  pending.decided(polls(fourth), stored(...all));
  pending.close();
  assertEquals(reported, ["a", "b", "c", "d", "e"]);
});

/** Reports a server as offline without the database. */
async function reportOffline({ pending, later, server }: ReturnType<typeof scene>) {
  const candidates = pending.add(server, [], [event("offline", "offline")]);
  await later(MAX_DECISION_MS);
  return candidates;
}

Deno.test("a server that was reported as offline, and replied before the database could be written, is reported online", async () => {
  const one = scene();
  const candidates = one.pending.add(one.server, await reportOffline(one), [
    event("online", "online"),
  ]);
  one.pending.decided(polls(candidates), []);
  await one.later(2 * MAX_DECISION_MS);
  assertEquals(one.reported, ["offline", "online"]);
  one.pending.decided(polls(one.pending.add(one.server, [], [event("next", "offline")])), []);
  assertEquals(one.reported.length, 2); // from now on the database decides
});

Deno.test("a server that was reported as offline, and that other watches keep online, is reported online when it replies", async () => {
  const one = scene();
  one.pending.decided(polls(await reportOffline(one)), []);
  one.pending.decided(polls(one.pending.add(one.server, [], [event("other")])), []);
  assertEquals(one.reported, ["offline"]);
  one.pending.decided(polls(one.pending.add(one.server, [], [event("online", "online")])), []);
  one.pending.decided(polls(one.pending.add(one.server, [], [event("again", "online")])), []);
  assertEquals(one.reported, ["offline", "online"]);
});

Deno.test("a server that was reported as offline, and that other watches keep online for a while, is offline once", async () => {
  const { pending, reported, later, server } = scene();
  const ofServer = (candidates: readonly ServerEvent[]) => {
    const { servers: [one], ...others } = polls(candidates);
    return { ...others, servers: [{ ...one, identity: server.identity }] };
  };
  const first = pending.add(server, [], [event("a", "offline")]);
  await later(MAX_DECISION_MS);
  pending.decided(ofServer(first), []);
  for (const _ of [1, 2]) {
    const again = pending.withUnended(ofServer([]));
    assertEquals(ids(again.servers[0].candidates), ["a"]);
    pending.decided(again, []);
  }
  pending.decided(pending.withUnended(ofServer([])), stored(event("a", "offline")));
  assertEquals(pending.withUnended(ofServer([])).servers[0].candidates, []);
  pending.decided(ofServer([]), stored(event("b", "online")));
  pending.close();
  assertEquals(reported, ["a", "b"]);
});

Deno.test("a column that has its earlier value again is reported, if its change was reported without the database", async () => {
  const { pending, reported, later, server } = scene();
  const change = (id: string, ...columns: readonly string[]) => {
    const changes = Object.fromEntries(columns.map((name) => [name, ["a", "b"]]));
    return { ...event(id), changes } as unknown as ServerEvent;
  };
  const first = pending.add(server, [], [change("there", "motd")]);
  await later(MAX_DECISION_MS);
  const second = pending.add(server, first, [change("back", "motd"), change("other", "map")]);
  pending.decided(polls(second), stored(change("other", "map")));
  assertEquals(reported, ["there", "back", "other"]);
});

Deno.test("events that wait at the end are reported", async () => {
  const { pending, reported, later, server } = scene();
  const candidates = pending.add(server, [], [event("a")]);
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
  const server = watched(() => `${++count}`);
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
      const candidates = polls.servers.flatMap(({ candidates }) => candidates);
      const events = stored(...candidates, ...polls.dropped.map(({ event }) => event));
      return Promise.resolve({ events, online: new Map() });
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

Deno.test("a server is online or offline for the user when its event is reported", async () => {
  const network = new FakeNetwork(1);
  const server = watched(() => crypto.randomUUID());
  const reported: string[] = [];
  let away = true;
  let online = true;
  const journal = new Journal({
    name: "a.db",
    scanId: "w",
    clock: network,
    report: () => {},
    onEvent: ({ event }) => reported.push(event),
    write: ({ servers }) => {
      if (away) return Promise.reject(new Error("gone"));
      const states = servers.map(({ identity }) => [identity.key, online] as const);
      return Promise.resolve({ events: [], online: new Map(states) });
    },
  });
  const shown: (boolean | undefined)[] = [];
  const later = async (ms: number) => {
    await new Promise<void>((resolve) => network.after(ms, resolve));
    shown.push(server.reportedOnline);
  };
  await network.run((async () => {
    journal.addPoll(server, server.addReply(row("one"), 1), 1);
    await later(MAX_DECISION_MS - 1);
    await later(1); // the database cannot be written: the event is reported as the watch has seen it
    journal.addPoll(server, server.addFailure(2), 2);
    await later(MAX_DECISION_MS - 1);
    await later(1);
    away = false;
    await later(30_000); // another watch keeps the server online, and no event says so
    journal.addPoll(server, server.addReply(row("one"), 3), 3);
    await later(30_000);
    journal.addPoll(server, server.addFailure(4), 4);
    await later(30_000); // another watch still gets replies
    online = false; // another watch has reported that the server is offline
    journal.addPoll(server, server.addFailure(5), 5);
    await later(30_000);
    await journal.close(1000);
  })());
  assertEquals(shown, [undefined, true, true, false, false, true, true, false]);
  assertEquals(reported, ["online", "offline", "online"]);
});
