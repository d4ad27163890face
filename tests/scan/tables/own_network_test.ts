/** Outages of a scan's own network: src/scan/tables/own_network.ts, src/sweep/passes.ts. */
import { assert, assertEquals } from "@std/assert";
import { formatEndpoint } from "../../../src/core/address.ts";
import { serverId } from "../../../src/core/record.ts";
import type { DatagramSocket } from "../../../src/net/socket.ts";
import type { Outage } from "../../../src/scan/setup/scan_state.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";
import type { FakeStreams } from "../../../src/testing/fake_streams.ts";
import { type Result, scanFleet, type Setting } from "../scan_harness.ts";
import { longTest } from "../../long.ts";

const RANGE = { start: 0x7f100000, end: 0x7f100400 };
const FLEET = { servers: 120, range: RANGE, seed: 3 };
const BEDROCK = { ...FLEET, software: ["bds", "geyser"] };
const RATES = { rate: 100, netRate: undefined, hostRate: undefined };
const RAKNET: Setting = { fleet: BEDROCK, rates: RATES, protocolNames: ["raknet"] };
/** The first probes are sent at this time of the network. */
const BEGIN = 1000;

/** How packets are lost: without a reply, or refused by the system. */
type Loss = "silent" | "refused";

/** When an outage begins and ends, milliseconds after the first probe, and to which it applies. */
interface Times {
  readonly from: number;
  readonly until: number;
  readonly to?: (address: number | bigint) => boolean;
}

/** A network that loses all packets at some times, with its connections. */
class BrokenNetwork extends FakeNetwork {
  constructor(readonly loss: Loss, readonly outages: readonly Times[]) {
    super(1);
  }

  isBroken(address: number | bigint): boolean {
    const ms = this.now() - BEGIN;
    return this.outages.some(({ from, until, to }) =>
      ms >= from && ms < until && to?.(address) !== false
    );
  }

  override transmit(...packet: Parameters<FakeNetwork["transmit"]>): void {
    if (!this.isBroken(packet[1].address)) super.transmit(...packet);
  }

  override open(...local: Parameters<FakeNetwork["open"]>): DatagramSocket {
    const socket = super.open(...local);
    if (this.loss === "silent") return socket;
    const refuse = () => {
      socket.errors.send.set("ENETUNREACH", 1 + (socket.errors.send.get("ENETUNREACH") ?? 0));
      return false;
    };
    const send = socket.send.bind(socket);
    return Object.assign(socket, {
      send: (datagram: Uint8Array, to: Parameters<typeof send>[1]) =>
        this.isBroken(to.address) ? Promise.resolve(refuse()) : send(datagram, to),
      flush: async (batch: Parameters<typeof socket.flush>[0]) => {
        const { length, addresses, ports } = batch as unknown as {
          length: number;
          addresses: number[];
          ports: number[];
        };
        let sent = 0;
        for (let slot = 0; slot < length; slot++) {
          const to = { address: addresses[slot], port: ports[slot] };
          const bytes = (batch as unknown as { datagram(slot: number): Uint8Array }).datagram(slot);
          if (await (socket.send(bytes, to))) sent++;
        }
        return sent;
      },
    });
  }

  /** Breaks connections too. */
  breakStreams(streams: FakeStreams): void {
    const connect = streams.connect.bind(streams);
    const silent = { address: 0x01010101, port: 1 };
    streams.host(silent, "timeout");
    streams.connect = (to, signal, gate) => {
      if (!this.isBroken(to.address)) return connect(to, signal, gate);
      if (this.loss === "silent") return connect(silent, signal, gate);
      streams.errors.set("ENETUNREACH", 1 + (streams.errors.get("ENETUNREACH") ?? 0));
      return Promise.resolve("unreachable");
    };
  }
}

/** Scans through a network that breaks, and records when outages are noticed and over. */
async function scanBroken(setting: Setting, loss: Loss | BrokenNetwork, ...outages: Times[]) {
  const network = loss instanceof BrokenNetwork ? loss : new BrokenNetwork(loss, outages);
  const noticed: { at: number; reason: Outage["reason"]; isOver: boolean }[] = [];
  const result = await scanFleet({
    ...setting,
    network,
    audited: false,
    prepare: (_, __, streams) => network.breakStreams(streams),
    onOutage: ({ reason }, until) =>
      noticed.push({ at: network.now() - BEGIN, reason, isOver: until !== undefined }),
  });
  return { ...result, noticed, seconds: (network.now() - BEGIN) / 1000 };
}

const ids = ({ rows }: Pick<Result, "rows">) => rows.map(serverId).toSorted();

const whole = await scanFleet(RAKNET);
const BOTH: Setting = { ...RAKNET, fleet: FLEET, protocolNames: ["raknet", "slp", "query"] };
const wholeBoth = await scanFleet(BOTH);
const TCP: Setting = { ...BOTH, protocolNames: ["slp"] };
const wholeTcp = await scanFleet(TCP);

for (
  const [name, setting, expected] of [
    ["UDP", RAKNET, whole],
    ["both transports", BOTH, wholeBoth],
    ["TCP", TCP, wholeTcp],
  ] as const
) {
  for (const loss of ["silent", "refused"] as const) {
    Deno.test(`a scan over ${name} notices an outage (${loss}), waits, and repeats what it lost`, async () => {
      const result = await scanBroken(setting, loss, { from: 6000, until: 40_000 });
      const { end, rows, noticed, state } = result;
      assertEquals(end.reason, "done");
      assertEquals(ids(result), ids(expected));
      assertEquals(new Set(ids(result)).size, rows.length);
      assertEquals(result.verdict.faults, expected.verdict.faults);
      assertEquals(noticed.map(({ isOver }) => isOver), [false, true]);
      assertEquals(noticed[0].reason, loss === "silent" ? "no_reply" : "no_route");
      const [begun, over] = noticed.map(({ at }) => at);
      assert(begun > 6000 && begun < 16_000, `noticed after ${begun - 6000} ms`);
      assert(over >= 40_000 && over < 46_000, `over after ${over - 40_000} ms`);
      assertEquals(state.outage, undefined);
      assertEquals(state.visited, expected.state.visited, "repeated targets count once");
    });
  }
}

Deno.test("a scan whose network does not return ends incomplete, and resumes before the outage", async () => {
  for (const loss of ["silent", "refused"] as const) {
    const first = await scanBroken(BOTH, loss, { from: 8000, until: Infinity });
    assertEquals([first.end.reason, first.state.ended], ["incomplete", "incomplete"]);
    assert(first.state.outage !== undefined);
    assert(first.seconds > 300 && first.seconds < 340, `${first.seconds} s`);
    const { udp: from, tcp: fromTcp } = first.end.marks;
    assert(from.position > 0 && fromTcp.position > 0, JSON.stringify(first.end.marks));
    const written = new Set(first.rows.map(serverId));
    const responders = first.hosts.map(({ endpoint }) => endpoint)
      .filter((one) => written.has(formatEndpoint(one)));
    const rest = await scanFleet({ ...BOTH, from, fromTcp, responders });
    assertEquals([...ids(first), ...ids(rest)].toSorted(), ids(wholeBoth));
  }
});

Deno.test("--max-runtime in an outage, and without a route, ends a scan as incomplete", async () => {
  const late = await scanBroken({ ...BOTH, maxRuntimeMs: 20_000 }, "silent", {
    from: 6000,
    until: Infinity,
  });
  assertEquals([late.end.reason, late.seconds < 60], ["incomplete", true]);
  for (const protocolNames of [["raknet"], ["slp"], ["raknet", "slp"]]) {
    const setting = { ...BOTH, protocolNames };
    const never = { from: -Infinity, until: Infinity };
    for (const maxRuntimeMs of [3000, undefined]) {
      const { end, rows } = await scanBroken({ ...setting, maxRuntimeMs }, "refused", never);
      assertEquals([end.reason, rows.length], ["incomplete", 0]);
      assertEquals(end.marks, { udp: { pass: 1, position: 0 }, tcp: { pass: 1, position: 0 } });
    }
  }
});

Deno.test("without a server that replied, refusals alone show an outage", async () => {
  const empty: Setting = { ...RAKNET, fleet: { ...BEDROCK, servers: 0 } };
  const short = await scanBroken(empty, "refused", { from: 3000, until: 30_000 });
  assertEquals(short.end.reason, "done");
  assertEquals(short.noticed.map(({ isOver }) => isOver), [false, true]);
  const probed = new Set(short.network.sent.map(({ to }) => to.address));
  assertEquals(probed.size, RANGE.end - RANGE.start);
  const one = await scanBroken(empty, "refused", { from: 5, until: Infinity });
  assertEquals([one.end.reason, one.end.marks.udp.position], ["incomplete", 0]);
  assert(one.state.sent > 0 && one.state.sent < 20, `${one.state.sent} sent`);
});

Deno.test("refusals that concern a part of the targets are no outage", async () => {
  const to = (address: number | bigint) => address >= RANGE.start + 0x200;
  const always = { from: -Infinity, until: Infinity, to };
  for (const servers of [0, 120]) {
    for (const seed of [5, undefined]) {
      const setting: Setting = { ...RAKNET, fleet: { ...BEDROCK, servers }, seed };
      const { end, noticed, seconds } = await scanBroken(setting, "refused", always);
      assertEquals(end.reason, "done");
      assert(servers === 0 && seed === undefined || noticed.length === 0, "was an outage");
      assert(seconds < 60, `${seconds} s`);
    }
  }
});

Deno.test("servers that stop one after the other, and heavy loss, are no outage", async () => {
  const stopping = Array.from({ length: 64 }, (_, i) => ({
    from: 100 * i,
    until: Infinity,
    to: (address: number | bigint) => Number(address) % 64 === i,
  }));
  const { end, noticed } = await scanBroken(RAKNET, "silent", ...stopping.slice(0, 56));
  assertEquals([end.reason, noticed], ["done", []]);
  const seen: unknown[] = [];
  const faults = { loss: 0.3, duplication: 0, delay: 20, jitter: 0 }; // 51 % in both directions
  const { end: { reason } } = await scanFleet({
    ...RAKNET,
    faults,
    onOutage: (outage) => void seen.push(outage),
  });
  assertEquals([reason, seen], ["done", []]);
});

/** A network whose hosts get one packet each, and lose all others. */
class OnceNetwork extends BrokenNetwork {
  readonly #reached = new Set<number | bigint>();

  override transmit(...packet: Parameters<FakeNetwork["transmit"]>): void {
    const { address } = packet[1];
    if (!this.#reached.has(address)) super.transmit(...packet);
    if (!this.isBroken(address)) this.#reached.add(address);
  }
}

const WIDE = { start: 0x7f100000, end: 0x7f104000 };
const SPARSE: Setting = {
  ...RAKNET,
  fleet: { ...BEDROCK, servers: 5, range: WIDE },
  rates: { ...RATES, rate: 1000 },
};

longTest(
  "a few hosts that reply once and never again are no outage, and do not prolong one",
  async () => {
    const usual = await scanBroken(SPARSE, "silent");
    for (const outages of [[], [{ from: 12_000, until: 25_000 }]]) {
      const network = new OnceNetwork("refused", outages);
      const { end, rows, hosts, noticed, seconds } = await scanBroken(SPARSE, network);
      assertEquals([end.reason, rows.length], ["done", usual.rows.length]);
      assertEquals(noticed.map(({ isOver }) => isOver), outages.flatMap(() => [false, true]));
      const probed = new Set(network.sent.map(({ to }) => to.address));
      assertEquals(probed.size, WIDE.end - WIDE.start);
      assert(seconds < usual.seconds + 30, `${seconds} s instead of ${usual.seconds} s`);
      for (const { endpoint: { address } } of hosts) {
        const packets = network.sent.filter(({ to }) => to.address === address).length;
        assert(packets < 20, `${packets} packets to one host`);
      }
    }
  },
);

longTest(
  "a few servers that have replied again show an outage, and get few packets in it",
  async () => {
    const whole = await scanBroken(SPARSE, "silent");
    const long = { from: 14_000, until: 200_000 };
    const { end, rows, hosts, noticed, network } = await scanBroken(SPARSE, "silent", long);
    assertEquals([end.reason, rows.length], ["done", whole.rows.length]);
    assertEquals(noticed.map(({ isOver }) => isOver), [false, true]);
    assert(noticed[1].at < long.until + 35_000, `over at ${noticed[1].at} ms`);
    for (const { endpoint: { address } } of hosts) {
      const packets = network.sent.filter(({ to }) => to.address === address).length;
      assert(packets < 60, `${packets} packets to one host`);
    }
  },
);
