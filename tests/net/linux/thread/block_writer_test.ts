import { assert, assertEquals } from "@std/assert";
import { type Endpoint, formatEndpoint } from "../../../../src/core/address.ts";
import { Endpoints } from "../../../../src/core/endpoints.ts";
import { Random } from "../../../../src/fleet/random.ts";
import { BlockWriter, type Destination } from "../../../../src/net/linux/thread/block_writer.ts";
import type { JobReport } from "../../../../src/net/linux/thread/job_server.ts";
import type { ThreadPass } from "../../../../src/net/socket.ts";
import { HostFilter } from "../../../../src/targets/host_filter.ts";
import { RangeSet } from "../../../../src/targets/ranges.ts";
import { type Segment, TargetSpace } from "../../../../src/targets/space.ts";
import { Tokens } from "../../../../src/targets/token.ts";
import { SelectedBatch } from "./selected_batch.ts";

const TEMPLATE = { template: new Uint8Array(8), tokenAt: 0, clockAt: 4 };
const KEY = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
const MASK = 0x00ff_ffff;
const ROUTE = {
  sourceMac: new Uint8Array(6),
  gatewayMac: new Uint8Array(6),
  source: 0,
  mtu: 1500,
  ranges: [{ start: 0x0a000000, end: 0x0a000100 }, { start: 0x0a000300, end: 0x0a000400 }],
};
const SOCKETS = [
  { family: 4, socket: 40, port: 1000 },
  { family: 6, socket: 60, port: 2000 },
  { family: 4, socket: 41, port: 1001 },
] as const;

const segments: Segment[] = [
  { addresses: RangeSet.of([{ start: 0x0a000000, end: 0x0a000400 }]), ports: [19132, 9] },
  { addresses: RangeSet.of([{ start: 1n << 64n, end: (1n << 64n) + 200n }]), ports: [19133] },
];

/** A datagram as it was sent. */
interface Sent extends Destination {
  readonly to: string;
  readonly token: number;
  readonly clock: number;
}

/** A pass with some addresses in its filter, and what is sent. */
function makePass(batchSize: number, limit?: number) {
  const filter = new HostFilter(5);
  const space = new TargetSpace(segments, { seed: 9, pass: 2, limit });
  const pass: ThreadPass = {
    space: structuredClone(space.data),
    template: TEMPLATE,
    key: KEY,
    kind: 3,
    macMask: MASK,
    filter: filter.memory,
    batchSize,
  };
  const [sent, left, visited]: [Sent[], number[], number[]] = [[], [], []];
  /** Number of batches after which the block is cancelled; 0: it is not. */
  const cancelled = { at: 0 };
  const report = {
    leave: (offset: number) => left.push(offset),
    visit: (count: number) => visited.push(count),
    isCancelled: () => cancelled.at > 0 && visited.length >= cancelled.at,
  } as unknown as JobReport;
  /** Sends all but `lost` datagrams of a selection. */
  const send =
    (lost: () => number) =>
    (to: Destination, count: number, add: (batch: SelectedBatch, from: number) => void) => {
      const batch = new SelectedBatch(TEMPLATE, count);
      add(batch, 0);
      assertEquals(batch.length, count);
      const tried = Math.max(0, count - lost());
      for (let i = 0; i < tried; i++) {
        const [token, clock] = new Uint32Array(2).fill(0).map((_, word) =>
          new DataView(batch.datagram(i).slice().buffer).getUint32(4 * word)
        );
        const endpoint = { address: batch.addresses[i], port: batch.ports[i] };
        sent.push({ ...to, to: formatEndpoint(endpoint), token, clock });
      }
      return tried;
    };
  return { filter, space, pass, sent, left, visited, cancelled, report, send };
}

/** The endpoints of a space in its order. */
function endpointsOf(space: TargetSpace): Endpoint[] {
  const all = new Endpoints(space.size);
  space.fill(0, space.size, all);
  return Array.from({ length: space.size }, (_, i) => all.get(i));
}

for (const [batchSize, limit] of [[256, undefined], [37, undefined], [64, 1500]] as const) {
  Deno.test(`blocks of any size send each target once, in batches of ${batchSize}`, () => {
    const { filter, space, pass, sent, left, report, send } = makePass(batchSize, limit);
    const order = endpointsOf(space);
    const random = new Random(batchSize);
    const skipped = new Set(
      order.filter(() => random.below(20) === 0).map(({ address }) => address),
    );
    for (const address of skipped) filter.add(address);
    const writer = new BlockWriter(pass, SOCKETS, { route: ROUTE, socket: 99, method: "xdp" });
    const leftPositions: number[] = [];
    let tried = 0;
    for (let from = 0; from < space.size;) {
      const count = Math.min(1 + random.below(1792), space.size - from);
      left.length = 0;
      const block = { kind: "block", from, count, stamp: 0x7fff_fff0, waited: 100 } as const;
      tried += writer.send(block, report, send(() => 0));
      leftPositions.push(...left.map((offset) => from + offset));
      from += count;
    }
    const one = new Endpoints(1);
    const mayBeSkipped = (endpoint: Endpoint) => {
      one.set(0, endpoint);
      return filter.mayHaveAt(one, 0);
    };
    const expected = order.filter((endpoint) => !mayBeSkipped(endpoint));
    assertEquals(leftPositions.map((at) => order[at]), order.filter(mayBeSkipped));
    assert(order.filter(({ address }) => skipped.has(address)).every(mayBeSkipped));
    assertEquals(tried, expected.length);
    assertEquals(sent.map(({ to }) => to).sort(), expected.map(formatEndpoint).sort());
    const tokens = new Tokens(KEY);
    const tokenOf = new Map(expected.map((endpoint) => [
      formatEndpoint(endpoint),
      (tokens.of(3, endpoint) & MASK) >>> 0,
    ]));
    for (const { to, token, clock } of sent) {
      assertEquals(token, tokenOf.get(to));
      assert((clock - (0x7fff_fff0 + 100) >>> 0) < 10_000_000, "the stamp counts from the block's");
    }
    for (const { to, socket, method, port } of sent) {
      const isFramed = /^10\.0\.[03]\./.test(to);
      if (to.startsWith("[")) assertEquals([socket, method, port], [60, "ipv6", 2000]);
      else if (isFramed) assertEquals([socket, method], [99, "xdp"]);
      else assertEquals([method, port], ["ipv4", socket + 960]);
    }
    const ports = Map.groupBy(sent.filter(({ method }) => method !== "ipv6"), ({ port }) => port);
    const [fewest, most] = [...ports.values()].map(({ length }) => length).sort((a, b) => a - b);
    assert(ports.size === 2 && fewest > 0.6 * most, `the sockets take turns: ${fewest}, ${most}`);
  });
}

Deno.test("a block ends where a selection fails", () => {
  const { space, pass, sent, report, send } = makePass(100);
  const writer = new BlockWriter(pass, SOCKETS);
  let calls = 0;
  const block = { kind: "block", from: 0, count: space.size, stamp: 0, waited: 0 } as const;
  const tried = writer.send(block, report, send(() => ++calls === 4 ? 1 : 0));
  assertEquals([calls, sent.length], [4, tried]);
  assert(tried < space.size);
});

Deno.test("without frames all datagrams are plain", () => {
  const { space, pass, sent, report, send } = makePass(256);
  const block = { kind: "block", from: 0, count: space.size, stamp: 0, waited: 0 } as const;
  new BlockWriter(pass, SOCKETS).send(block, report, send(() => 0));
  assertEquals(new Set(sent.map(({ method }) => method)), new Set(["ipv4", "ipv6"]));
  assertEquals(sent.length, space.size);
});

Deno.test("SYN packets are only frames: a thread leaves all other targets out", () => {
  const { space, pass, sent, left, report, send } = makePass(256);
  const template = { ...TEMPLATE, transport: "tcp" } as const;
  const frames = { route: ROUTE, socket: 99, method: "packet" } as const;
  const writer = new BlockWriter({ ...pass, template }, [SOCKETS[0]], frames);
  const block = { kind: "block", from: 0, count: space.size, stamp: 0, waited: 0 } as const;
  const tried = writer.send(block, report, send(() => 0));
  const order = endpointsOf(space).map(formatEndpoint);
  const isFramed = (to: string) => /^10\.0\.[03]\./.test(to);
  assertEquals(left.map((at) => order[at]), order.filter((to) => !isFramed(to)));
  assertEquals(sent.map(({ to }) => to).sort(), order.filter(isFramed).sort());
  assertEquals([tried, sent.every(({ method, port }) => method === "packet" && port === 1000)], [
    sent.length,
    true,
  ]);
});

Deno.test("a cancelled block ends after a batch, and says how far it came", () => {
  const { space, pass, sent, visited, cancelled, report, send } = makePass(100);
  const block = { kind: "block", from: 0, count: space.size, stamp: 0, waited: 0 } as const;
  cancelled.at = 3;
  assertEquals(new BlockWriter(pass, SOCKETS).send(block, report, send(() => 0)), 300);
  assertEquals([visited, sent.length], [[100, 100, 100], 300]);
});
