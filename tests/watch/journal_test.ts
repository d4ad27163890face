/** Covers src/watch/journal.ts and src/watch/poll_states.ts. */
import { assert, assertEquals } from "@std/assert";
import { emptyRecord, type ServerRecord } from "../../src/core/record.ts";
import type { PolledServer, PollObservation } from "../../src/store/writers/polls.ts";
import { Journal } from "../../src/watch/journal.ts";
import { WatchedServer } from "../../src/watch/watched_server.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

const rules = {
  intervalMs: 10_000,
  downAfter: 3,
  scanId: "watch",
  newEventId: () => "event",
  allProtocols: PROTOCOLS,
};
const row = (port: number, over: Partial<ServerRecord> = {}): ServerRecord => ({
  ...emptyRecord({ address: 0x7f000001, port }, 5),
  protocol: "raknet",
  protocols: ["raknet"],
  motd: "Hi",
  players_online: 3,
  ...over,
});

/** The result of a transaction that changes no server. */
const NOTHING = { events: [], online: new Map<string, boolean>() };

/** A fake database that can be unavailable, and the results written to it. */
function fakeList(network: FakeNetwork, maxQueued?: number) {
  const servers = new Map<string, PolledServer>();
  const states: PollObservation[] = [];
  const reported: string[] = [];
  const list = { away: false, servers, states, reported, writes: 0 };
  const journal = new Journal({
    name: "a.db",
    scanId: "watch",
    clock: network,
    maxQueued,
    report: (line) => reported.push(line),
    write: ({ servers: some, observations: seen }) => {
      if (list.away) return Promise.reject(new Error("Cannot write to a.db: gone"));
      list.writes++;
      assert(some.length <= 1000 && seen.length <= 1000);
      for (const one of some) servers.set(one.identity.key, one);
      states.push(...seen);
      return Promise.resolve(NOTHING);
    },
  });
  return { list, journal };
}

const DAY = 86_400_000;
const server = (port: number) => new WatchedServer({ address: 0x7f000001, port }, null, rules);
const ports = (states: readonly PollObservation[]) => states.map(({ identity }) => identity.port);

Deno.test("changes are observed at once, unchanged servers once an hour, and all states are written", async () => {
  const network = new FakeNetwork(1);
  const { list, journal } = fakeList(network);
  const one = server(1);
  const poll = (at: number, reply?: ServerRecord) =>
    journal.addPoll(one, reply === undefined ? one.addFailure(at) : one.addReply(reply, at), at);
  const hour = 3_600_000;
  poll(0, row(1));
  for (let at = 60_000; at < hour; at += 60_000) poll(at, row(1, { seen_at: at }));
  poll(hour, row(1, { seen_at: hour }));
  poll(hour + 1, row(1, { players_online: 4 }));
  poll(hour + 2, row(1, { players_online: 4, motd: "Ho" }));
  for (const at of [3, 4]) poll(hour + at);
  assertEquals(one.misses, 2);
  poll(hour + 5);
  poll(hour + 6);
  poll(2 * hour + 7);
  poll(2 * hour + 8, row(1, { players_online: 4, motd: "Ho", seen_at: 9 }));
  for (const at of [9, 10]) poll(2 * hour + at, row(1, { players_online: 4, motd: "Ho" }));
  await network.run(journal.close(1000));
  assertEquals(
    list.states.map(({ at, record, polls }) => [at, record?.players_online ?? null, polls]),
    [
      [0, 3, 1],
      [hour, 3, 60],
      [hour + 1, 4, 1],
      [hour + 2, 4, 1],
      [hour + 3, null, 3], // the first of the failed polls
      [2 * hour + 7, null, 2],
      [2 * hour + 8, 4, 1],
      [2 * hour + 10, 4, 2], // the polls up to the end
    ],
  );
  const [state] = list.servers.values();
  assertEquals([state.outage, state.at, state.record?.motd], [undefined, 2 * hour + 10, "Ho"]);
});

Deno.test("a server keeps its record after a failed poll, and a server without a reply has no row", async () => {
  const network = new FakeNetwork(1);
  const { list, journal } = fakeList(network);
  const [one, never] = [server(1), server(2)];
  journal.addPoll(one, one.addReply(row(1), 10), 10);
  journal.addPoll(one, one.addFailure(20), 20);
  for (let at = 0; at < 5; at++) journal.addPoll(never, never.addFailure(at), at);
  await network.run(journal.close(1000));
  const { record, outage, at } = list.servers.get("127.0.0.1:1")!;
  assertEquals([record?.motd, outage, at], ["Hi", undefined, 20]);
  assertEquals(list.servers.get("127.0.0.1:2")?.record, undefined);
  assertEquals(ports(list.states), [1]);
});

Deno.test("a crawl writes failed polls of an online server only when they make it offline", async () => {
  for (const [failures, at] of [[1, 10], [2, 10], [3, 23]]) {
    const network = new FakeNetwork(1);
    const { list, journal } = fakeList(network);
    const endpoint = { address: 0x7f000001, port: 1 };
    const one = new WatchedServer(endpoint, null, { ...rules, isCrawl: true });
    journal.addPoll(one, one.addReply(row(1), 10), 10);
    for (let i = 1; i <= failures; i++) journal.addPoll(one, one.addFailure(20 + i), 20 + i);
    await network.run(journal.close(1000));
    const sum = list.states.reduce((sum, { polls }) => sum + polls, 0);
    assertEquals(sum, failures === 3 ? 4 : 1, "failed polls wait for the next observation");
    const { at: written, record } = list.servers.get("127.0.0.1:1")!;
    assertEquals([written, one.known.probedAt, record?.motd], [at, at, "Hi"]);
  }
});

Deno.test("polls continue while the database is unavailable, and queued results are written later", async () => {
  const network = new FakeNetwork(1);
  const { list, journal } = fakeList(network);
  const servers = Array.from({ length: 2500 }, (_, i) => server(i + 1));
  list.away = true;
  const later = (ms: number) => new Promise<void>((resolve) => network.after(ms, resolve));
  await network.run((async () => {
    for (const one of servers) journal.addPoll(one, one.addReply(row(one.endpoint.port), 1), 1);
    await later(100_000);
    for (const one of servers) {
      const now = row(one.endpoint.port, { players_online: 9 });
      journal.addPoll(one, one.addReply(now, 2), 2);
    }
    await later(30_000);
    assertEquals([journal.written, list.reported.length, journal.failing], [0, 1, true]);
    assertEquals(journal.waiting, 7500); // the newest states, and two observations of each server
    list.away = false;
    await later(1500); // after 130 seconds of failures, it is written a second after it is back
    assertEquals([journal.written, journal.lost, journal.failing], [5000, 0, false]);
    assertEquals(journal.waiting, 0);
    await journal.close(1000);
  })());
  assertEquals(list.reported, [
    "Cannot write to a.db: gone; the watch continues, and will try to write again",
    "a.db can be written again",
  ]);
  assertEquals(
    [...list.servers.values()].every(({ record }) => record?.players_online === 9),
    true,
  );
  assertEquals(ports(list.states), [...servers, ...servers].map(({ endpoint }) => endpoint.port));
});

Deno.test("the start of a watch is written before its observations, also after a failure", async () => {
  const network = new FakeNetwork(1);
  const { list, journal } = fakeList(network);
  const begun: number[] = [];
  const begin = () => {
    if (list.away) return Promise.reject(new Error("Cannot write to a.db: gone"));
    begun.push(list.writes);
    return Promise.resolve();
  };
  const later = (ms: number) => new Promise<void>((resolve) => network.after(ms, resolve));
  const one = server(1);
  list.away = true;
  await network.run((async () => {
    await journal.begin(begin);
    journal.addPoll(one, one.addReply(row(1), 1), 1);
    await later(5000);
    assertEquals([begun, journal.failing], [[], true]);
    list.away = false;
    await later(10_000);
    assertEquals([begun, list.writes, journal.written, journal.failing], [[0], 1, 1, false]);
    await journal.close(1000);
  })());
  assertEquals(list.reported, [
    "Cannot write to a.db: gone; the watch continues, and will try to write again",
    "a.db can be written again",
  ]);
  const { list: lost, journal: never } = fakeList(network);
  lost.away = true;
  await network.run(
    never.begin(() => Promise.reject(new Error("gone"))).then(() => never.close(1000)),
  );
  assert(never.failing, "the end of a watch that was never noted is not noted");
});

Deno.test("observations over the queue's limit are lost and counted", async () => {
  const network = new FakeNetwork(1);
  const { list, journal } = fakeList(network, 10);
  list.away = true;
  const servers = Array.from({ length: 25 }, (_, i) => server(i + 1));
  const begun = network.now();
  await network.run((async () => {
    for (const one of servers) journal.addPoll(one, one.addReply(row(one.endpoint.port), 1), 1);
    await journal.close(5000);
  })());
  assertEquals([journal.written, journal.lost], [0, 25]);
  const took = network.now() - begun;
  assert(took >= 5000 && took < 6100, String(took));
  const second = fakeList(network, 10);
  for (const one of servers) {
    second.journal.addPoll(one, one.addReply(row(one.endpoint.port, { players_online: 1 }), 1), 1);
  }
  await network.run(second.journal.close(5000));
  assertEquals(ports(second.list.states), servers.slice(15).map(({ endpoint }) => endpoint.port));
  assertEquals([second.journal.lost, second.list.servers.size], [15, 25]);
});

Deno.test("a database that hangs does not delay the end, and its batch counts as lost", async () => {
  const network = new FakeNetwork(1);
  const journal = new Journal({
    name: "a.db",
    scanId: "watch",
    clock: network,
    report: () => {},
    write: () => new Promise(() => {}),
  });
  const [one, two] = [server(1), server(2)];
  journal.addPoll(one, one.addReply(row(1), 1), 1);
  const begun = network.now();
  await network.run((async () => {
    await new Promise<void>((resolve) => network.after(1500, resolve));
    journal.addPoll(two, two.addReply(row(2), 1), 1);
    await journal.close(5000);
  })());
  assertEquals([journal.lost, journal.failing, network.now() - begun], [2, true, 6500]);
});

Deno.test("the state of an unchanged server is written once a minute and at the end", async () => {
  const network = new FakeNetwork(1);
  const { list, journal } = fakeList(network);
  const one = server(1);
  const stands: number[] = [];
  const later = (ms: number) => new Promise<void>((resolve) => network.after(ms, resolve));
  await network.run((async () => {
    for (let at = 0; at < 200_000; at += 10_000) {
      journal.addPoll(one, one.addReply(row(1, { seen_at: at }), at), at);
      await later(10_000);
      const stand = list.servers.get("127.0.0.1:1")!.at;
      if (stands.at(-1) !== stand) stands.push(stand);
    }
    await journal.close(1000);
  })());
  assertEquals(stands, [0, 60_000, 120_000, 180_000]);
  assertEquals(list.servers.get("127.0.0.1:1")!.at, 190_000);
});

/** A journal whose spans and observations are recorded. */
function spanJournal(network: FakeNetwork) {
  const list = {
    away: false,
    spans: new Map<number, number>(),
    seen: [] as number[],
    states: [] as number[],
    sizes: [] as number[], // of the writes of spans
  };
  const attempt = (work: () => void) =>
    list.away ? Promise.reject(new Error("gone")) : Promise.resolve(work());
  const journal = new Journal({
    name: "a.db",
    scanId: "watch",
    clock: network,
    report: () => {},
    write: async ({ observations, servers }) => {
      await attempt(() => list.seen.push(...observations.map(({ at }) => at)));
      list.states.push(...servers.map(({ at }) => at));
      return NOTHING;
    },
    writeSpans: (spans) =>
      attempt(() => {
        list.sizes.push(spans.length);
        for (const { startedAt, endedAt } of spans) list.spans.set(startedAt, endedAt);
      }),
  });
  return { list, journal };
}

/** A journal of spans, and a server. The function `poll` adds a poll of the server, with a reply. */
function polledServer(network: FakeNetwork) {
  const { list, journal } = spanJournal(network);
  const later = (ms: number) => new Promise<void>((resolve) => network.after(ms, resolve));
  const one = server(1);
  const poll = () =>
    journal.addPoll(one, one.addReply(row(1), network.wall()), Math.round(network.wall()));
  return { list, journal, later, poll };
}

Deno.test("the span of a watch grows with each write and each minute, and ends with the watch", async () => {
  const network = new FakeNetwork(1);
  const { list, journal, later, poll } = polledServer(network);
  await network.run((async () => {
    const start = network.wall();
    await journal.begin(() => Promise.resolve());
    assertEquals([...list.spans], [[start, start]]);
    poll();
    await later(1500);
    const end = list.spans.get(start)!;
    assert(end >= start + 1000 && end <= start + 1500, `${end - start}`);
    const writes = list.sizes.length;
    await later(60_000); // nothing is written for a minute
    assertEquals(list.sizes.length, writes + 1);
    assert(list.spans.get(start)! >= start + 60_000);
    list.away = true;
    poll();
    await later(400_000);
    assert(list.spans.get(start)! < start + 130_000, "a write that failed extends nothing");
    list.away = false;
    await later(60_000);
    assert(list.spans.get(start)! > start + 440_000);
    await later(10_000);
    await journal.close(1000);
    assertEquals([...list.spans], [[start, start + 531_500]]);
  })());
});

Deno.test("an outage of the watch ends its span, and each server is observed after it", async () => {
  const network = new FakeNetwork(1);
  const { list, journal, later, poll } = polledServer(network);
  await network.run((async () => {
    const start = network.wall();
    await journal.begin(() => Promise.resolve());
    for (let i = 0; i < 5; i++) {
      poll();
      await later(10_000);
    }
    journal.offline(start + 20_000);
    await later(2000);
    assertEquals([...list.spans], [[start, start + 20_000]]); // at once, the process may be killed
    await later(98_000);
    journal.online(network.wall());
    for (let i = 0; i < 5; i++) {
      await later(10_000);
      poll();
    }
    await journal.close(1000);
    assertEquals([...list.spans], [
      [start, start + 20_000],
      [start + 150_000, start + 200_000],
    ]);
    assert(list.sizes.every((size) => size > 0), "no transaction is empty");
    assertEquals(list.seen, [start, start + 160_000, start + 200_000]); // and at the end
  })());
});

Deno.test("a clock that is set back by a day does not delay observations, states or spans", async () => {
  const network = new FakeNetwork(1);
  const { list, journal, later, poll } = polledServer(network);
  const { wall } = network;
  await network.run((async () => {
    const start = network.wall();
    await journal.begin(() => Promise.resolve());
    poll();
    await later(10_000);
    network.wall = () => wall.call(network) - DAY;
    poll();
    await later(10_000);
    assertEquals(list.states, [start, start + 10_000 - DAY]);
    poll();
    await journal.close(1000);
    assertEquals(list.seen, [start, start + 10_000 - DAY, start + 20_000 - DAY]);
    assertEquals(list.spans.get(start + 10_000 - DAY), start + 20_000 - DAY);
  })());
});

Deno.test("a watch writes a heartbeat every ten seconds, also while nothing is polled, until it is closed", async () => {
  const network = new FakeNetwork(1);
  const start = network.wall();
  const beats: number[] = [];
  let away = false;
  const journal = new Journal({
    ...{ name: "a.db", scanId: "watch", clock: network, report: () => {} },
    write: () => Promise.resolve(NOTHING),
    writeHeartbeat: () => {
      if (away) return Promise.reject(new Error("gone"));
      beats.push(Math.floor((network.wall() - start) / 10_000));
      return Promise.resolve();
    },
  });
  const later = (ms: number) => new Promise<void>((resolve) => network.after(ms, resolve));
  await network.run((async () => {
    await journal.begin(() => Promise.resolve());
    await later(35_000);
    assertEquals(beats, [1, 2, 3]);
    away = true;
    await later(60_000);
    away = false;
    await later(40_000);
    assert(beats.length > 4 && beats[3] >= 9, beats.join());
    await journal.close(1000);
    const { length } = beats;
    await later(60_000);
    assertEquals(beats.length, length);
  })());
});

Deno.test("a batch has the time since when the database can be written; after a failure it is not known", async () => {
  const network = new FakeNetwork(1);
  const start = network.wall();
  const since: number[] = [];
  let away = false;
  const journal = new Journal({
    ...{ name: "a.db", scanId: "watch", clock: network, report: () => {} },
    write: ({ writableSince }) => {
      if (away) return Promise.reject(new Error("gone"));
      since.push(writableSince);
      return Promise.resolve(NOTHING);
    },
  });
  const one = server(1);
  const poll = async () => {
    journal.addPoll(one, one.addReply(row(1, { motd: `${since.length}` }), 1), 1);
    await new Promise<void>((resolve) => network.after(10_000, resolve));
  };
  await network.run((async () => {
    await poll();
    away = true;
    await poll();
    away = false;
    for (let i = 0; i < 3; i++) await poll();
    await journal.close(1000);
  })());
  assertEquals(since.slice(0, 2), [start, Infinity]);
  assert(since[2] > start + 20_000 && since.slice(2).every((at) => at === since[2]), since.join());
});

for (const hasPending of [true, false]) {
  Deno.test(`a journal that stops ${hasPending ? "with" : "without"} results writes none until it is closed`, async () => {
    const network = new FakeNetwork(1);
    const { list, journal } = fakeList(network);
    const one = server(1);
    const poll = (at: number) =>
      journal.addPoll(one, one.addReply(row(1, { seen_at: at }), at), at);
    const later = (ms: number) => new Promise<void>((resolve) => network.after(ms, resolve));
    await network.run((async () => {
      if (hasPending) poll(1);
      journal.stop();
      await later(10_000);
      poll(2);
      await later(10_000);
      assertEquals([list.writes, list.servers.size], [0, 0]);
      await journal.close(1000);
      assertEquals([list.writes, list.servers.size], [1, 1]);
    })());
  });
}
