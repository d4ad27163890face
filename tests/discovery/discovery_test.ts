/**
 * src/discovery/discovery.ts, src/discovery/planner.ts, src/discovery/fold.ts,
 * src/discovery/estimate.ts, and the counters and units of passes in src/discovery/counters/ and
 * src/discovery/pass/.
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import type { DiscoveryPass, PassInput, PassResult } from "../../src/discovery/contract.ts";
import { AdaptiveDiscovery } from "../../src/discovery/discovery.ts";
import { RangeSet } from "../../src/targets/ranges.ts";
import {
  addressesOf,
  BASE,
  chance,
  discoveryOf,
  endpointsOf,
  INPUT,
  keyOf,
  PORTS,
  resultOf,
  serversIn,
} from "./small_world.ts";

const ADDRESSES = addressesOf([0, 2 ** 18]);
const SERVERS = serversIn(ADDRESSES, 4);
const KEYS = new Set(SERVERS.map(keyOf));

/** A pass that was folded. */
interface Recorded {
  readonly pass: DiscoveryPass;
  readonly input: PassInput;
  readonly result: PassResult;
}

/** Passes until nothing is left, at most a number of them. */
function run(discovery: AdaptiveDiscovery, input = INPUT, passes = 40): Recorded[] {
  const recorded: Recorded[] = [];
  const found = new Set<number>();
  for (let i = 0; i < passes; i++) {
    const pass = discovery.plan(input);
    const result = resultOf(endpointsOf(pass), KEYS, found);
    discovery.fold([result]);
    if (pass.probes === 0) break;
    recorded.push({ pass, input, result });
  }
  return recorded;
}

/** The largest number of endpoints with the same value. */
function most(endpoints: readonly { address: number }[], of: (address: number) => number): number {
  const counts = new Map<number, number>();
  for (const { address } of endpoints) {
    counts.set(of(address), 1 + (counts.get(of(address)) ?? 0));
  }
  return Math.max(0, ...counts.values());
}

Deno.test("most servers are found with fewer probes than one for each address", () => {
  const discovery = discoveryOf(ADDRESSES);
  const passes = run(discovery, INPUT, 10);
  const usual = SERVERS.filter(({ port }) => port === PORTS[0]).length;
  assert(discovery.found > 0.8 * SERVERS.length, `${discovery.found} of ${SERVERS.length}`);
  assert(SERVERS.length > 1.5 * usual);
  assertEquals(discovery.evenSweep, 2 ** 18);
  assert(discovery.spent < 0.8 * discovery.evenSweep);
  assertEquals(discovery.next, passes.length);
  assertEquals(discovery.spent, passes.reduce((sum, { pass }) => sum + pass.probes, 0));
  assert(passes.every(({ pass, input }) => pass.probes <= input.probes));
  const last = passes.slice(-2);
  const servers = last.reduce((sum, { result }) => sum + result.hits.length, 0);
  const probes = last.reduce((sum, { pass }) => sum + pass.probes, 0);
  assertEquals(discovery.recentYield, 1e6 * servers / probes);
});

Deno.test("passes are full while candidates are left, and the level descends with the yield", () => {
  const passes = run(discoveryOf(ADDRESSES), INPUT, 12);
  assert(passes.every(({ pass }) => pass.probes > 0.97 * INPUT.probes));
  assert(passes[11].pass.level < passes[1].pass.level);
});

Deno.test("small budgets are used, and never exceeded", () => {
  for (const probes of [1, 15, 63, 64, 100, 1000]) {
    for (const { pass } of run(discoveryOf(ADDRESSES), { ...INPUT, probes }, 30)) {
      assert(pass.probes <= probes && pass.probes >= 0.5 * probes - 15);
    }
  }
});

Deno.test("replayed results give the same passes, in whatever order the hits are", () => {
  const recorded = run(discoveryOf(ADDRESSES));
  const again = discoveryOf(ADDRESSES);
  for (const [i, { pass, input, result }] of recorded.entries()) {
    assertEquals(again.plan(input).digest, pass.digest);
    const hits = result.hits.toSorted((a, b) => chance(a.address, i) - chance(b.address, i));
    again.fold([{ ...result, hits }]);
  }
  assertEquals(new Set(recorded.map(({ pass }) => pass.digest)).size, recorded.length);
  const other = discoveryOf(ADDRESSES, { seed: 8 });
  assert(other.plan(INPUT).digest !== recorded[0].pass.digest);
});

Deno.test("the caps of a pass hold in every pass, and the pass is filled up", () => {
  const input = { ...INPUT, probes: 6000, perNetwork: 100, perHost: 4 };
  const passes = run(discoveryOf(ADDRESSES), input, 30);
  let filled = 0;
  for (const { pass } of passes) {
    const endpoints = endpointsOf(pass);
    assert(most(endpoints, (address) => address >>> 8) <= 100);
    assert(most(endpoints, (address) => address) <= 4);
    if (pass.probes > 0.9 * input.probes) filled++;
  }
  assert(filled > 20, `${filled} of ${passes.length} passes are full`);
});

Deno.test("all passes together probe a /24 at most as often as its budget permits", () => {
  for (const netBudget of [100, 300, 1000]) {
    const all = run(discoveryOf(ADDRESSES, { netBudget })).flatMap(({ pass }) => pass);
    const discovery = discoveryOf(ADDRESSES, { netBudget });
    const found = new Set<number>();
    const endpoints = all.flatMap(() => {
      const pass = discovery.plan(INPUT);
      const planned = endpointsOf(pass);
      discovery.fold([resultOf(planned, KEYS, found)]);
      return planned;
    });
    const highest = most(endpoints, (address) => address >>> 8);
    assert(highest <= netBudget && highest > 0.8 * netBudget - 64, `${highest} of ${netBudget}`);
  }
});

Deno.test("known servers are the first pass, and their /24s the next", () => {
  const elsewhere = { address: 1, port: PORTS[0] };
  const known = [...SERVERS.filter(({ address }) => address % 3 === 0), elsewhere];
  const expected = known.slice(0, -1).map(keyOf).sort((a, b) => a - b);
  const discovery = discoveryOf(ADDRESSES, { known: [...known, ...known] });
  const first = discovery.plan(INPUT);
  assertEquals(endpointsOf(first).map(keyOf).sort((a, b) => a - b), expected);
  const found = new Set<number>();
  discovery.fold([resultOf(endpointsOf(first), KEYS, found)]);
  assertEquals(discovery.found, expected.length);
  assert(known.slice(0, -1).every(({ address, port }) => discovery.wasProbed(0, address, port)));
  const networks = new Set(known.map(({ address }) => address >>> 8));
  const next = endpointsOf(discovery.plan(INPUT));
  const inKnown = next.filter(({ address }) => networks.has(address >>> 8)).length;
  assert(inKnown > 0.4 * next.length, `${inKnown} of ${next.length} in known /24s`);
  assert(next.every((one) => !found.has(keyOf(one))));
});

Deno.test("known servers that do not fit into the first pass are probed in the next", () => {
  const known = SERVERS.slice(0, 300);
  const discovery = discoveryOf(ADDRESSES, { known });
  const input = { ...INPUT, probes: 100, perNetwork: 20, perHost: 2 };
  const probed: number[] = [];
  for (let pass = 0; probed.length < known.length && pass < 300; pass++) {
    const endpoints = endpointsOf(discovery.plan(input));
    assert(endpoints.length > 0 && endpoints.length <= 100);
    assert(most(endpoints, (address) => address >>> 8) <= 20);
    assert(most(endpoints, (address) => address) <= 2);
    probed.push(...endpoints.map(keyOf));
    discovery.fold([{ hits: [], endedHosts: [], endedNetworks: [] }]);
  }
  assertEquals(probed.sort((a, b) => a - b), known.map(keyOf).sort((a, b) => a - b));
});

Deno.test("the yield of passes is not negative when a host ends that earlier passes counted", () => {
  const discovery = discoveryOf(addressesOf([0, 2 ** 16]));
  const hits = PORTS.slice(0, 8).map((port) => ({ address: BASE + 9, port }));
  const results = [hits, [], []].map((hits, i) => [
    { hits, endedHosts: i === 2 ? [BASE + 9] : [], endedNetworks: [] },
  ]);
  for (const result of results) {
    discovery.plan(INPUT);
    discovery.fold(result);
  }
  assertEquals([discovery.found, discovery.recentYield], [1, 0]);
});

Deno.test("ended hosts and networks are not probed any more, and a host counts as one server", () => {
  const discovery = discoveryOf(ADDRESSES);
  const alias = SERVERS[0].address;
  const isAlias = (address: number) => address === alias;
  const found = new Set<number>();
  const network = SERVERS.find(({ address }) => address >>> 8 !== alias >>> 8)!.address >>> 8;
  let ended = false;
  let surplus = 0;
  for (let i = 0; i < 30; i++) {
    const pass = discovery.plan(INPUT);
    const endpoints = endpointsOf(pass);
    if (ended) {
      assert(!endpoints.some(({ address }) => isAlias(address) || address >>> 8 === network));
    }
    const hits = endpoints.filter((one) =>
      (KEYS.has(keyOf(one)) || isAlias(one.address)) && !found.has(keyOf(one))
    );
    for (const hit of hits) found.add(keyOf(hit));
    const ofAlias = [...found].filter((key) => isAlias(Math.floor(key / 65536))).length;
    const ends: boolean = !ended && ofAlias >= 8;
    if (ends) surplus = ofAlias - 1;
    discovery.fold([{
      hits,
      endedHosts: ends ? [alias] : [],
      endedNetworks: ends ? [network >>> 0] : [],
    }]);
    ended ||= ends;
    if (ended) assertEquals(discovery.found, found.size - surplus);
  }
  assert(ended);
  // what was skipped after the end is unknown, so that it counts as not probed
  assertEquals(discovery.wasProbed(0, alias, PORTS[0]), false);
  assertEquals(discovery.wasProbed(0, network * 256, PORTS[0]), false);
});

Deno.test("two protocols share the caps of a pass", () => {
  const ports = [19132, ...Array.from({ length: 200 }, (_, i) => 30_000 + i)];
  const addresses = RangeSet.of([{ start: BASE, end: BASE + 256 }]);
  const targets = ["a", "b"].map((protocol) => ({ protocol, addresses, ports, known: [] }));
  const discovery = new AdaptiveDiscovery({ targets, seed: 1, netBudget: Infinity });
  const input = { probes: 5000, perNetwork: 300, perHost: 40, lossPerMille: 24 };
  for (let i = 0; i < 8; i++) {
    const pass = discovery.plan(input);
    const [a, b] = [endpointsOf(pass), endpointsOf(pass, 1)];
    assert(most([...a, ...b], (address) => address >>> 8) <= 300);
    assert(most([...a, ...b], (address) => address) <= 40);
    const nothing = { endedHosts: [], endedNetworks: [] };
    discovery.fold(
      i > 0 ? [{ hits: [], ...nothing }, { hits: [], ...nothing }] : [
        { hits: a.filter((_, i) => i % 3 === 0), ...nothing },
        { hits: b.filter((_, i) => i % 3 === 0), ...nothing },
      ],
    );
  }
});

Deno.test("late hits count without being probes of the pass", () => {
  const discovery = discoveryOf(ADDRESSES);
  const late = { address: BASE + 77, port: PORTS[1] };
  discovery.plan(INPUT);
  discovery.fold([{ hits: [late, { address: 5, port: 5 }], endedHosts: [], endedNetworks: [] }]);
  assertEquals(discovery.found, 1);
  const next = endpointsOf(discovery.plan(INPUT));
  assert(next.some(({ address }) => address >>> 8 === late.address >>> 8));
  assert(!next.some((one) => keyOf(one) === keyOf(late)));
});

Deno.test("two protocols share one pass and one water level", () => {
  const poor = addressesOf([2 ** 19, 2 ** 19 + 2 ** 16]);
  const target = (protocol: string, addresses: RangeSet<number>) => ({
    protocol,
    addresses,
    ports: PORTS,
    known: [],
  });
  const discovery = new AdaptiveDiscovery({
    targets: [target("rich", ADDRESSES), target("poor", poor)],
    seed: 1,
    netBudget: Infinity,
  });
  assertEquals(discovery.evenSweep, 2 ** 18 + 2 ** 16);
  const found = new Set<number>();
  let [rich, few] = [0, 0];
  for (let i = 0; i < 8; i++) {
    const pass = discovery.plan(INPUT);
    assert(pass.probes <= INPUT.probes);
    assertEquals(pass.probes, pass.protocols[0].probes + pass.protocols[1].probes);
    assert(endpointsOf(pass, 1).every(({ address }) => poor.has(address)));
    rich += pass.protocols[0].probes;
    few += pass.protocols[1].probes;
    discovery.fold([resultOf(endpointsOf(pass), KEYS, found), {
      hits: [],
      endedHosts: [],
      endedNetworks: [],
    }]);
  }
  assert(few > 0 && rich > 5 * few, `${rich} probes where servers are, ${few} elsewhere`);
});

Deno.test("the estimate needs one address of every /24, and is exact when all were probed", () => {
  const discovery = discoveryOf(ADDRESSES);
  assertEquals(discovery.estimate(0), undefined);
  run(discovery, { ...INPUT, probes: 50_000, lossPerMille: 0 });
  const usual = SERVERS.filter(({ port }) => port === PORTS[0]).length;
  assertEquals(discovery.estimate(0), {
    found: usual,
    total: usual,
    low: usual,
    high: usual,
    skipped: [],
  });
});

Deno.test("no targets have no servers, and /24s with known servers are sampled before an estimate", () => {
  const none = discoveryOf(RangeSet.of<number>([]));
  assertEquals(none.plan(INPUT).probes, 0);
  assertEquals(none.estimate(0), { found: 0, total: 0, low: 0, high: 0, skipped: [] });
  const known = SERVERS.slice(0, 1);
  const network = Math.floor(known[0].address / 256) * 256 - BASE;
  const discovery = discoveryOf(addressesOf([network, network + 256]), { known });
  const found = new Set<number>();
  discovery.fold([resultOf(endpointsOf(discovery.plan(INPUT)), KEYS, found)]);
  assertEquals(discovery.estimate(0), undefined);
  const next = discovery.plan({ ...INPUT, perNetwork: 64 });
  discovery.fold([resultOf(endpointsOf(next), KEYS, found)]);
  const { low, high, total } = discovery.estimate(0)!;
  assert(low <= total && total < high);
});

Deno.test("the interval of the estimate contains the number of servers in most scans", () => {
  let contained = 0;
  for (let seed = 0; seed < 40; seed++) {
    const servers = serversIn(ADDRESSES, 100 + seed);
    const keys = new Set(servers.map(keyOf));
    const usual = servers.filter(({ port }) => port === PORTS[0]).length;
    const discovery = discoveryOf(ADDRESSES, { seed });
    const found = new Set<number>();
    for (let i = 0; i < 2; i++) {
      const endpoints = endpointsOf(discovery.plan({ ...INPUT, lossPerMille: 0 }));
      discovery.fold([resultOf(endpoints, keys, found)]);
    }
    const { low, high, total } = discovery.estimate(0)!;
    assert(low <= total && total <= high);
    if (low <= usual && usual <= high) contained++;
  }
  assert(contained >= 36, `${contained} of 40`);
});

Deno.test("memory of small targets is small", () => {
  assert(discoveryOf(addressesOf([0, 4096])).bytes < 20_000);
});

Deno.test("passes are planned and folded in turn", () => {
  const discovery = discoveryOf(ADDRESSES);
  assertThrows(() => discovery.fold([]), Error, "No pass is planned");
  discovery.plan(INPUT);
  assertThrows(() => discovery.plan(INPUT), Error, "not folded");
});
