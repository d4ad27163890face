/**
 * src/discovery/pass/plan_space.ts, src/discovery/pass/slice_list.ts, and of the addresses in them
 * src/discovery/counters/universe.ts and src/discovery/counters/rank_order.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { RankOrder } from "../../../src/discovery/counters/rank_order.ts";
import { Universe } from "../../../src/discovery/counters/universe.ts";
import { SliceList } from "../../../src/discovery/pass/slice_list.ts";
import { RangeSet } from "../../../src/targets/ranges.ts";
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
} from "../small_world.ts";

/** Targets with holes: whole networks, and small ranges. */
function targetsWithHoles(seed: number): RangeSet<number> {
  const holes = Array.from({ length: 300 }, (_, i) => {
    const start = BASE + Math.floor(chance(i, seed) * 2 ** 18);
    return { start, end: start + 1 + Math.floor(chance(i, seed + 1) ** 4 * 2000) };
  });
  return addressesOf([0, 2 ** 18]).subtract(RangeSet.of(holes));
}

Deno.test("ranks of a /24 are a permutation of its octets, and rank() inverts octet()", () => {
  for (const seed of [0, 1, 2 ** 53 - 1]) {
    const order = new RankOrder(seed);
    for (const [network, port] of [[0, 0], [0xffffff, 3], [0xf00001, 1023]]) {
      const octets = Array.from({ length: 256 }, (_, rank) => order.octet(network, port, rank));
      assertEquals(new Set(octets).size, 256);
      octets.forEach((octet, rank) => assertEquals(order.rank(network, port, octet), rank));
    }
  }
});

Deno.test("the universe contains the addresses of its ranges", () => {
  const addresses = targetsWithHoles(5);
  const universe = new Universe(addresses);
  const bits = new Uint32Array(8);
  let members = 0;
  for (let network = BASE / 256 - 1; network < BASE / 256 + 1025; network++) {
    members += universe.membersOf(network, bits);
    const isPresent = bits.some((word) => word !== 0);
    const block = universe.indexOf(network >>> 4);
    const isMarked = block >= 0 && (universe.networks[block] >>> (network & 15) & 1) === 1;
    assertEquals(isMarked, isPresent);
    for (let octet = 0; octet < 256; octet += 5) {
      const address = network * 256 + octet;
      const isMember = (bits[octet >> 5] >>> (octet & 31) & 1) === 1;
      assertEquals([isMember, universe.has(address)], Array(2).fill(addresses.has(address)));
    }
  }
  assertEquals(members, universe.size);
  assertEquals(universe.members.reduce((sum, count) => sum + count, 0), universe.size);
  assertEquals(universe.size, Number(addresses.size));
});

Deno.test("a list of slices finds every endpoint at its position", () => {
  const list = new SliceList();
  const expected: string[] = [];
  for (let key = 0; key < 400; key++) {
    const length = 1 + Math.floor(64 * chance(key, 1));
    const isWhole = chance(key, 2) < 0.5;
    let [low, high] = [0, 0];
    for (let i = 0; i < length; i++) {
      if (!isWhole && chance(key, 100 + i) < 0.4) continue;
      if (i < 32) low |= 1 << i;
      else high |= 1 << i - 32;
      expected.push(`${key >> 1} ${key & 1} ${3 + i}`);
    }
    list.add(key >> 1, key & 1, 3, length, low >>> 0, high >>> 0);
  }
  assertEquals(list.size, expected.length);
  const place = { key: 0, port: 0, rank: 0 };
  const located = Array.from({ length: list.size }, (_, i) => {
    list.locate(i, place);
    return `${place.key} ${place.port} ${place.rank}`;
  });
  assertEquals(located, expected);
  const all = new Set(expected);
  for (let key = 0; key < 201; key++) {
    for (let rank = 0; rank < 70; rank++) {
      for (const port of [0, 1, 2]) {
        assertEquals(list.find(key, port, rank) >= 0, all.has(`${key} ${port} ${rank}`));
      }
    }
  }
});

Deno.test("the space of every pass contains its endpoints once, and only targets", () => {
  for (const seed of [1, 2, 3]) {
    const addresses = targetsWithHoles(seed);
    const servers = new Set(serversIn(addresses, seed).map(keyOf));
    const discovery = discoveryOf(addresses, { seed });
    const found = new Set<number>();
    const probed = new Map<number, number>();
    for (let number = 0; number < 25; number++) {
      const pass = discovery.plan({ ...INPUT, probes: number % 5 === 0 ? 500 : 30_000 });
      if (pass.probes === 0) break;
      const space = pass.protocols[0].space();
      const endpoints = endpointsOf(pass);
      const keys = new Set(endpoints.map(keyOf));
      assertEquals([keys.size, space.size], [pass.probes, pass.probes]);
      assert(endpoints.every(({ address }) => addresses.has(address)));
      assert(endpoints.every((one) => space.has(one)));
      for (let i = 0; i < 2000; i++) {
        const address = BASE + Math.floor(chance(i, number) * 2 ** 18);
        const port = PORTS[i % PORTS.length];
        assertEquals(space.has({ address, port }), keys.has(keyOf({ address, port })));
        assertEquals(discovery.wasProbed(0, address, port), probed.has(keyOf({ address, port })));
      }
      const one = { address: 0, port: 0 };
      for (const at of [0, Math.floor(space.size / 2), space.size - 1]) {
        space.at(at, one);
        assertEquals(one, endpoints[at]);
      }
      for (const key of keys) probed.set(key, 1 + (probed.get(key) ?? 0));
      discovery.fold([resultOf(endpoints, servers, found)]);
    }
    assert([...found].every((key) => probed.get(key) === 1), "a found server is not probed again");
    assert([...probed.values()].every((times) => times <= 2));
    assert(
      servers.size > 100 && found.size > 0.7 * servers.size,
      `found ${found.size} of ${servers.size}`,
    );
  }
});
