/**
 * Servers that change from RakNet to another protocol and back are never reported as offline. Covers
 * src/watch/poller.ts and src/watch/watched_server.ts with src/store/writers/poll_writer.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { type Endpoint, endpointKey } from "../../src/core/address.ts";
import { Random } from "../../src/fleet/random.ts";
import { Demultiplexer } from "../../src/net/demultiplexer.ts";
import { STREAM_LIMITS, StreamLink } from "../../src/net/stream_link.ts";
import { Throttle } from "../../src/net/throttle.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";
import { nethernetProtocol } from "../../src/protocols/nethernet/mod.ts";
import type { Protocol } from "../../src/protocols/protocol.ts";
import { decodePing, encodePong } from "../../src/protocols/raknet/codec.ts";
import type { Database } from "../../src/store/database/database.ts";
import { UnconfirmedEvents } from "../../src/store/writers/poll_events.ts";
import { isWatcherEvent, type ServerEvent } from "../../src/store/events/watch_event.ts";
import { writePolls } from "../../src/store/writers/poll_writer.ts";
import { newEventId } from "../../src/store/rows/uuid.ts";
import { Store } from "../../src/store/store.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import { FakeStreams } from "../../src/testing/fake_streams.ts";
import { RecentYield } from "../../src/discovery/freshness.ts";
import { CrawlLoop } from "../../src/watch/crawl_loop.ts";
import type { PollLoopOptions } from "../../src/watch/poll_loop.ts";
import { Journal } from "../../src/watch/journal.ts";
import { newPollPool } from "../../src/watch/poll_loop.ts";
import { Poller } from "../../src/watch/poller.ts";
import { newWatchCounts, pollServers } from "../../src/watch/watch.ts";
import { WatchedServer } from "../../src/watch/watched_server.ts";
import { all, onEngines } from "../store/databases.ts";
import { watchId } from "../store/records.ts";
import { couriered } from "./courier_protocol.ts";
import { longTest } from "../long.ts";

const INTERVAL_MS = 10_000;
/** When servers change to the other protocol, and back, milliseconds. */
const CHANGE = { there: 60_000, back: 150_000, end: 260_000 };

/** A network with a clock behind that of the machine, so that databases store no future times. */
class PastNetwork extends FakeNetwork {
  readonly #offset = Date.now() - 86_400_000 - super.wall();
  override wall(): number {
    return super.wall() + this.#offset;
  }
}

/** A sibling of RakNet over TCP: the protocols of the program with it, and its reply. */
interface Sibling {
  readonly name: string;
  readonly allProtocols: readonly Protocol[];
  readonly encode: (body: string) => string;
}

const COURIER: Sibling = {
  name: "courier",
  allProtocols: couriered(PROTOCOLS),
  encode: (body) => body,
};
const NETHERNET: Sibling = {
  name: "nethernet",
  allProtocols: [...new Set([PROTOCOLS[0], nethernetProtocol as Protocol, ...PROTOCOLS])],
  encode: (body) =>
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" +
    `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
};

/** NetherNet with a reply that has no status, as that of a server that is not ready. */
const HIDDEN: Sibling = emptyReply("application/json");
/** A web server with an empty reply. */
const EMPTY: Sibling = emptyReply("text/plain");

function emptyReply(type: string): Sibling {
  const encode = () =>
    `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
  return { ...NETHERNET, encode };
}

/** A Bedrock server whose state a test changes. */
interface Server {
  readonly endpoint: Endpoint;
  transport: "raknet" | "sibling" | "both" | "none";
  /** Number of pings that get no reply. */
  lost: number;
  name: string;
  version: string;
  guid: bigint;
}

/** The network and the servers of a test. */
interface World {
  readonly network: PastNetwork;
  readonly streams: FakeStreams;
  readonly servers: readonly Server[];
  readonly sibling: Sibling;
}

const endpointAt = (i: number) => ({ address: 0x7f100000 + i, port: 19132 });

function newWorld(size: number, { loss = 0, sibling = COURIER } = {}): World {
  const network = new PastNetwork(3, { loss, duplication: 0, delay: 5, jitter: 10 });
  network.record = true;
  const streams = new FakeStreams(network, 1);
  const servers = Array.from({ length: size }, (_, i): Server => ({
    endpoint: endpointAt(i),
    lost: 0,
    ...{
      transport: "raknet",
      name: `Server ${i}`,
      version: "1.26.40",
      guid: 2n ** 60n + BigInt(i),
    },
  }));
  for (const server of servers) {
    network.host(server.endpoint, {
      respond(datagram) {
        const ping = decodePing(datagram);
        if (ping === undefined || !["raknet", "both"].includes(server.transport)) return [];
        if (server.lost-- > 0) return [];
        const { name, version, guid } = server;
        const text = `MCPE;${name};2168;${version};3;10;${guid};World;Survival;1;19132;19133;`;
        return [encodePong({
          ...{ advertise: false, time: ping.time, guid, text: new TextEncoder().encode(text) },
        })];
      },
    });
  }
  const set = () => {
    for (const { endpoint, transport, name, version } of servers) {
      const level = { level: "World", players: 3, maxPlayers: 10, gameType: 0 };
      const body = JSON.stringify({ name, protocol: 2168, version, ...level });
      const bytes = new TextEncoder().encode(sibling.encode(body));
      const talk = { opening: [], receive: () => [{ bytes }, "close" as const] };
      streams.host(
        endpoint,
        ["sibling", "both"].includes(transport) ? { accept: () => talk } : "refused",
      );
    }
  };
  const connect = streams.connect.bind(streams);
  streams.connect = (...all) => {
    set();
    return connect(...all);
  };
  return { network, streams, servers, sibling };
}

interface Setting {
  /** The protocols that `--protocol` names. Default: all. */
  readonly protocols?: readonly Protocol[];
  readonly runMs?: number;
  /** Default: the watch itself decides its events. */
  readonly database?: Database;
  /** Whether a crawl polls the servers, instead of a watch. Default: no. */
  readonly isCrawl?: boolean;
}

/** Watches the servers of a world, which are online at the start of the watch. */
async function watch({ network, streams, servers, sibling }: World, setting: Setting = {}) {
  const { allProtocols } = sibling;
  const { protocols = allProtocols, runMs = CHANGE.end, database } = setting;
  const controller = new AbortController();
  const { signal } = controller;
  const throttle = new Throttle({ rate: undefined, netRate: undefined, hostRate: 5 });
  await using board = new Demultiplexer([network.open(4)], throttle, network);
  void board.listen(() => {});
  signal.addEventListener("abort", () => board.cancel());
  const random = new Random(9);
  const scanId = watchId(1);
  const { isCrawl = false } = setting;
  const intervalMs = isCrawl ? 600_000 : INTERVAL_MS;
  const rules = { intervalMs, isCrawl, downAfter: 3, scanId, newEventId, allProtocols };
  const watched = servers.map(({ endpoint }) => new WatchedServer(endpoint, null, rules));
  const stream = { dialer: streams, throttle, clock: network, signal };
  const poller = new Poller({
    ...{ allProtocols, protocols, timeoutMs: 1000, retries: 2, clock: network, signal, scanId },
    demultiplexer: board,
    nonce: () => random.u64() >> 1n,
    optsOut: () => false,
    optedOut: () => false,
    openExclusive: (bits) => network.open(bits),
    connect: (endpoint, connectMs = STREAM_LIMITS.connectMs) =>
      new StreamLink(endpoint, { ...stream, limits: { ...STREAM_LIMITS, connectMs } }),
  });
  const events: ServerEvent[] = [];
  const unconfirmed = new UnconfirmedEvents();
  const journal = database && new Journal({
    ...{ name: "the test's database", scanId, clock: network, report: () => {} },
    onEvent: (event) => isWatcherEvent(event) || events.push(event),
    write: (polls) =>
      network.hold(writePolls(database, polls, { allProtocols, newEventId, unconfirmed })),
  });
  network.after(runMs, () => controller.abort());
  await network.run((async () => {
    const begin = { id: scanId, kind: "watch", at: network.wall(), config: "{}" } as const;
    await journal?.begin(() => network.hold(new Store(database!).begin(begin)));
    await pollServers({
      ...{ servers: watched, rules, clock: network, signal, spreadMs: 1000 },
      pool: newPollPool(256),
      counts: newWatchCounts(),
      poll: (server) => poller.poll(server),
      openLoop: isCrawl ? crawlLoop : undefined,
      random: () => random.below(1000) / 1000,
      onEvent: (event) => journal ?? events.push(event),
      onPolled: (...polled) => journal?.addPoll(...polled),
    });
    await journal?.close(60_000);
  })());
  return { events, watched };
}

/** Polls servers as a crawl without discovery does. */
function crawlLoop(options: PollLoopOptions): CrawlLoop {
  const crawl = { perDay: 100_000, minDiscovery: 1, discover: undefined };
  return new CrawlLoop({ ...options, ...crawl, recentYield: new RecentYield() });
}

const kinds = (events: readonly ServerEvent[]) =>
  Object.fromEntries(
    Object.entries(Object.groupBy(events, ({ event }) => event)).map((
      [kind, list],
    ) => [kind, list!.length]),
  );

const hostOf = (i: number) => `127.16.${i >> 8}.${i & 255}`;

/** The events of a server, in order. */
const eventsAt = (events: readonly ServerEvent[], i: number) =>
  events.filter(({ host }) => host === hostOf(i));

/** The changes of an event `changed`. */
const changesIn = (event: ServerEvent | undefined) =>
  event?.event === "changed" ? event.changes : {};

/** Of 200 servers 100 change there and back, half of them with other values, a third with a new GUID. */
async function changeAndBack(sibling: Sibling, setting: Setting = {}) {
  const world = newWorld(200, { sibling });
  const { name } = sibling;
  const { network, servers } = world;
  const changing = servers.slice(0, 100);
  network.after(CHANGE.there, () => {
    for (const [i, server] of changing.entries()) {
      server.transport = "sibling";
      if (i % 2 === 0) server.version = "1.26.52";
      if (i % 4 === 0) server.name = `New ${i}`;
    }
  });
  network.after(CHANGE.back, () => {
    for (const [i, server] of changing.entries()) {
      server.transport = "raknet";
      if (i % 2 === 0) server.version = "1.26.53";
      if (i % 3 === 0) server.guid += 1_000_000n;
    }
  });
  const { events, watched } = await watch(world, setting);
  assertEquals(kinds(events), { online: 200, changed: 200, restarted: 34 });
  for (const i of changing.keys()) {
    const [, there, ...last] = eventsAt(events, i);
    const isRestarted = i % 3 === 0;
    assertEquals(
      last.map(({ event }) => event),
      isRestarted ? ["restarted", "changed"] : ["changed"],
    );
    const [first, second] = [there, last.at(-1)].map(changesIn);
    assertEquals(first.protocol, ["raknet", name]);
    assertEquals(first.protocols, [["raknet"], [name]]);
    assertEquals(first.version, i % 2 === 0 ? ["1.26.40", "1.26.52"] : undefined);
    assertEquals(first.motd, i % 4 === 0 ? [`Server ${i}`, `New ${i}`] : undefined);
    assertEquals(second.protocol, [name, "raknet"]);
    assertEquals(second.protocols, [[name], ["raknet"]]);
    assertEquals(second.version, i % 2 === 0 ? ["1.26.52", "1.26.53"] : undefined);
    assertEquals("motd" in second, false);
    const { guid } = servers[i];
    if (isRestarted) {
      assert(last[0].event === "restarted");
      assertEquals(last[0].guid, [String(guid - 1_000_000n), String(guid)]);
    }
    assertEquals(watched[i].row?.guid, String(guid));
  }
  return world;
}

for (const sibling of [COURIER, NETHERNET]) {
  Deno.test(`servers that change to ${sibling.name} and back have one event in each direction, and no outage`, async () => {
    checkProtocols(await changeAndBack(sibling));
  });
}

/** After a change a server is asked first in its new protocol, and no more in the old one. */
function checkProtocols({ network, streams }: World): void {
  const there = network.sent.filter(({ at, to }) =>
    endpointKey(to) === endpointKey(endpointAt(0)) && at > CHANGE.there + 15_000 &&
    at < CHANGE.back
  );
  assertEquals(there, []);
  const asked = (from: number, to: number) =>
    streams.begun.filter(({ at, to: { address } }) =>
      at > from && at < to && address === endpointAt(0).address
    );
  assert(asked(CHANGE.there, CHANGE.back).length >= 8);
  // RakNet first again: the last connection is the one that failed.
  assertEquals(asked(CHANGE.back + 15_000, CHANGE.end), []);
  const unchanged = endpointAt(150).address;
  // The first poll asks a new server in all protocols; then nothing but RakNet.
  assertEquals(streams.begun.filter(({ at, to }) => at > 15_000 && to.address === unchanged), []);
}

onEngines(
  "servers that change their transport keep their row and their history",
  async (database) => {
    await changeAndBack(NETHERNET, { database });
    const rows = await all(
      database,
      "select s.key, s.protocol, s.guid, t.online, (select count(*) from events e where e.server = s.id and " +
        "e.kind = 'changed') as changes from servers s join server_state t on t.server = s.id",
    );
    assertEquals(rows.length, 200);
    for (const { key, protocol, guid, online, changes } of rows) {
      const i = Number(String(key).split(/[.:]/)[3]) + 256 * Number(String(key).split(".")[2]);
      assertEquals([protocol, Boolean(online)], ["raknet", true]);
      const isNew = i < 100 && i % 3 === 0;
      assertEquals(BigInt(String(guid)), 2n ** 60n + BigInt(i) + (isNew ? 1_000_000n : 0n));
      assertEquals(Number(changes), i < 100 ? 2 : 0);
    }
  },
  longTest,
);

Deno.test("with 2 % loss a change of transport is no outage either", async () => {
  const world = newWorld(100, { loss: 0.02 });
  const { network, servers } = world;
  const change = (transport: Server["transport"]) => () => {
    for (const server of servers.slice(0, 50)) server.transport = transport;
  };
  network.after(CHANGE.there, change("sibling"));
  network.after(CHANGE.back, change("raknet"));
  const { events, watched } = await watch(world);
  assertEquals(kinds(events).offline, undefined);
  assert(watched.every(({ online, row }) => online && row?.protocol === "raknet"));
});

Deno.test("a server that is offline is asked in siblings ten times, then in every fifth poll", async () => {
  const world = newWorld(20);
  const { network, servers, streams } = world;
  network.after(15_000, () => servers[0].transport = "none");
  network.after(600_000, () => servers[0].transport = "sibling");
  const { events } = await watch(world, { runMs: 700_000 });
  assertEquals(eventsAt(events, 0).map(({ event }) => event), [
    "online",
    "offline",
    "online",
    "changed",
  ]);
  const isFirst = ({ to }: { readonly to: Endpoint }) => to.address === endpointAt(0).address;
  const timesOf = (sent: readonly { readonly at: number; readonly to: Endpoint }[]) =>
    sent.filter((one) => isFirst(one) && one.at > 16_500 && one.at < 590_000).map(({ at }) => at);
  const pings = timesOf(network.sent);
  const polls = pings.filter((_, i) => i % 3 === 0); // each with three pings
  const connections = timesOf(streams.begun);
  const isAsked = polls.map((from, i) =>
    connections.some((at) => at > from && at < (polls[i + 1] ?? Infinity))
  );
  assertEquals(pings.length, 3 * polls.length);
  assert(polls.length > 33, `${polls.length} polls`);
  // Three polls make the server offline; then the numbers of polls are counted.
  const expected = polls.map((_, i) => i - 2 <= 10 || (i - 2) % 5 === 0);
  assertEquals(isAsked, expected);
});

Deno.test("siblings that --protocol does not name are not asked", async () => {
  const world = newWorld(20);
  const { network, servers, streams } = world;
  network.after(30_000, () => servers[0].transport = "sibling");
  const protocols = COURIER.allProtocols.filter(({ name }) => name === "raknet");
  const { events } = await watch(world, { protocols, runMs: 100_000 });
  assertEquals(kinds(events), { online: 20, offline: 1 });
  assertEquals(streams.begun, []);
});

Deno.test("a server that hides its status after a change of transport is not offline", async () => {
  const world = newWorld(20, { sibling: HIDDEN });
  const { network, servers } = world;
  network.after(30_000, () => servers[0].transport = "sibling");
  const { events } = await watch(world, { runMs: 100_000 });
  assertEquals(kinds(events), { online: 20, changed: 1 });
  const [, changed] = eventsAt(events, 0);
  assertEquals(changesIn(changed).protocol, ["raknet", "nethernet"]);
  assertEquals(changesIn(changed).motd, ["Server 0", null]);
});

Deno.test("a server is offline although a web server on its port sends an empty reply", async () => {
  const world = newWorld(20, { sibling: EMPTY });
  const { network, servers } = world;
  network.after(30_000, () => servers[0].transport = "sibling");
  const { events } = await watch(world, { runMs: 100_000 });
  assertEquals(kinds(events), { online: 20, offline: 1 });
});

longTest("a crawl reports changes of transport as a watch does, and no outage", async () => {
  const world = newWorld(60, { sibling: NETHERNET });
  const { network, servers } = world;
  const day = 86_400_000;
  const change = (transport: Server["transport"]) => () => {
    for (const server of servers.slice(0, 30)) {
      server.transport = transport;
      server.guid += 1_000_000n;
    }
  };
  network.after(day, change("sibling"));
  network.after(3 * day, change("raknet"));
  const { events, watched } = await watch(world, { isCrawl: true, runMs: 6 * day });
  assertEquals(kinds(events), { online: 60, changed: 60, restarted: 30 });
  assert(watched.every(({ online, row }) => online && row?.protocol === "raknet"));
});

Deno.test("a server that speaks both, and whose pongs were lost, keeps its protocol", async () => {
  const world = newWorld(20);
  const { network, servers } = world;
  network.after(30_000, () => Object.assign(servers[0], { transport: "both", lost: 3 }));
  const { events, watched: [{ row }] } = await watch(world, { runMs: 100_000 });
  assertEquals(kinds(events), { online: 20, changed: 1 });
  const { protocol, protocols } = changesIn(eventsAt(events, 0)[1]);
  assertEquals([protocol, protocols], [undefined, [["raknet"], ["raknet", "courier"]]]);
  assertEquals([row?.protocols, row?.guid], [["raknet", "courier"], String(2n ** 60n)]);
});
