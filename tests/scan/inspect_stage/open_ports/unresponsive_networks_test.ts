/**
 * Scans of networks that accept connections and reply to nothing, on the fake network.
 *
 * Covers src/scan/inspect_stage/open_ports/port_outcomes.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { type Endpoint, parseAddress } from "../../../../src/core/address.ts";
import { serverId } from "../../../../src/core/record.ts";
import type { StreamResponder } from "../../../../src/fleet/simulate/responder.ts";
import { type Protocol, request } from "../../../../src/protocols/protocol.ts";
import { NO_USUAL_PORTS } from "../../../../src/protocols/usual_ports.ts";
import { UnresponsiveNetworks } from "../../../../src/scan/inspect_stage/open_ports/unresponsive_networks.ts";
import { STREAM_LIMITS } from "../../../../src/net/stream_link.ts";
import { DialedPorts } from "../../../../src/net/dialed_ports.ts";
import { FakeNetwork } from "../../../../src/testing/fake_network.ts";
import type { FakeStreams } from "../../../../src/testing/fake_streams.ts";
import { type Result, scanFleet, type Setting } from "../../scan_harness.ts";

/** Requests 1; the reply is 7. */
const toy: Protocol<string> = {
  name: "slp",
  transport: "tcp",
  finds: "toys",
  probeText: "toys",
  ports: NO_USUAL_PORTS,
  playerFacts: [],
  *exchange() {
    return yield* request(Uint8Array.of(1), () => "toy", { resend: false });
  },
  record: (text) => ({ columns: { motd: text, name: text }, flags: [], facts: { text } }),
};

const BASE = 0x7f100000;
const at = (index: number, port = 25565): Endpoint => ({ address: BASE + index, port });
const up = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i);
const ids = ({ rows }: Result) => rows.map(serverId).toSorted();

/** Hosts of a test, and the times at which they were queried. */
class Hosts {
  readonly #network: FakeNetwork;
  readonly mute: { readonly at: number; readonly to: Endpoint }[] = [];
  readonly found: number[] = [];

  constructor(network: FakeNetwork) {
    this.#network = network;
  }

  /** A host that never replies. */
  silent(to: Endpoint): StreamResponder {
    const receive = () => {
      this.mute.push({ at: this.#network.now(), to });
      return [];
    };
    return { accept: () => ({ opening: [], receive }) };
  }

  /** A server. */
  server(delayMs = 0): StreamResponder {
    const receive = () => {
      this.found.push(this.#network.now());
      return [{ waitMs: delayMs }, { bytes: Uint8Array.of(7) }];
    };
    return { accept: () => ({ opening: [], receive }) };
  }
}

/** Sockets that report open ports without a connection, as those of raw SYN packets do. */
function rawPorts(clock: FakeNetwork, dialer: FakeStreams): Setting["openPorts"] {
  return (bits, options) => {
    const socket = new DialedPorts(bits, dialer, { ...options, clock, atOnce: 5000 });
    const listen = socket.listen.bind(socket);
    socket.listen = (receiver, capacity) =>
      listen((reply, from) => {
        reply.stream?.[Symbol.dispose]();
        receiver({ ...reply, stream: undefined }, from);
      }, capacity);
    return [socket];
  };
}

/**
 * A scan with few connections, in ascending order, of addresses from the base on.
 *
 * @param isRaw Whether open ports have no connection, so that many wait for their query.
 */
async function scanToys(
  size: number,
  prepare: (streams: FakeStreams, hosts: Hosts) => void,
  { isRaw = false, ...setting }: Partial<Setting> & { readonly isRaw?: boolean } = {},
): Promise<Result & { readonly scanned: Hosts }> {
  const network = setting.network ?? new FakeNetwork(1);
  const scanned = new Hosts(network);
  const range = { start: BASE, end: BASE + size };
  let dialer: FakeStreams;
  const result = await scanFleet({
    network,
    openPorts: isRaw ? (bits, options) => rawPorts(network, dialer)!(bits, options) : undefined,
    fleet: { servers: 0, range, seed: 1 },
    protocols: [toy as Protocol],
    allProtocols: [toy as Protocol],
    ports: () => [25565],
    connections: 8, // six queries at once
    seed: undefined,
    ...setting,
    prepare: (_network, _hosts, streams) => prepare(dialer = streams, scanned),
  });
  return { ...result, scanned };
}

const outcomes = ({ state: { tcp: { counts } } }: Result) =>
  counts.valid + counts.invalid + counts.closed + counts.unresponsive + counts.unqueried;

/** 1,000 silent hosts in four networks, and 50 servers in the network after them. */
function tarpit(streams: FakeStreams, hosts: Hosts): void {
  for (const i of up(0, 1000)) streams.host(at(i), hosts.silent(at(i)));
  for (const i of up(1024, 50)) streams.host(at(i), hosts.server());
}

for (const isRaw of [false, true]) {
  const name = isRaw ? "open ports without connections" : "connections";
  Deno.test(`servers after 1,000 silent hosts are found before a quarter of these is queried: ${name}`, async () => {
    const result = await scanToys(1074, tarpit, { isRaw });
    const { scanned: { mute, found }, state: { tcp } } = result;
    assertEquals([result.end.reason, result.rows.length], ["done", 50]);
    const last = Math.max(...found);
    const before = mute.filter((query) => query.at <= last).length;
    assert(before < 250, `${before} silent hosts were queried before the last server`);
    assertEquals([tcp.counts.unresponsive, mute.length, tcp.counts.unqueried], [1000, 1000, 0]);
    const names = up(0, 4).map((i) => `127.16.${i}.0/24`);
    assertEquals([...tcp.unresponsiveNetworks.keys()].toSorted(), names);
    assertEquals(tcp.unresponsiveNetworks.values().reduce((sum, one) => sum + one), 1000);
    assertEquals([result.streams.open, result.end.marks.tcp], [0, { pass: 3, position: 0 }]);
    assert(isRaw || result.streams.most <= 16);
  });
}

Deno.test("ports of a network with a valid reply are queried before deferred ones, until 16 do not reply", async () => {
  const returned = async (silent: number) => {
    const { scanned } = await scanToys(512, (streams, hosts) => {
      for (const i of up(0, 256 + silent)) streams.host(at(i), hosts.silent(at(i)));
      streams.host(at(276), hosts.server(500));
    }, { retries: 0, isRaw: true });
    const { mute, found: [found] } = scanned;
    const after = mute.filter(({ at }) => at > found + 1000);
    const first = after.findIndex(({ to }) => to.address < at(256).address);
    const all = after.filter(({ to }) => to.address >= at(256).address).length;
    return { first, all };
  };
  const few = await returned(32);
  assert(few.all > 0);
  assertEquals(few.first, few.all);
  const many = await returned(200);
  assert(many.first > 0 && many.first < 16 + 6 && many.all > 100, `${JSON.stringify(many)}`);
});

Deno.test("at most four connections are open to a host, also while its ports wait", async () => {
  const ports = up(20000, 40);
  const network = new FakeNetwork(1);
  const open: number[] = [];
  const result = await scanToys(1, (streams, hosts) => {
    for (const port of ports) streams.host(at(0, port), hosts.server(2000));
    for (const ms of [500, 1000, 5000, 10_000]) network.after(ms, () => open.push(streams.open));
  }, { network, ports: () => ports, retries: 0, connections: 256 });
  assertEquals([result.end.reason, result.rows.length, open], ["done", 40, [4, 4, 4, 4]]);
});

Deno.test("the connections of waiting ports in an unresponsive network are closed", async () => {
  const network = new FakeNetwork(1);
  const open: number[] = [];
  const result = await scanToys(40, (streams, hosts) => {
    for (const i of up(0, 40)) streams.host(at(i), hosts.silent(at(i)));
    for (const ms of [6000, 9500]) network.after(ms, () => open.push(streams.open));
  }, { network, retries: 0, connections: 16 });
  assertEquals([result.end.reason, result.state.tcp.counts.unresponsive], ["done", 40]);
  assert(open[0] > 12 && open[1] <= 12, `${open}`);
});

Deno.test("a network that accepts connections on all ports does not delay those after it", async () => {
  const ports = up(20000, 20);
  const result = await scanToys(260, (streams, hosts) => {
    for (const i of up(0, 256)) {
      for (const port of ports) streams.host(at(i, port), hosts.silent(at(i, port)));
    }
    for (const i of up(256, 4)) streams.host(at(i, 20003), hosts.server());
  }, { ports: () => ports, retries: 0 });
  const { scanned: { mute, found }, state: { tcp } } = result;
  assertEquals([result.end.reason, result.rows.length], ["done", 4]);
  assert(mute.filter(({ at }) => at <= Math.max(...found)).length < mute.length / 2);
  assertEquals([tcp.counts.unresponsive, mute.length], [5120, 5120]);
  assert(tcp.unresponsiveNetworks.has("127.16.0.0/24"));
  // at most four connections to a host are open at once, also to the last ones
  for (const host of up(0, 256)) {
    const times = mute.filter(({ to }) => to.address === at(host).address).map(({ at }) => at);
    assertEquals(times.filter((time) => time === times[0]).length <= 4, true);
  }
});

Deno.test("one host that accepts connections on all ports is deferred without its network", async () => {
  const ports = up(20000, 64);
  const result = await scanToys(32, (streams, hosts) => {
    for (const port of ports) streams.host(at(5, port), hosts.silent(at(5, port)));
    for (const i of up(6, 26)) {
      for (const port of ports.slice(0, 8)) streams.host(at(i, port), hosts.server());
    }
  }, {
    ports: () => ports,
    retries: 0,
    seed: 5,
    rates: { rate: 80, netRate: undefined, hostRate: undefined },
  });
  assertEquals([result.end.reason, result.rows.length], ["done", 26 * 8]);
  assertEquals([...result.state.tcp.unresponsiveNetworks.keys()], ["127.16.0.5"]);
  assertEquals(result.state.tcp.counts.unresponsive, 64);
});

Deno.test("after a valid reply the ports of a network are not deferred any more", async () => {
  const result = await scanToys(64, (streams, hosts) => {
    for (const i of up(0, 31)) streams.host(at(i), hosts.silent(at(i)));
    streams.host(at(20), hosts.server(500));
  }, { retries: 0 });
  const { scanned: { mute, found: [found] }, state: { tcp } } = result;
  assertEquals([result.rows.length, tcp.counts.unresponsive], [1, 30]);
  assertEquals([...tcp.unresponsiveNetworks], []);
  const times = mute.map(({ at }) => at);
  assert(times.includes(found + 1000)); // queries that began before the reply took 1 s
  assert(result.network.now() - times.at(-1)! >= 4000); // later ones have the usual time
});

Deno.test("an interrupted scan drops deferred ports, and the resumed scan queries them", async () => {
  const prepare = (streams: FakeStreams, hosts: Hosts) => {
    for (const i of up(0, 768)) streams.host(at(i), hosts.silent(at(i)));
    for (const i of up(0, 20)) streams.host(at(36 * i + 35), hosts.server());
  };
  const all = ids(await scanToys(768, prepare, { retries: 0 }));
  assertEquals(all.length, 20);
  let cut = 0;
  for (const stopMs of [20_000, 40_000, 60_000]) {
    const network = new FakeNetwork(1);
    const controller = new AbortController();
    network.after(stopMs, () => controller.abort());
    const first = await scanToys(768, prepare, {
      ...{ network, retries: 0, signal: controller.signal },
    });
    assertEquals([first.end.reason, first.streams.open], ["interrupted", 0]);
    assert(network.now() < 1000 + stopMs + 10_000); // the deferred ports do not delay the end
    const { open } = first.state.tcp.counts;
    if (open > outcomes(first) + 100) cut++;
    assert(first.streams.begun.every(({ at }) => at <= 1000 + stopMs));
    const responders = first.rows.map(({ host, port }) => ({ address: parseAddress(host)!, port }));
    const second = await scanToys(768, prepare, {
      ...{ fromTcp: first.end.marks.tcp, responders, retries: 0 },
    });
    assertEquals([...ids(first), ...ids(second)].toSorted(), all);
    assertEquals(second.end.reason, "done");
  }
  assert(cut > 0);
});

Deno.test("ports above the limit are counted as not queried, and the next pass probes them again", async () => {
  const result = await scanToys(1074, tarpit, { maxDeferred: 50 });
  const { counts } = result.state.tcp;
  assertEquals([result.end.reason, result.rows.length], ["done", 50]);
  assertEquals(result.end.marks.tcp, { pass: 3, position: 0 });
  assert(counts.unqueried > 500, `${counts.unqueried}`);
  assertEquals(outcomes(result), counts.open);
  const once = await scanToys(1074, tarpit, { maxDeferred: 50, retries: 0 });
  assert(once.scanned.mute.length < result.scanned.mute.length);
  const queried = new Set(result.scanned.mute.map(({ to }) => to.address));
  assertEquals(queried.size, result.scanned.mute.length);
});

Deno.test("no waiting port of a host is lost when its queries end before others begin", async () => {
  const ports = up(20000, 9);
  const result = await scanToys(100, (streams, hosts) => {
    for (const port of ports) streams.host(at(0, port), hosts.server(500));
    for (const i of up(1, 99)) streams.host(at(i, ports[8]), hosts.silent(at(i)));
  }, { ports: () => ports, retries: 0, isRaw: true });
  assertEquals([result.end.reason, result.rows.length], ["done", 9]);
  assertEquals(result.state.tcp.counts.unresponsive, 99);
});

Deno.test("an open port whose connection was lost is probed again in the next pass", async () => {
  const { rows, state } = await scanToys(2, (streams, hosts) => {
    streams.host(at(1), hosts.server());
    const { connect } = streams;
    let begun = 0;
    streams.connect = async (to, signal, ...more) => {
      if (to.address !== at(1).address || ++begun !== 2) {
        return await connect.call(streams, to, signal, ...more);
      }
      return await new Promise((resolve) => signal.onabort = () => resolve("cancelled"));
    };
  }, { isRaw: true, streamLimits: { ...STREAM_LIMITS, connectMs: 300 } });
  assertEquals([rows.length, state.tcp.counts.unresponsive, state.tcp.counts.open], [1, 1, 2]);
});

Deno.test("16 queries without a reply make a network unresponsive, and a valid reply ends that", () => {
  const ports = new Map<string, number>();
  const networks = new UnresponsiveNetworks(ports);
  const ipv4 = (last: number) => parseAddress(`10.1.2.${last}`)!;
  const ipv6 = (last: number) => parseAddress(`2001:db8:1:${last}::3`)!;
  for (const addressOf of [ipv4, ipv6]) {
    for (let i = 0; i < 15; i++) assertEquals(networks.add(addressOf(i)), []);
    assertEquals(networks.of(addressOf(0)), undefined);
  }
  assertEquals(networks.add(ipv4(15)), ["10.1.2.0/24", "10.1.2.15"]);
  assertEquals(networks.add(ipv6(15)), ["2001:db8:1::/48", "2001:db8:1:15::3"]);
  assertEquals(networks.of(ipv4(200)), "10.1.2.0/24");
  assertEquals(networks.of(parseAddress("10.1.3.3")!), undefined);
  assertEquals(networks.add(ipv4(200)), []);
  assertEquals(ports.get("10.1.2.0/24"), 17);
  assertEquals(networks.reset(ipv4(9)), ["10.1.2.0/24"]);
  assertEquals([networks.of(ipv4(0)), networks.add(ipv4(0))], [undefined, []]);
});

Deno.test("a host on many ports is unresponsive without its network", () => {
  const ports = new Map<string, number>();
  const networks = new UnresponsiveNetworks(ports);
  const [one, other] = [0x0a010203, 0x0a010204];
  for (let i = 0; i < 15; i++) assertEquals(networks.add(one), []);
  assertEquals(networks.add(one), ["10.1.2.3"]);
  for (let i = 0; i < 7; i++) assertEquals(networks.add(other), []);
  assertEquals([networks.of(one), networks.of(other)], ["10.1.2.3", undefined]);
  assertEquals(networks.add(other), ["10.1.2.0/24", "10.1.2.4"]);
  assertEquals([networks.reset(other), networks.reset(one)], [["10.1.2.0/24"], ["10.1.2.3"]]);
});

Deno.test("the tables of networks are bounded", () => {
  const ports = new Map<string, number>();
  const networks = new UnresponsiveNetworks(ports);
  for (let i = 0; i < 70_000; i++) {
    for (let query = 0; query < 16; query++) networks.add(256 * i);
  }
  assertEquals(ports.size, 65_536);
});
