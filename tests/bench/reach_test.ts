/** The synthetic worlds of bench/reach.ts, and the ways to find servers that it compares. */
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { Curve } from "../../bench/reach/curve.ts";
import { Run } from "../../bench/reach/explore.ts";
import { drawYields } from "../../bench/reach/plot.ts";
import { Replies } from "../../bench/reach/replies.ts";
import { defaultSweep, expansion, oracle } from "../../bench/reach/rivals.ts";
import {
  createWorld,
  DEFAULT,
  isLost,
  monthOldList,
  partOf,
  PORTS,
  type Server,
  SIZE,
} from "../../bench/reach/world.ts";
import { mix } from "../../src/core/bits.ts";
import { RangeSet } from "../../src/targets/ranges.ts";
import { TargetSpace } from "../../src/targets/space.ts";

const WORLDS = [6, 7, 8, 9, 10].map(createWorld);

/** Number of endpoints, and the XOR of their hashes. */
function pinOf(servers: readonly Server[]): [number, number] {
  const hashes = servers.map(({ address, port }) => mix(mix(address) ^ port));
  return [servers.length, hashes.reduce((a, b) => a ^ b) >>> 0];
}

Deno.test("the worlds of the benchmark's seeds do not change", () => {
  assertEquals(WORLDS.map(({ servers }) => pinOf(servers)), [
    [12611, 2541508647],
    [13417, 2718676221],
    [15120, 4219334990],
    [12850, 2278337884],
    [12884, 3753079730],
  ]);
  assertEquals(pinOf(monthOldList(WORLDS[0])), [11941, 135896923]);
});

Deno.test("replies are lost by a hash of the endpoint, the second one by another hash", () => {
  const [world] = WORLDS;
  const lost = (before: number) => world.servers.filter((one) => isLost(world, one, before));
  assertAlmostEquals(lost(0).length / world.servers.length, 0.024, 0.005);
  assertAlmostEquals(lost(1).length / world.servers.length, 0.024, 0.005);
  const both = lost(0).filter((one) => isLost(world, one, 1));
  assert(both.length < 0.2 * lost(0).length, `${both.length} lost twice`);
});

Deno.test("half of a list that is a month old is still there", () => {
  const [world] = WORLDS;
  const known = new Set(monthOldList(world).map(({ address, port }) => `${address}:${port}`));
  const there = world.servers.filter(({ address, port }) => known.has(`${address}:${port}`));
  assertAlmostEquals(there.length / world.servers.length, 0.52, 0.02);
});

Deno.test("a curve is straight between its points, and flat behind the last one", () => {
  const curve = Curve.of([40, 10]);
  assertEquals([0, 5, 10, 25, 40, 99].map((probes) => curve.at(probes)), [0, 0.5, 1, 1.5, 2, 2]);
  assertEquals([1, 1.5, 2, 3].map((found) => curve.reach(found)), [10, 25, 40, Infinity]);
});

Deno.test("an oracle yields more than an expansion of hits, and that more than an even sweep", () => {
  const [world] = WORLDS;
  const even = defaultSweep(world);
  const ways = [even, expansion(world, false), oracle(world, [DEFAULT])];
  const shares = ways.map((curve) => curve.at(0.05 * SIZE));
  assertEquals(shares, shares.toSorted((a, b) => a - b));
  assertAlmostEquals(even.at(0.5 * SIZE) / even.at(SIZE), 0.5, 0.02);
});

/** A part of a world with many servers. */
const PART = partOf(
  WORLDS[0],
  RangeSet.of([{ start: WORLDS[0].servers[0].address, end: WORLDS[0].servers[3000].address }]),
);
/** All servers of the part, as a pass. */
const SPACE = new TargetSpace([{ addresses: PART.addresses, ports: PORTS }], { seed: 1 });

Deno.test("a lost reply comes at the second probe, and a found server counts once", () => {
  const replies = new Replies(PART, []);
  const visits = [1, 2, 3].map(() => {
    const visit = replies.visit(SPACE);
    replies.close(visit);
    return visit.result.hits.length;
  });
  const lost = PART.servers.filter((one) => isLost(PART, one, 0));
  const lostTwice = lost.filter((one) => isLost(PART, one, 1));
  assertEquals(visits.slice(0, 2), [
    PART.servers.length - lost.length,
    lost.length - lostTwice.length,
  ]);
  assertEquals(replies.found, visits.reduce((a, b) => a + b));
  assert(replies.repeated > PART.servers.length);
});

Deno.test("a host that replies on all ports ends at its eighth port", () => {
  const [{ start }] = PART.addresses;
  const replies = new Replies({ ...PART, servers: [] }, [start]);
  const visit = replies.visit(SPACE);
  replies.close(visit);
  assertEquals([visit.result.hits.length, visit.result.endedHosts], [8, [start]]);
  assertEquals([replies.aliasPorts.get(start), replies.found], [8, 0]);
});

Deno.test("an adaptive run of half the probes finds more than an even sweep of all", () => {
  const size = Number(PART.addresses.size);
  const run = Run.of({ world: PART, budget: size / 2 });
  assert(run.replies.found > PART.servers.filter(({ port }) => port === DEFAULT).length);
  assertEquals(run.all.at(size), run.replies.found);
});

Deno.test("the picture contains a line for each way", () => {
  const ways = ["one", "other"].map((name) => ({ name, curves: [Curve.of([1e6])], servers: [2] }));
  const picture = drawYields(ways);
  assertEquals(picture.match(/<polyline/g)?.length, 2);
  assert(picture.includes(">other</text>"));
});
