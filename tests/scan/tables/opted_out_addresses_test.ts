/**
 * Nothing is sent to an address after its opt-out, even if exchanges were in progress. Covers
 * src/scan/tables/opt_out_recorder.ts and src/scan/tables/address_signals.ts too.
 */
import { assert, assertEquals } from "@std/assert";
import type { Address, Endpoint } from "../../../src/core/address.ts";
import * as raknet from "../../../src/protocols/raknet/mod.ts";
import * as slp from "../../../src/protocols/slp/mod.ts";
import type { StreamResponder } from "../../../src/fleet/simulate/responder.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";
import type { EndpointBehaviour, FakeStreams } from "../../../src/testing/fake_streams.ts";
import { scanFleet, type Setting } from "../scan_harness.ts";

const ADDRESS = 0x7f200000;
const NEIGHBOUR = ADDRESS + 1;
const FIRST_PORT = 9000;
const PORTS = 50;
/** A delay just within the timeout of 1,500 ms. */
const LATE_MS = 1490;
const MARKER = "§b§d§f§d§b";

/** A Bedrock server that replies late. Only pings get a reply. */
function lateBedrock(
  network: FakeNetwork,
  endpoint: Endpoint,
  motd: string,
  { echoes = true, delayMs = LATE_MS, onPing = () => {}, onPong = () => {} }: {
    onPing?: (from: Endpoint) => void;
    echoes?: boolean;
    delayMs?: number;
    onPong?: () => void;
  } = {},
): void {
  network.host(endpoint, {
    respond(datagram, from) {
      const ping = raknet.decodePing(datagram);
      if (ping === undefined) return [];
      const text = new TextEncoder().encode(
        `MCPE;${motd};766;1.21.50;3;20;${endpoint.port};w;Survival;`,
      );
      const guid = BigInt(endpoint.port);
      const time = echoes ? ping.time : 0n;
      network.inject(
        endpoint,
        from,
        raknet.encodePong({ advertise: false, time, guid, text }),
        delayMs,
      );
      network.after(delayMs, onPong);
      onPing(from);
      return [];
    },
  });
}

/** Accepts connections, and never replies. */
const SILENT: StreamResponder = {
  accept: () => ({ opening: [], receive: () => [] }),
};

/** Scans an address with a port that opts out late, and a neighbouring address. */
async function scanWithMarker(
  marked: number,
  {
    network = new FakeNetwork(1),
    echoes = true,
    othersMs = LATE_MS,
    markedMs = LATE_MS,
    onPing = () => {},
    prepareStreams = () => {},
    door = "refused",
    ...over
  }: Partial<Setting> & {
    readonly echoes?: boolean;
    readonly othersMs?: number;
    readonly markedMs?: number;
    readonly onPing?: (from: Endpoint) => void;
    readonly prepareStreams?: (streams: FakeStreams) => void;
    readonly door?: EndpointBehaviour;
  },
) {
  let arrivedAt = Infinity;
  let recordedAt = Infinity;
  const addresses: Address[] = [];
  const result = await scanFleet({
    fleet: { servers: 0, range: { start: ADDRESS, end: ADDRESS + 2 }, seed: 1 },
    protocolNames: ["raknet", "query"],
    ports: () => Array.from({ length: PORTS }, (_, i) => FIRST_PORT + i),
    capLoopback: true,
    audited: false, // the log does not contain the late replies
    network,
    prepare(_network, _hosts, streams) {
      streams.absent = door;
      prepareStreams(streams);
      for (let i = 0; i < PORTS; i++) {
        const port = FIRST_PORT + i;
        const onPong = () => arrivedAt = Math.min(arrivedAt, network.now());
        const isMarked = port === marked;
        lateBedrock(
          network,
          { address: ADDRESS, port },
          isMarked ? MARKER : `server ${port}`,
          isMarked ? { echoes, delayMs: markedMs, onPing, onPong } : { echoes, delayMs: othersMs },
        );
        lateBedrock(network, { address: NEIGHBOUR, port }, `neighbour ${port}`, {
          delayMs: othersMs,
        });
      }
    },
    onOptOut(address) {
      recordedAt = Math.min(recordedAt, network.now());
      addresses.push(address);
    },
    ...over,
  });
  const { streams, rows } = result;
  const later = [...network.sent, ...streams.begun, ...streams.written]
    .filter(({ to, at }) => to.address === ADDRESS && at > recordedAt);
  const hosts = rows.map(({ host }) => host);
  return {
    ...result,
    arrivedAt,
    recordedAt,
    addresses,
    later: later.length,
    own: hosts.filter((host) => host === "127.32.0.0").length,
    neighbours: hosts.filter((host) => host === "127.32.0.1").length,
  };
}

const RATES = {
  "the default caps": { rate: 1000, netRate: 50, hostRate: 5 },
  "no cap": { rate: 1000, netRate: undefined, hostRate: undefined },
};

for (const [caps, rates] of Object.entries(RATES)) {
  Deno.test(`nothing more is sent to an address after an opt-out of any of its ports, with ${caps}`, async () => {
    for (let marked = FIRST_PORT; marked < FIRST_PORT + PORTS; marked += 7) {
      const found = await scanWithMarker(marked, { rates });
      assertEquals(found.addresses, [ADDRESS], `port ${marked}`);
      assertEquals(found.recordedAt, found.arrivedAt, `port ${marked}: recorded when it arrives`);
      assertEquals(found.later, 0, `port ${marked}: datagrams after that`);
      assertEquals([found.neighbours, found.state.optedOut], [PORTS, 1]);
      assertEquals(found.end.reason, "done");
    }
  });
}

Deno.test("an opt-out without the token ends all interviews of its address once it is confirmed", async () => {
  for (let marked = FIRST_PORT; marked < FIRST_PORT + PORTS; marked += 7) {
    const found = await scanWithMarker(marked, {
      echoes: false,
      rates: RATES["the default caps"],
    });
    assertEquals([found.addresses, found.later], [[ADDRESS], 0], `port ${marked}`);
  }
});

Deno.test("an opt-out without follow-ups is recorded when it arrives", async () => {
  const found = await scanWithMarker(FIRST_PORT + 7, { follow: false, rates: RATES["no cap"] });
  assertEquals([found.addresses, found.recordedAt], [[ADDRESS], found.arrivedAt]);
  assertEquals([found.later, found.neighbours], [0, PORTS]);
});

Deno.test("after an opt-out, pending connections to its address send nothing, and open ones are cancelled", async () => {
  for (const door of ["timeout", SILENT] as const) {
    const found = await scanWithMarker(FIRST_PORT + 7, {
      protocolNames: ["raknet", "slp", "query"],
      rates: RATES["the default caps"],
      door,
    });
    assertEquals([found.addresses, found.later, found.end.reason], [[ADDRESS], 0, "done"]);
    assertEquals([found.neighbours, found.streams.open], [PORTS, 0]);
    const { open, valid, invalid, closed, unresponsive, cancelled, unqueried } =
      found.state.tcp.counts;
    assertEquals(cancelled > 0, door === SILENT);
    assertEquals(valid + invalid + closed + unresponsive + cancelled + unqueried, open);
  }
});

Deno.test("an opt-out in a pong of a detecting pass is recorded when it arrives", async () => {
  const found = await scanWithMarker(FIRST_PORT + 7, {
    protocolNames: ["sqp"],
    rates: RATES["the default caps"],
  });
  assertEquals([found.addresses, found.recordedAt, found.later], [
    [ADDRESS],
    found.arrivedAt,
    0,
  ]);
});

Deno.test("an opt-out that arrives after the cooldown, while interviews run, is recorded", async () => {
  const interrupt = new AbortController();
  const network = new FakeNetwork(1);
  network.after(500, () => interrupt.abort());
  const found = await scanWithMarker(FIRST_PORT + 7, {
    network,
    retries: 3,
    othersMs: 5,
    cooldownMs: 100,
    signal: interrupt.signal,
    rates: { rate: 1000, netRate: undefined, hostRate: undefined },
  });
  assertEquals([found.addresses, found.recordedAt, found.later], [
    [ADDRESS],
    found.arrivedAt,
    0,
  ]);
});

Deno.test("an opt-out that arrives late is recorded despite a flood with its forged address", async () => {
  const interrupt = new AbortController();
  const network = new FakeNetwork(1);
  const [marked, other] = [9007, 9003].map((port) => ({ address: ADDRESS, port }));
  network.after(500, () => interrupt.abort());
  const flood = (to: Endpoint) => {
    for (let i = 0; i < 70; i++) network.inject(other, to, Uint8Array.of(1, 2, 3), 50 + i / 10);
  };
  const found = await scanWithMarker(marked.port, {
    network,
    retries: 3,
    othersMs: 5,
    onPing: flood,
    cooldownMs: 100,
    signal: interrupt.signal,
    rates: { rate: 1000, netRate: undefined, hostRate: undefined },
  });
  assert(found.state.floods.addresses.length > 0);
  assertEquals([found.addresses, found.recordedAt], [[ADDRESS], found.arrivedAt]);
});

Deno.test("an opt-out during the save of the last checkpoint does not make a scan incomplete", async () => {
  for (let at = 5; at < 700; at += 15) {
    const network = new FakeNetwork(1);
    const wait = (ms: number) => new Promise<void>((resolve) => network.after(ms, resolve));
    const endpoint = { address: ADDRESS, port: FIRST_PORT };
    const text = (motd: string) =>
      new TextEncoder().encode(`MCPE;${motd};766;1.21.50;3;20;1;w;Survival;`);
    const { end, rows } = await scanFleet({
      network,
      fleet: { servers: 0, range: { start: ADDRESS, end: ADDRESS + 1 }, seed: 1 },
      protocolNames: ["raknet"],
      ports: () => [FIRST_PORT, FIRST_PORT + 1], // the second one does not reply
      audited: false,
      cooldownMs: 2400,
      retries: 0,
      checkpoint: { accepted: () => wait(1), optedOut: () => wait(50), save: () => wait(300) },
      prepare() {
        network.host(endpoint, {
          respond(datagram, from) {
            const ping = raknet.decodePing(datagram)!;
            const pong = (motd: string) =>
              raknet.encodePong({ advertise: false, time: ping.time, guid: 1n, text: text(motd) });
            network.inject(endpoint, from, pong(MARKER), 2400 + at);
            return [pong("A server")];
          },
        });
      },
    });
    assertEquals([end.reason, rows.length], ["done", 1], `${at} ms after the cooldown`);
  }
});

Deno.test("an opt-out over TCP of a server that has replied over UDP meanwhile is recorded", async () => {
  const javaStatus = {
    version: { name: "1.21", protocol: 767 },
    players: { max: 5, online: 0 },
    description: MARKER,
  };
  const json = new TextEncoder().encode(JSON.stringify(javaStatus));
  const reply = slp.encodeStatusResponse({ json, trailing: new Uint8Array() });
  for (const follow of [true, false]) {
    const found = await scanWithMarker(0, {
      protocolNames: ["raknet", "slp", "query"],
      rates: RATES["no cap"],
      follow,
      door: {
        accept: () => ({ opening: [], receive: () => [{ waitMs: 3500 }, { bytes: reply }] }),
      },
    });
    assertEquals(found.addresses.toSorted(), [ADDRESS, NEIGHBOUR]);
    assertEquals(found.state.optedOut, 2);
  }
});

Deno.test("an opt-out cancels verifications, and the interviews of a rescan", async () => {
  const known = Array.from({ length: PORTS }, (_, i) => ({
    endpoint: { address: ADDRESS, port: FIRST_PORT + i },
    protocols: ["raknet"],
  }));
  const rescanned = await scanWithMarker(FIRST_PORT + 7, { known, rates: RATES["no cap"] });
  assertEquals([rescanned.addresses, rescanned.later], [[ADDRESS], 0]);
  const verified = await scanWithMarker(FIRST_PORT + 7, { verify: true, rates: RATES["no cap"] });
  assertEquals([verified.addresses, verified.later], [[ADDRESS], 0]);
});
