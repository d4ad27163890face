import { assert, assertEquals } from "@std/assert";
import { emptyRecord } from "../../src/core/record.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import type { WatcherEvent } from "../../src/store/events/watch_event.ts";
import { MIN_STOPPED } from "../../src/watch/watch_network.ts";
import { newPollPool } from "../../src/watch/poll_loop.ts";
import { newWatchCounts, type PollResult, pollServers } from "../../src/watch/watch.ts";
import { WatchedServer } from "../../src/watch/watched_server.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

const SECOND = 1000;
const INTERVAL = 60 * SECOND;

/**
 * What happens to polls: a reply, no reply, a refusal of the system, a reply with an opt-out, or no
 * probe for lack of descriptors.
 */
type Weather = "reply" | "lost" | "refused" | "opted out" | "not probed";

interface Scene {
  readonly servers?: number;
  readonly runMs: number;
  /** Whether the servers are online in the database. Default: yes. */
  readonly isKnown?: boolean;
  /** What happens to a poll of a server at a time, milliseconds from the start. */
  readonly weather: (ms: number, server: number) => Weather;
}

/** Runs a watch whose polls take 10 ms, or 3 s without a reply. */
async function watchWeather({ servers: count = 200, runMs, isKnown = true, weather }: Scene) {
  const clock = new FakeNetwork(1);
  const rules = {
    intervalMs: INTERVAL,
    downAfter: 3,
    scanId: "watch",
    newEventId: () => "event",
    allProtocols: PROTOCOLS,
  };
  const rowOf = (port: number) => ({
    ...emptyRecord({ address: 0x0a000000 + port, port }, clock.wall()),
    ...{ protocol: "raknet", protocols: ["raknet"] },
  });
  const servers = Array.from({ length: count }, (_, i) => {
    const stored = { row: rowOf(i + 1), online: true, probedAt: clock.wall() };
    const endpoint = { address: 0x0a000000 + i + 1, port: i + 1 };
    return new WatchedServer(endpoint, null, rules, isKnown ? stored : undefined);
  });
  const start = clock.now();
  const controller = new AbortController();
  clock.after(runMs, () => controller.abort());
  const events: (readonly [second: number, event: string, server: number])[] = [];
  const own: (WatcherEvent & { readonly second: number })[] = [];
  const polls: (readonly [ms: number, server: number, weather: Weather])[] = [];
  const second = () => Math.round((clock.now() - start) / SECOND);
  let seed = 1;
  await clock.run(pollServers({
    servers,
    rules,
    clock,
    pool: newPollPool(256),
    spreadMs: INTERVAL,
    signal: controller.signal,
    counts: newWatchCounts(),
    random: () => (seed = seed * 48271 % 2147483647) / 2147483647,
    onEvent: ({ event }, { endpoint }) => events.push([second(), event, endpoint.port]),
    onWatcherEvent: (event) => own.push({ ...event, second: second() }),
    async poll({ endpoint: { port } }): Promise<PollResult> {
      const now = clock.now() - start;
      const what = weather(now, port);
      polls.push([now, port, what]);
      const isSlow = what === "lost" || what === "refused";
      await new Promise<void>((resolve) => clock.after(isSlow ? 3000 : 10, resolve));
      if (what === "reply") return rowOf(port);
      return what === "lost" ? undefined : what === "refused" ? "unreachable" : what;
    },
  }));
  const offline = events.filter(([, event]) => event === "offline").map(([, , port]) => port);
  return { events, own, polls, offline, servers };
}

const [FROM, TO] = [90 * SECOND, 160 * SECOND];

for (const [what, reason] of [["lost", "no_reply"], ["refused", "no_route"]] as const) {
  Deno.test(`a network that is down for 70 s (${what}) is one event of the watch, and none of its servers`, async () => {
    const { events, own, polls } = await watchWeather({
      runMs: 300 * SECOND,
      weather: (ms) => ms >= FROM && ms < TO ? what : "reply",
    });
    assertEquals(events, []);
    assertEquals(own.map(({ event }) => event), ["watcher_offline", "watcher_online"]);
    const [offline, online] = own;
    assert(offline.event === "watcher_offline" && offline.reason === reason);
    assert(offline.second > 90 && offline.second < 125, `offline after ${offline.second} s`);
    const back = (online.second - 160) * SECOND;
    assert(back >= 0 && back <= 12 * SECOND, `online after ${back} ms`);
    assert(online.event === "watcher_online");
    assertEquals(
      Math.round((online.at - offline.since) / SECOND),
      Math.round(online.offline_ms / SECOND),
    );
    // All servers are polled within an interval, and only canaries while the network is down.
    const resumed = polls.filter(([ms]) => ms >= TO && ms < TO + INTERVAL);
    assertEquals(new Set(resumed.map(([, server]) => server)).size, 200);
    const down = polls.filter(([ms]) => ms > offline.second * SECOND + 1 && ms < TO);
    assert(down.length > 0 && down.length <= 4 * Math.ceil((TO / SECOND - offline.second) / 5));
  });
}

Deno.test("if half of the servers really stop, all of these are reported while canaries reply", async () => {
  const { own, offline } = await watchWeather({
    runMs: 300 * SECOND,
    weather: (ms, server) => ms >= FROM && server % 2 === 0 ? "lost" : "reply",
  });
  assertEquals(own, []);
  assertEquals(offline.toSorted((a, b) => a - b), Array.from({ length: 100 }, (_, i) => 2 * i + 2));
});

Deno.test("if nine of ten servers really stop, all of these are reported after canaries have replied", async () => {
  const { own, offline } = await watchWeather({
    runMs: 300 * SECOND,
    weather: (ms, server) => ms >= FROM && server % 10 !== 0 ? "lost" : "reply",
  });
  assertEquals([own, offline.length], [[], 180]);
});

Deno.test("a server that stops alone is reported by its third failed poll", async () => {
  const { own, events } = await watchWeather({
    runMs: 200 * SECOND,
    weather: (ms, server) => ms >= FROM && server === 7 ? "lost" : "reply",
  });
  assertEquals([own, events.map(([, event, server]) => [event, server])], [[], [["offline", 7]]]);
});

Deno.test("servers that stop while the watch is offline are reported when it is online again", async () => {
  const { own, offline, events } = await watchWeather({
    runMs: 400 * SECOND,
    weather: (ms, server) =>
      ms >= FROM && ms < TO ? "lost" : ms >= TO && server <= 20 ? "lost" : "reply",
  });
  assertEquals(own.map(({ event }) => event), ["watcher_offline", "watcher_online"]);
  assertEquals(offline.toSorted((a, b) => a - b), Array.from({ length: 20 }, (_, i) => i + 1));
  assert(events.every(([second]) => second > TO / SECOND));
});

Deno.test("a watch of few servers is offline only when the system refuses to send", async () => {
  const few = { servers: MIN_STOPPED - 1, runMs: 400 * SECOND };
  const weather = (what: Weather) => (ms: number) =>
    ms >= FROM && ms < TO + INTERVAL ? what : "reply";
  const refused = await watchWeather({ ...few, weather: weather("refused") });
  assertEquals(refused.events, []);
  assertEquals(refused.own.map(({ event }) => event), ["watcher_offline", "watcher_online"]);
  const lost = await watchWeather({ ...few, weather: weather("lost") });
  assertEquals([lost.own, new Set(lost.offline).size], [[], few.servers]);
});

Deno.test("a watch that starts without a route reports no server until there is a route", async () => {
  const { events, own } = await watchWeather({
    servers: 3,
    isKnown: false,
    runMs: 300 * SECOND,
    weather: (ms) => ms < FROM ? "refused" : "reply",
  });
  assertEquals(own.map(({ event }) => event), ["watcher_offline", "watcher_online"]);
  assertEquals(events.map(([, event]) => event), ["online", "online", "online"]);
});

Deno.test("a watch whose servers never replied reports them", async () => {
  const { events, own } = await watchWeather({
    servers: 30,
    isKnown: false,
    runMs: 200 * SECOND,
    weather: () => "lost",
  });
  assertEquals([own, events.length], [[], 30]);
});

Deno.test("a network that fails three times is reported three times", async () => {
  const { events, own } = await watchWeather({
    runMs: 900 * SECOND,
    weather: (ms) => ms % (300 * SECOND) > 200 * SECOND ? "refused" : "reply",
  });
  assertEquals(events, []);
  assertEquals(own.map(({ event }) => event === "watcher_offline").slice(0, 5), [
    true,
    false,
    true,
    false,
    true,
  ]);
});

Deno.test("a server that opts out while the watch is offline is polled no more, and rechecks continue", async () => {
  let opted: number | undefined;
  const { events, own, polls } = await watchWeather({
    servers: 20,
    runMs: 500 * SECOND,
    weather: (ms, server) => {
      if (ms < FROM || ms >= 400 * SECOND) return "reply";
      if (ms < 200 * SECOND || opted !== undefined) return "lost";
      opted = server;
      return "opted out";
    },
  });
  assertEquals(own.map(({ event }) => event), ["watcher_offline", "watcher_online"]);
  assertEquals(events.map(([, event, server]) => [event, server]), [["opted_out", opted]]);
  assertEquals(polls.filter(([, server]) => server === opted).at(-1)?.[2], "opted out");
  // Each of the 19 others is rechecked every 25 s.
  const rechecked = polls.filter(([ms]) => ms > 230 * SECOND && ms < 260 * SECOND);
  assertEquals(new Set(rechecked.map(([, server]) => server)).size, 19);
});

for (const servers of [3, 20]) {
  Deno.test(`a check of ${servers} servers ends when no descriptor is left for its polls`, async () => {
    const { events, own } = await watchWeather({
      servers,
      runMs: 300 * SECOND,
      weather: (ms) => ms < FROM ? "reply" : ms < 200 * SECOND ? "refused" : "not probed",
    });
    assertEquals(events, []);
    assertEquals(own.map(({ event }) => event), ["watcher_offline", "watcher_online"]);
    const { second } = own[1];
    assert(second >= 200 && second <= 210, `online after ${second} s`);
  });
}

Deno.test("one reply while the network is down does not end the rechecks", async () => {
  let replies = 0;
  const { events, own } = await watchWeather({
    servers: 20,
    runMs: 500 * SECOND,
    weather: (ms) => {
      if (ms < FROM || ms >= 400 * SECOND) return "reply";
      return ms >= 200 * SECOND && replies++ === 0 ? "reply" : "lost";
    },
  });
  assertEquals(events, []);
  assertEquals(own.map(({ event }) => event), ["watcher_offline", "watcher_online"]);
  const { second } = own[1];
  assert(second >= 400 && second <= 412, `online after ${second} s`);
});

/** The polls that began at once, at the time at which most polls did. */
function largestBurst<T extends readonly [ms: number, ...unknown[]]>(polls: readonly T[]): T[] {
  const bursts = Object.values(Object.groupBy(polls, ([ms]) => ms)).map((burst) => burst!);
  return bursts.reduce((a, b) => b.length > a.length ? b : a);
}

Deno.test("a check polls the 16 servers that replied last, and none whose last poll failed", async () => {
  const { polls } = await watchWeather({
    runMs: 160 * SECOND,
    weather: (ms, server) => ms >= FROM && server % 8 !== 0 ? "lost" : "reply",
  });
  const burst = largestBurst(polls.filter(([ms]) => ms > FROM));
  assertEquals(burst.map(([, , what]) => what), Array.from({ length: 16 }, () => "reply"));
});
