import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { DAY_MS } from "../../src/core/quantities.ts";
import { emptyRecord } from "../../src/core/record.ts";
import { RecentYield } from "../../src/discovery/freshness.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import { CrawlLoop, type CrawlOptions, freshnessOf } from "../../src/watch/crawl_loop.ts";
import { newPollPool } from "../../src/watch/poll_loop.ts";
import { newWatchCounts, type PollResult, pollServers } from "../../src/watch/watch.ts";
import { WatchedServer } from "../../src/watch/watched_server.ts";
import { longTest } from "../long.ts";

const HOUR = 3_600_000;

/** A server of the list, in days before the crawl. */
interface Listed {
  readonly online?: boolean;
  /** Since when it is online, or its last reply. Default: 5. */
  readonly since?: number;
  /** Default: 1. */
  readonly probed?: number;
}

interface Scene extends Partial<CrawlOptions> {
  readonly servers: readonly Listed[];
  readonly runMs: number;
  /** What a poll returns at a time in milliseconds. Default: a reply. */
  readonly reply?: (ms: number, server: number) => boolean | "opted out";
  /** By how much the clock is set while the crawl runs, and after what time. Default: it is not set. */
  readonly set?: { readonly afterMs: number; readonly byMs: number };
  /** A server of which a scan receives a reply every 5 minutes. Default: none. */
  readonly scanned?: number;
}

/** Crawls servers whose addresses end in their number. */
async function crawl({ servers: listed, runMs, reply = () => true, set, scanned, ...rest }: Scene) {
  const clock = new FakeNetwork(1);
  const wallOf = clock.wall.bind(clock);
  if (set !== undefined) clock.after(set.afterMs, () => clock.wall = () => wallOf() + set.byMs);
  const [start, wall] = [clock.now(), clock.wall()];
  const rules = {
    ...{ intervalMs: 600_000, downAfter: 3, scanId: "crawl", newEventId: () => "event" },
    ...{ allProtocols: PROTOCOLS, isCrawl: true },
  };
  const rowOf = (address: number, at: number) => ({
    ...emptyRecord({ address, port: 1 }, at),
    ...{ protocol: "raknet", protocols: ["raknet"] },
  });
  const servers = listed.map(({ online = true, since = 5, probed = 1 }, i) => {
    const sinceMs = wall - since * DAY_MS;
    const row = rowOf(0x0a000000 + i, online ? wall - probed * DAY_MS : sinceMs);
    const stored = { row, online, probedAt: wall - probed * DAY_MS, firstSeen: sinceMs };
    return new WatchedServer({ address: 0x0a000000 + i, port: 1 }, null, rules, stored);
  });
  const controller = new AbortController();
  clock.after(runMs, () => controller.abort());
  for (let ms = 0; scanned !== undefined && ms < runMs; ms += 300_000) {
    clock.after(ms, () => servers[scanned].seen(clock.wall()));
  }
  const polls: (readonly [ms: number, server: number])[] = [];
  const events: (readonly [ms: number, event: string, server: number])[] = [];
  const own: string[] = [];
  const offlineMs: number[] = [];
  const discoveries: (readonly [ms: number, probes: number])[] = [];
  const options: CrawlOptions = {
    perDay: 1e6,
    recentYield: new RecentYield([{ probes: 1e6, found: 0 }]),
    minDiscovery: 1,
    discover: (probes) => {
      discoveries.push([clock.now() - start, probes]);
      return Promise.resolve(probes);
    },
    ...rest,
  };
  await clock.run(pollServers({
    ...{ servers, rules, clock, spreadMs: 0, counts: newWatchCounts(), random: () => 0.5 },
    pool: newPollPool(1000),
    signal: controller.signal,
    openLoop: (all) => new CrawlLoop({ ...all, ...options }),
    onEvent: ({ event }, { endpoint }) =>
      events.push([clock.now() - start, event, Number(endpoint.address) - 0x0a000000]),
    onWatcherEvent: (event) => {
      own.push(event.event);
      if (event.event === "watcher_online") offlineMs.push(event.offline_ms);
    },
    poll({ endpoint }): Promise<PollResult> {
      const server = Number(endpoint.address) - 0x0a000000;
      polls.push([clock.now() - start, server]);
      const result = reply(clock.now() - start, server);
      if (result === "opted out") return Promise.resolve(result);
      return Promise.resolve(result ? rowOf(Number(endpoint.address), clock.wall()) : undefined);
    },
  }));
  const freshness = freshnessOf(servers.map(({ known }) => known), clock.wall());
  return { polls, events, own, offlineMs, discoveries, servers, freshness };
}

Deno.test("a crawl polls the most overdue servers first, within its budget", async () => {
  const servers = Array.from({ length: 400 }, (_, i) => ({ since: 20, probed: 1 + i * 0.02 }));
  // 99 % of 200 polls a day is 8.25 an hour.
  const { polls, discoveries } = await crawl({ servers, perDay: 200, runMs: 24 * HOUR });
  assert(polls.length >= 190 && polls.length <= 198, `${polls.length} polls`);
  const order = polls.map(([, server]) => server);
  assertEquals(new Set(order).size, order.length);
  const early = order.slice(0, 50).reduce((sum, one) => sum + one) / 50;
  assert(early > 340, `the first servers have number ${early}`);
  const probes = discoveries.reduce((sum, [, one]) => sum + one, 0);
  assert(probes <= 2 && polls.length + probes <= 200, `${probes} probes for discovery`);
});

Deno.test("young servers are polled more often than old ones, and those that are down for long the least", async () => {
  const kinds = [{ since: 1 }, { since: 30 }, { online: false, since: 30 }];
  const servers = Array.from({ length: 300 }, (_, i) => kinds[i % 3]);
  const { polls } = await crawl({
    servers,
    perDay: 900,
    runMs: 48 * HOUR,
    reply: (_, server) => server % 3 < 2,
  });
  const counts = [0, 1, 2].map((kind) => polls.filter(([, one]) => one % 3 === kind).length);
  assert(counts[0] > 1.3 * counts[1] && counts[1] > 2 * counts[2], counts.join());
});

Deno.test("a server is offline after three failed polls within 10 minutes, and confirmed only once", async () => {
  const servers = Array.from({ length: 30 }, () => ({}));
  const { polls, events } = await crawl({
    servers,
    perDay: 1000,
    runMs: 24 * HOUR,
    reply: (ms, server) => server !== 7 || ms > 20 * HOUR,
  });
  const own = polls.filter(([, server]) => server === 7).map(([ms]) => ms);
  const [[offlineAt, event, server], ...later] = events;
  assertEquals([event, server, own.indexOf(offlineAt)], ["offline", 7, 2]);
  assert(own[2] - own[0] <= 600_000);
  assert(own[3] - own[2] > 600_000, "a poll of an offline server is not confirmed");
  assertEquals(later.map(([, event, server]) => [event, server]), [["online", 7]]);
});

Deno.test("one failed poll makes no server offline", async () => {
  const failed = new Set<number>();
  const { events } = await crawl({
    servers: Array.from({ length: 30 }, () => ({})),
    perDay: 3000,
    runMs: 24 * HOUR,
    reply: (_, server) => failed.size === failed.add(server).size,
  });
  assertEquals([failed.size, events], [30, []]);
});

Deno.test("discovery gets what the polls leave, and what it did not use stays", async () => {
  const servers = Array.from({ length: 10 }, () => ({ since: 60 }));
  const used: number[] = [];
  const recentYield = new RecentYield([{ probes: 1e6, found: 100 }]);
  const { polls } = await crawl({
    ...{ servers, perDay: 1e5, runMs: 24 * HOUR, minDiscovery: 1000, recentYield },
    discover: (probes) => {
      used.push(probes - 100);
      return Promise.resolve(probes - 100);
    },
  });
  const probes = used.reduce((sum, one) => sum + one);
  assertAlmostEquals(polls.length + probes, 1e5, 1200);
  assert(used.every((one) => one >= 900) && polls.length < 1000, `${polls.length} polls`);
});

Deno.test("while the yield of discovery is unknown, it gets a tenth of a small budget", async () => {
  const servers = Array.from({ length: 400 }, () => ({}));
  const scene = { servers, perDay: 400, runMs: 48 * HOUR, recentYield: new RecentYield() };
  const { discoveries } = await crawl(scene);
  assertAlmostEquals(discoveries.reduce((sum, [, probes]) => sum + probes, 0), 80, 3);
});

Deno.test("an outage of the own network makes no server offline, and its end no burst", async () => {
  const servers = Array.from({ length: 400 }, () => ({ since: 20 }));
  const isDown = (ms: number) => ms >= 24 * HOUR && ms < 48 * HOUR;
  const { polls, events, own } = await crawl({
    servers,
    perDay: 4000,
    runMs: 72 * HOUR,
    reply: (ms) => !isDown(ms),
  });
  assertEquals([events, own], [[], ["watcher_offline", "watcher_online"]]);
  const within = (from: number, to: number) =>
    polls.filter(([ms]) => ms >= from * HOUR && ms < to * HOUR).length;
  assert(within(48, 49) < 3 * 4000 / 24, `${within(48, 49)} polls in the hour after`);
  assert(within(49, 72) > 0.7 * 4000 * 23 / 24);
});

Deno.test("a crawl polls as often after the clock was set, and an outage lasts as long", async () => {
  const scene = {
    servers: Array.from({ length: 400 }, () => ({ since: 20 })),
    ...{ perDay: 4000, runMs: 24 * HOUR },
    reply: (ms: number) => ms < 6 * HOUR || ms > 7 * HOUR,
  };
  const even = await crawl(scene);
  const late = ({ polls }: Pick<typeof even, "polls">) =>
    polls.filter(([ms]) => ms > 13 * HOUR).length;
  for (const byMs of [-10 * DAY_MS, 10 * DAY_MS]) {
    for (const afterMs of [6.5 * HOUR, 12 * HOUR]) {
      const { offlineMs, ...moved } = await crawl({ ...scene, set: { afterMs, byMs } });
      assert(late(moved) > 0.8 * late(even) && late(moved) <= 4000, `${byMs}: ${late(moved)}`);
      assert(offlineMs[0] > HOUR && offlineMs[0] < 2 * HOUR, `${offlineMs[0]} ms`);
      assert(moved.freshness.believed <= 1 && moved.freshness.medianMs >= 0);
    }
  }
});

Deno.test("a server whose replies a scan has received is not polled", async () => {
  const { polls } = await crawl({
    servers: [{}, {}, { online: false }],
    runMs: 3 * HOUR,
    scanned: 0,
  });
  const count = (one: number) => polls.filter(([, server]) => server === one).length;
  assert(count(0) <= 1 && count(1) > 10, `${polls}`);
});

Deno.test("a server that opts out is polled no more", async () => {
  const { polls, events } = await crawl({
    servers: Array.from({ length: 20 }, () => ({})),
    runMs: 12 * HOUR,
    reply: (_, server) => server === 3 ? "opted out" : true,
  });
  assertEquals(polls.filter(([, server]) => server === 3).length, 1);
  assertEquals(events.map(([, event, server]) => [event, server]), [["opted_out", 3]]);
});

Deno.test("freshness is the share of servers that are believed, and the ages of what is known", async () => {
  const now = 100 * DAY_MS;
  const states = Array.from({ length: 100 }, (_, i) => ({
    ...{ online: true, since: now - 50 * DAY_MS },
    probedAt: now - i * HOUR,
  }));
  const { servers, believed, medianMs, p95Ms } = freshnessOf(states, now);
  assertEquals([servers, medianMs, p95Ms], [100, 50 * HOUR, 95 * HOUR]);
  assert(believed > 0.9 && believed < 0.97, `${believed}`);
  assertEquals(freshnessOf([], now), { servers: 0, believed: 1, medianMs: 0, p95Ms: 0 });
  const crawled = await crawl({
    servers: Array.from({ length: 50 }, () => ({ since: 50, probed: 20 })),
    runMs: 6 * HOUR,
  });
  assert(crawled.freshness.believed > 0.999 && crawled.freshness.p95Ms < 6 * HOUR);
});

Deno.test("failed polls that count only after a check of the network are confirmed as others are", async () => {
  const { polls, events, own } = await crawl({
    servers: Array.from({ length: 60 }, () => ({})),
    runMs: HOUR,
    reply: (_, server) => server >= 35,
  });
  assertEquals([own, events.length], [[], 35]);
  for (let one = 0; one < 35; one++) {
    const [first, second, third] = polls.filter(([, server]) => server === one).map(([ms]) => ms);
    assert(second - first >= 240_000 && third - second >= 240_000, [first, second, third].join());
  }
});

for (const reached of [20, 100]) {
  longTest(
    `an outage in which ${reached} of 2000 servers reply makes no server offline`,
    async () => {
      const servers = Array.from(
        { length: 2000 },
        (_, i) => ({ since: 20, probed: (i % 97) / 97 }),
      );
      const { events, own } = await crawl({
        ...{ servers, perDay: 4000, runMs: 36 * HOUR },
        reply: (ms, server) => ms < 12 * HOUR || ms > 24 * HOUR || server < reached,
      });
      assertEquals([events, own], [[], ["watcher_offline", "watcher_online"]]);
    },
  );
}

Deno.test("while most servers reply, those of a crawl that really stopped are offline", async () => {
  const servers = Array.from({ length: 2000 }, () => ({ since: 20 }));
  const { events, own } = await crawl({
    ...{ servers, perDay: 40_000, runMs: 24 * HOUR },
    reply: (ms, server) => ms < 12 * HOUR || server % 3 > 0,
  });
  assertEquals([own, events.length], [[], 667]);
});

longTest("the canaries of outages are part of the budget", async () => {
  const servers = Array.from({ length: 4000 }, () => ({ since: 20 }));
  const scene = { servers, perDay: 4000, runMs: 24 * HOUR };
  const often = await crawl({ ...scene, reply: (ms) => ms % HOUR < HOUR * 5 / 6 });
  assert(often.own.length > 20, `${often.own.length} events`);
  // Those of the last outage, at most 4 every 5 s for 2 minutes and then fewer, may come before their budget.
  assert(often.polls.length <= 4000 + 4 * 28, `${often.polls.length} polls`);
  const long = await crawl({ ...scene, reply: (ms) => ms < HOUR });
  assertEquals([long.own, long.events], [["watcher_offline"], []]);
  const late = long.polls.filter(([ms]) => ms > 4 * HOUR);
  assertEquals(late.length, 4 * 20 * 6);
});

Deno.test("discovery that was not possible for long gets no more than a twelfth of a day at once", async () => {
  const used: number[] = [];
  let calls = 0;
  await crawl({
    ...{ servers: [{}], perDay: 1e5, runMs: 54 * HOUR },
    discover: (probes) => {
      if (calls++ < 30 * 120) return Promise.resolve(0);
      used.push(probes);
      return Promise.resolve(probes);
    },
  });
  const probes = used.reduce((sum, one) => sum + one);
  assertAlmostEquals(probes, 1e5 * 13 / 12, 500);
});

Deno.test("failed polls are confirmed within 10 minutes, however short the budget is", async () => {
  const { polls } = await crawl({
    servers: Array.from({ length: 600 }, () => ({ since: 20, probed: 10 })),
    ...{ perDay: 1000, runMs: 48 * HOUR },
    reply: (_, server) => server % 3 > 0,
  });
  const byServer = Map.groupBy(polls.filter(([, server]) => server % 3 === 0), ([, one]) => one);
  const spans = [...byServer.values()].filter(({ length }) => length >= 3)
    .map(([[first], , [third]]) => third - first);
  assert(spans.length > 150, `${spans.length} servers`);
  assert(Math.max(...spans) <= 600_000, `${Math.max(...spans)} ms`);
});

Deno.test("without discovery, known servers use the whole budget", async () => {
  const servers = Array.from({ length: 400 }, () => ({}));
  const scene = { servers, perDay: 400, runMs: 48 * HOUR, recentYield: new RecentYield() };
  const { polls } = await crawl({ ...scene, discover: undefined });
  assertAlmostEquals(polls.length, 800, 3);
});
