/** Covers src/store/events/watch_event.ts and src/watch/poller.ts. */
import { assert, assertEquals } from "@std/assert";
import { type Address, type Endpoint, formatEndpoint } from "../../src/core/address.ts";
import { audit } from "../../src/fleet/judge/audit.ts";
import { drawFleet, type FleetHost } from "../../src/fleet/simulate/draw_fleet.ts";
import { Random } from "../../src/fleet/random.ts";
import { Shortage } from "../../src/net/file_descriptors.ts";
import { Demultiplexer } from "../../src/net/demultiplexer.ts";
import { STREAM_LIMITS, StreamLink } from "../../src/net/stream_link.ts";
import { Throttle } from "../../src/net/throttle.ts";
import { decodeStatusRequest } from "../../src/protocols/slp/codec.ts";
import { PROTOCOLS, USUAL_PROTOCOLS } from "../../src/protocols/list.ts";
import type { Protocol } from "../../src/protocols/protocol.ts";
import { emptyRecord } from "../../src/core/record.ts";
import type { ServerEvent, WatcherEvent } from "../../src/store/events/watch_event.ts";
import { newPollPool } from "../../src/watch/poll_loop.ts";
import { Poller } from "../../src/watch/poller.ts";
import {
  newWatchCounts,
  pollProgress,
  pollServers,
  type WatchCounts,
} from "../../src/watch/watch.ts";
import { WatchedServer } from "../../src/watch/watched_server.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import { FakeStreams } from "../../src/testing/fake_streams.ts";
import { longTest } from "../long.ts";

/** As watches have it. */
const HOST_RATE = 5;
const RANGE = { start: 0x7f100000, end: 0x7f110000 };

interface Setting {
  readonly servers?: number;
  readonly software?: readonly string[];
  readonly loss?: number;
  readonly runMs: number;
  readonly intervalMs?: number;
  /** Default: the protocols of a scan without --protocol. */
  readonly protocols?: readonly Protocol[];
  /** The protocols of each server in a database. Default: no database. */
  readonly spoken?: readonly string[];
  /** Whether the servers are online in the database. Default: yes. */
  readonly online?: boolean;
  /** Additional servers that are not in the fleet. Default: none. */
  readonly more?: readonly Endpoint[];
  /** When the machine has no descriptors left, milliseconds from the start. Default: never. */
  readonly short?: (ms: number) => boolean;
  /** Changes the network during the watch. */
  readonly script?: (world: World) => void;
}

interface World {
  readonly network: FakeNetwork;
  readonly streams: FakeStreams;
  readonly hosts: readonly FleetHost[];
  /** Disconnects a host from the network, or reconnects it. */
  readonly kill: (host: FleetHost) => void;
  readonly revive: (host: FleetHost) => void;
}

/** Watches a simulated fleet for `runMs` milliseconds. */
async function watchFleet(setting: Setting) {
  const { servers: size = 60, software, loss = 0, runMs, intervalMs = 10_000 } = setting;
  const network = new FakeNetwork(3, { loss, duplication: 0, delay: 5, jitter: 10 });
  network.record = true;
  const streams = new FakeStreams(network, 1);
  const hosts = drawFleet({ servers: size, range: RANGE, seed: 4, software });
  const revive = ({ endpoint, responder, streams: door }: FleetHost) => {
    if (responder !== undefined) network.host(endpoint, responder);
    if (door !== undefined) streams.host(endpoint, door);
  };
  const kill = ({ endpoint }: FleetHost) => {
    network.host(endpoint, { respond: () => [] });
    streams.host(endpoint, "timeout");
  };
  hosts.forEach(revive);
  const controller = new AbortController();
  const { signal } = controller;
  const throttle = new Throttle({ rate: undefined, netRate: undefined, hostRate: HOST_RATE });
  await using board = new Demultiplexer([1, 2, 3, 4].map(() => network.open(4)), throttle, network);
  void board.listen(() => {});
  signal.addEventListener("abort", () => board.cancel());
  const random = new Random(9);
  const rules = {
    intervalMs,
    downAfter: 3,
    scanId: "watch",
    newEventId: () => "event",
    allProtocols: PROTOCOLS,
  };
  const { spoken: protocols, online = true } = setting;
  const servers = [...hosts.map(({ endpoint }) => endpoint), ...setting.more ?? []].map((one) => {
    const [protocol] = protocols ?? [];
    const row = protocols && { ...emptyRecord(one, 1), protocol, protocols };
    const known = row && { row, online, probedAt: 1 };
    return new WatchedServer(one, null, rules, known);
  });
  const start = network.now();
  const isShort = () => setting.short?.(network.now() - start) ?? false;
  const connect = streams.connect.bind(streams);
  streams.connect = (to, cancel) => isShort() ? Promise.resolve("exhausted") : connect(to, cancel);
  const shortages: (string | undefined)[] = [];
  const shortage = new Shortage(network, (code) => shortages.push(code));
  const limits = STREAM_LIMITS;
  const stream = { dialer: streams, throttle, clock: network, limits, signal, shortage };
  const poller = new Poller({
    allProtocols: PROTOCOLS,
    timeoutMs: 1000,
    retries: 2,
    demultiplexer: board,
    clock: network,
    signal,
    shortage,
    protocols: setting.protocols ?? USUAL_PROTOCOLS,
    nonce: () => random.u64() >> 1n,
    scanId: "watch",
    optsOut: (motd) => motd.includes("§b§d§f§d§b"),
    optedOut: (a) => optedOut.has(a),
    openExclusive: (bits) => {
      if (isShort()) throw Object.assign(new Error("Too many open files"), { code: "EMFILE" });
      return network.open(bits);
    },
    connect: (endpoint, connectMs = STREAM_LIMITS.connectMs) =>
      new StreamLink(endpoint, { ...stream, limits: { ...STREAM_LIMITS, connectMs } }),
  });
  const optedOut = new Set<Address>();
  const events: (ServerEvent & { readonly after: number })[] = [];
  const own: WatcherEvent[] = [];
  const late: number[] = [];
  const counts = newWatchCounts();
  setting.script?.({ network, streams, hosts, kill, revive });
  network.after(runMs, () => controller.abort());
  await network.run(pollServers({
    servers,
    rules,
    pool: newPollPool(256),
    spreadMs: 1000,
    clock: network,
    signal,
    counts,
    poll: (server) => poller.poll(server),
    optedOut: (address) => optedOut.has(address),
    onOptOut: (address) => optedOut.add(address),
    random: () => random.below(1000) / 1000,
    onEvent: (event) => events.push({ ...event, after: network.now() - start }),
    onWatcherEvent: (event) => own.push(event),
    onPoll: (lateMs) => late.push(lateMs),
  }));
  const sqp = protocols?.join() === "sqp" ? servers.map(({ endpoint }) => endpoint) : [];
  const knownForSqp = new Set(sqp.map(formatEndpoint));
  // A datagram that the network lost suppresses no protocol.
  if (loss === 0) assertEquals(audit(network.lines, { hostRate: HOST_RATE, knownForSqp }), []);
  return { events, own, counts, servers, late, hosts, network, streams, shortages };
}

const kinds = (events: readonly ServerEvent[]) =>
  Object.fromEntries(
    Object.entries(Object.groupBy(events, ({ event }) => event)).map((
      [kind, list],
    ) => [kind, list!.length]),
  );

Deno.test("every kind of server is reported online once and polled on time", async () => {
  const { events, counts, servers, late } = await watchFleet({ servers: 200, runMs: 60_000 });
  assertEquals(kinds(events), { online: 200 });
  assert(servers.every(({ online }) => online));
  assert(counts.polls >= 200 * 6 && counts.polls <= 200 * 8, String(counts.polls));
  assertEquals(counts.replied, counts.polls);
  assert(late.every((ms) => ms < 50), String(Math.max(...late)));
});

Deno.test("servers that do not echo the token are online, whether new or from a database", async () => {
  const software = ["raknetNode"];
  for (const known of [{}, { spoken: ["raknet"] }, { spoken: ["raknet"], online: false }]) {
    const { events, counts } = await watchFleet({ servers: 20, software, runMs: 60_000, ...known });
    assertEquals(events.filter(({ event }) => event === "offline"), []);
    assertEquals(counts.replied, counts.polls);
    assert(counts.polls > 100);
  }
});

Deno.test("servers that echo the token are polled from shared sockets, and exclusively after a failure", async () => {
  const { network, events, hosts } = await watchFleet({
    servers: 1,
    software: ["bds"],
    runMs: 120_000,
    spoken: ["raknet"],
    script: ({ network, hosts, kill, revive }) => {
      network.after(35_000, () => hosts.forEach(kill));
      const [node] = drawFleet({ servers: 1, range: RANGE, seed: 4, software: ["raknetNode"] });
      network.after(42_000, () => revive({ ...node, endpoint: hosts[0].endpoint }));
    },
  });
  assertEquals([hosts.length, kinds(events).offline], [1, undefined]);
  const shared = network.sent.map(({ from }) => from.port < 40_004);
  assertEquals(shared.slice(0, 4), [false, true, true, true]);
  assertEquals(new Set(shared.slice(-5)), new Set([false]));
});

Deno.test("a watch for all protocols sends no SQP to servers of RakNet or Query, and pings no SQP", async () => {
  const isSqp = ({ bytes }: { bytes: Uint8Array }) => bytes.length === 5 || bytes.length === 8;
  const [protocols, runMs] = [PROTOCOLS, 40_000];
  const software = ["bds", "raknetNode", "banned", "vanilla", "nukkit"];
  const others = await watchFleet({ servers: 40, software, protocols, runMs });
  assertEquals(others.network.sent.filter(isSqp), []);
  const unity = { servers: 20, software: ["sqpFull", "sqpInfo"], runMs };
  const first = await watchFleet({ ...unity, protocols });
  const known = await watchFleet({ ...unity, spoken: ["sqp"] });
  const offline = await watchFleet({ ...unity, spoken: ["sqp"], online: false, protocols });
  for (const { events, counts, network } of [first, known, offline]) {
    assertEquals(events.filter(({ event }) => event === "offline"), []);
    assertEquals(counts.replied, counts.polls);
    assert(network.sent.some(isSqp));
  }
});

Deno.test("a server that sent another datagram gets no SQP in later polls", async () => {
  const endpoint = { address: 0x7f1f0001, port: 9000 };
  const sqp = async (reply: Uint8Array<ArrayBuffer> | undefined) => {
    const { network } = await watchFleet({
      servers: 0,
      more: [endpoint],
      protocols: PROTOCOLS.filter(({ name }) => ["raknet", "sqp"].includes(name)),
      runMs: 60_000,
      script: ({ network }) => {
        network.host(endpoint, { respond: () => reply === undefined ? [] : [reply] });
        network.after(5000, () => network.host(endpoint, { respond: () => [] }));
      },
    });
    assert(network.sent.filter(({ at }) => at > 15_000).length > 5);
    return network.sent.filter(({ bytes }) => bytes.length === 5).length;
  };
  assert(await sqp(undefined) > 0);
  assertEquals(await sqp(Uint8Array.of(0x1c, 1, 2)), 0);
});

Deno.test("a watch waits a second after an unanswered ping, even if follow-ups time out sooner", async () => {
  const java = { servers: 20, software: ["vanilla"], spoken: ["slp"], online: false };
  const { counts, network } = await watchFleet({ ...java, runMs: 20_000 }); // which audits
  assert(counts.replied > 20 && network.sent.some(({ bytes }) => bytes.length === 33));
});

Deno.test("a known server stays online as long as it replies in one of its protocols", async () => {
  const java = { servers: 20, software: ["vanilla"], spoken: ["raknet", "slp"], runMs: 90_000 };
  const { events, counts } = await watchFleet(java);
  assertEquals(events.filter(({ event }) => event === "offline" || event === "online"), []);
  assertEquals(counts.replied, counts.polls);
  assert(counts.polls > 60);
  const script = ({ hosts, kill }: World) => hosts.slice(0, 5).forEach(kill);
  assertEquals(kinds((await watchFleet({ ...java, script })).events).offline, 5);
});

Deno.test("a server whose MOTD opts out during the watch is dropped with its whole address", async () => {
  const [shy] = drawFleet({ servers: 1, range: RANGE, seed: 4, software: ["bdsOptedOut"] });
  const [{ endpoint }] = drawFleet({ servers: 1, range: RANGE, seed: 4, software: ["bds"] });
  const neighbour = { ...endpoint, port: 19999 };
  const { network, events, counts } = await watchFleet({
    servers: 1,
    software: ["bds"],
    runMs: 120_000,
    more: [neighbour],
    script: ({ network, revive }) => network.after(35_000, () => revive({ ...shy, endpoint })),
  });
  assertEquals(kinds(events), { online: 1, offline: 1, opted_out: 2 });
  const reported = events.filter(({ event }) => event === "opted_out");
  assertEquals(reported.map(({ port }) => port).toSorted(), [endpoint.port, 19999].toSorted());
  const { after } = reported[0];
  assert(after > 35_000 && after < 50_000, String(after));
  assertEquals(network.sent.filter(({ at }) => at - 1000 > after + 1), []);
  assert(counts.polls < 20);
});

longTest("2 % loss in each direction gives no false offline event", async () => {
  const { events } = await watchFleet({ servers: 150, loss: 0.02, runMs: 300_000 });
  assertEquals(kinds(events).online, 150);
  assertEquals(events.filter(({ event }) => event === "offline"), []);
});

Deno.test("polls without a free descriptor are deferred and repeated, and report no offline event", async () => {
  for (const software of [["paper"], undefined, ["raknetNode"]]) {
    const { events, counts, servers, shortages } = await watchFleet({
      servers: 60,
      software,
      runMs: 400_000,
      short: (ms) => ms > 20_000 && ms < 200_000,
    });
    assertEquals(kinds(events), { online: 60 }, String(software));
    assert(counts.deferred > 0, String(software));
    assertEquals(shortages.length, 1, String(software));
    assert(servers.every(({ online }) => online));
  }
  const { events } = await watchFleet({ runMs: 300_000, short: (ms) => ms < 60_000 });
  assertEquals(kinds(events), { online: 60 });
});

Deno.test("servers that stop and return are each reported once, in time", async () => {
  const { events, hosts } = await watchFleet({
    runMs: 300_000,
    script: ({ network, hosts, kill, revive }) => {
      const some = hosts.filter((_, i) => i % 3 === 0);
      network.after(60_000, () => some.forEach(kill));
      network.after(150_000, () => some.forEach(revive));
    },
  });
  const some = hosts.filter((_, i) => i % 3 === 0).length;
  assertEquals(kinds(events), { online: hosts.length + some, offline: some });
  const offline = events.filter(({ event }) => event === "offline");
  assert(offline.every(({ after }) => after > 60_000 && after < 115_000));
  const back = events.filter((event) => event.event === "online" && event.offline_ms !== null);
  assert(back.length === some && back.every(({ after }) => after > 150_000 && after < 230_000));
});

Deno.test("a record has the time of its first reply", async () => {
  const { events } = await watchFleet({ runMs: 5000, software: ["pocketmine"] });
  const online = events.filter((event) => event.event === "online");
  assertEquals(online.length, 60);
  // Query follows RakNet: two requests, each with a reply, of at least 5 ms each.
  assert(online.every(({ at, server }) => server.seen_at <= at - 20));
});

Deno.test("tokens are reused while they are valid, and renewed when refused", async () => {
  const queried = async (software: string) => {
    const { network, counts } = await watchFleet({
      servers: 1,
      software: [software],
      intervalMs: 5000,
      runMs: 62_000,
    });
    const first = (byte: number) => network.sent.filter(({ bytes }) => bytes[2] === byte).length;
    assertEquals(counts.replied, counts.polls);
    return { handshakes: first(9), stats: first(0), polls: counts.polls };
  };
  const vanilla = await queried("unsigned");
  assert(vanilla.stats >= 12 && vanilla.handshakes <= 4, JSON.stringify(vanilla));
  const once = await queried("waterdog"); // each of its tokens is valid once
  assert(once.handshakes >= once.polls, JSON.stringify(once));
  assert(once.stats <= once.polls + 3, JSON.stringify(once));
});

Deno.test("the protocol number that a Java server accepted is used in later polls", async () => {
  const { counts, streams } = await watchFleet({ servers: 1, software: ["quarry"], runMs: 60_000 });
  assertEquals([counts.replied, counts.polls > 5], [counts.polls, true]);
  assertEquals(streams.begun.length, counts.polls + 2); // -1 and 765 in the first poll only
});

/**
 * Watches a Java server for 90 seconds that accepts only the protocol number 47, and others after the third
 * poll. Returns the numbers of its requests after the third poll, in the order of polls.
 */
async function numbersAfterChange(accepted: readonly number[]): Promise<number[][]> {
  const numbers: { readonly at: number; readonly protocol: number }[] = [];
  const changedAt = 25_000;
  let begun = 0;
  await watchFleet({
    servers: 1,
    software: ["quarry"],
    runMs: 90_000,
    script: ({ network, streams, hosts: [{ endpoint, streams: quarry }] }) => {
      begun = network.now();
      const other = { servers: 1, range: RANGE, seed: 5, software: ["vanilla"] };
      const [{ streams: vanilla }] = drawFleet(other);
      streams.host(endpoint, {
        accept: (peer) => {
          const at = network.now() - begun;
          const [old, now] = [quarry!.accept(peer), vanilla!.accept(peer)];
          const receive = (bytes: Uint8Array) => {
            if (bytes[0] === 0xfe) return ["close"] as const; // a legacy ping
            const { protocol } = decodeStatusRequest(bytes)!;
            numbers.push({ at, protocol });
            if (at < changedAt) return old.receive(bytes);
            return accepted.includes(protocol) ? now.receive(bytes) : ["close"] as const;
          };
          return { opening: [], receive };
        },
      });
    },
  });
  const polls: number[][] = [];
  let last = -Infinity;
  for (const { at, protocol } of numbers.filter((one) => one.at >= changedAt)) {
    if (at > last + 3000) polls.push([]); // the pause between two polls
    polls.at(-1)!.push(protocol);
    last = at;
  }
  return polls;
}

Deno.test("a protocol number that a Java server no longer accepts is forgotten", async () => {
  const [first, ...others] = await numbersAfterChange([-1]);
  assertEquals(first, [47, -1]);
  assert(others.length >= 2);
  for (const poll of others) assertEquals(poll, [-1]);
  const [closed, ...more] = await numbersAfterChange([]);
  assertEquals(closed.slice(0, 4), [47, -1, 765, 47]);
  assert(more.length >= 2);
  for (const poll of more) assertEquals(poll.slice(0, 3), [-1, 765, 47]);
});

Deno.test("a server without a reply is queried over UDP and TCP at the same time", async () => {
  const endpoint = { address: 0x7f1f0001, port: 25565 };
  const { counts, network } = await watchFleet({
    servers: 0,
    more: [endpoint],
    runMs: 60_000,
    script: ({ streams, network }) => {
      network.host(endpoint, { respond: () => [] });
      streams.host(endpoint, "timeout");
    },
  });
  const reference = await watchFleet({
    servers: 0,
    more: [endpoint],
    runMs: 60_000,
    protocols: PROTOCOLS.filter(({ transport }) => transport === "udp").slice(0, 2),
    script: ({ network }) => network.host(endpoint, { respond: () => [] }),
  });
  assert(network.sent.length > 0);
  assertEquals(counts.polls, reference.counts.polls);
});

Deno.test("a cancelled watch ends at once and reports nothing more", async () => {
  const { events, network } = await watchFleet({
    runMs: 20_000,
    script: ({ network, hosts, kill }) => network.after(19_000, () => hosts.forEach(kill)),
  });
  assertEquals(kinds(events), { online: 60 });
  assert(network.now() < 22_000, String(network.now()));
});

Deno.test("an exception in a poll ends the watch and is thrown", async () => {
  const network = new FakeNetwork(1);
  const rules = {
    intervalMs: 5000,
    downAfter: 3,
    scanId: "watch",
    newEventId: () => "event",
    allProtocols: PROTOCOLS,
  };
  const broken = pollServers({
    servers: [new WatchedServer({ address: 1, port: 1 }, null, rules)],
    rules,
    pool: newPollPool(1),
    spreadMs: 0,
    random: () => 0.5,
    clock: network,
    signal: new AbortController().signal,
    counts: newWatchCounts(),
    onEvent: () => {},
    poll: () => Promise.reject(new Error("broken")),
  });
  const printed = await network.run(broken.catch((error) => (error as Error).message));
  assertEquals(printed, "broken");
});

Deno.test("a watch makes progress if its loop runs and its polls end in time, or none is due", () => {
  const counts = newWatchCounts();
  const tasks = { load: 0 };
  const hasProgress = pollProgress(counts, tasks, 10);
  const after = (change: Partial<WatchCounts>, load: number) => {
    Object.assign(counts, change);
    tasks.load = load;
    return hasProgress();
  };
  assertEquals(after({}, 0), false); // the loop has not begun
  assertEquals(after({ loopAt: 1 }, 0), true);
  assertEquals(after({ loopAt: 11 }, 3), true); // the polls may still run
  assertEquals(after({ loopAt: 12 }, 3), false); // no poll has ended in 10 ms
  assertEquals(after({ loopAt: 13, polls: 1 }, 3), true);
  assertEquals(after({ loopAt: 23, deferred: 1 }, 3), true);
  assertEquals(after({ loopAt: 33 }, 3), true);
  assertEquals(after({ loopAt: 34 }, 3), false);
  assertEquals(after({ loopAt: 35 }, 0), true);
  assertEquals(after({ polls: 2 }, 0), false); // the loop is stuck
});
