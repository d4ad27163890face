import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import { type Address, parseAddress } from "../../src/core/address.ts";
import { InputError } from "../../src/core/errors.ts";
import { compose, type Targets } from "../../src/targets/compose.ts";
import { networkOf, Shards } from "../../src/targets/shards.ts";
import type { Range, RangeSet } from "../../src/targets/ranges.ts";
import { privateRanges } from "../../src/targets/shipped_lists.ts";

const PRIVATE = privateRanges().map(({ range }) => range);

/** Ranges in up to eight networks behind an address. */
function ipv4Ranges(base: string) {
  const first = parseAddress(base) as number;
  return fc.tuple(fc.nat(8 * 256), fc.oneof(fc.nat(9), fc.nat(700)))
    .map(([offset, size]): Range => ({ start: first + offset, end: first + offset + size + 1 }));
}

/** Ranges at the borders of networks of IPv6. */
const ipv6Ranges = fc.tuple(fc.nat(5), fc.nat(20), fc.nat(20)).map(
  ([network, before, size]): Range => {
    const start = parseAddress("fd00::") as bigint + (BigInt(network + 1) << 80n) - BigInt(before);
    return { start, end: start + BigInt(size + 1) };
  },
);

const ranges = fc.oneof(
  ipv4Ranges("10.0.0.0"),
  ipv4Ranges("8.8.0.0"),
  ipv4Ranges("127.0.0.0"),
  ipv6Ranges,
);

const targets = fc.tuple(
  fc.array(
    fc.record({
      range: ranges,
      port: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
    }),
    { minLength: 1, maxLength: 10 },
  ),
  fc.array(ranges, { maxLength: 6 }),
).map(([inclusions, chosen]) => compose(inclusions, { never: [], private: PRIVATE, chosen }))
  .filter(({ size }) => size > 0n);

const seeds = fc.option(fc.nat(1e9), { nil: undefined });

/** Every address with its ports, in order. */
function members({ groups }: Targets): string[] {
  return groups.flatMap(({ addresses, ports, usesScanPorts }) =>
    addressesIn(addresses).map((address) => `${address} ${usesScanPorts} ${ports}`)
  ).sort();
}

function addressesIn(set: RangeSet<Address>): Address[] {
  return Array.from({ length: set.index.size }, (_, i) => set.index.at(i));
}

Deno.test("parts hold whole networks, are disjoint, and are all targets together", () => {
  fc.assert(
    fc.property(targets, fc.integer({ min: 1, max: 12 }), seeds, (whole, count, seed) => {
      const parts = new Shards(whole, count, seed);
      const partOf = new Map<Address, number>();
      const sum = { size: 0n, publicSize: 0n, loopbackSize: 0n };
      const found: string[] = [];
      for (let index = 1; index <= count; index++) {
        const part = parts.cut(index);
        const networks = new Set<Address>();
        for (const { addresses } of part.groups) {
          assert(addresses.length > 0);
          for (const address of addressesIn(addresses)) {
            assert(parts.indexOf(address) === index, `${address} is not of part ${index}`);
            networks.add(networkOf(address));
          }
        }
        for (const network of networks) {
          assert(!partOf.has(network), `network ${network} in two parts`);
          partOf.set(network, index);
        }
        const least = Math.floor(parts.networks / count);
        assert(networks.size === least || networks.size === least + 1, `${networks.size} networks`);
        found.push(...members(part));
        for (const name of ["size", "publicSize", "loopbackSize"] as const) sum[name] += part[name];
        assertEquals(part.omitted, whole.omitted);
      }
      assertEquals(found.sort(), members(whole));
      const { size, publicSize, loopbackSize } = whole;
      assertEquals(sum, { size, publicSize, loopbackSize });
      assertEquals(parts.networks, partOf.size);
    }),
    { seed: 1, numRuns: 200 },
  );
});

/** Targets in the first `count` networks of 10.0.0.0/8. */
function networksOf10(count: number): Targets {
  const range = { start: 0x0a000000, end: 0x0a000000 + count * 256 };
  return compose([{ range, port: undefined }], { never: [], private: [], chosen: [] });
}

Deno.test("parts depend on the seed, and are repeated for equal seeds", () => {
  const whole = networksOf10(64);
  const partOf = (seed: number | undefined) => members(new Shards(whole, 4, seed).cut(2)).join();
  assertEquals(partOf(7), partOf(7));
  assertEquals(new Set([undefined, 7, 8, 9].map(partOf)).size, 4);
});

Deno.test("the networks of a part are spread over the targets like a random choice", () => {
  const parts = new Shards(networksOf10(4096), 4, 11);
  let neighbours = 0;
  for (let network = 1; network < 4096; network++) {
    const [a, b] = [network - 1, network].map((one) => parts.indexOf(0x0a000000 + one * 256));
    if (a === b) neighbours++;
  }
  // At random, a quarter of 4,095 neighbours share a part: 1,024, deviation 28.
  assert(Math.abs(neighbours - 1024) < 140, `${neighbours} neighbours share a part`);
});

Deno.test("with more parts than networks, the last parts are empty", () => {
  const parts = new Shards(networksOf10(3), 5, 1);
  const sizes = [1, 2, 3, 4, 5].map((index) => parts.cut(index).size);
  assertEquals(sizes, [256n, 256n, 256n, 0n, 0n]);
  assertEquals(parts.cut(4).groups, []);
});

Deno.test("addresses in networks without targets are in no part", () => {
  const parts = new Shards(networksOf10(2), 2, 1);
  assertEquals([0x09ffffff, 0x0a000200, 1n].map((address) => parts.indexOf(address)), [
    undefined,
    undefined,
    undefined,
  ]);
});

Deno.test("parts of more than 2^48 addresses are refused with advice", () => {
  const range = { start: 1n << 100n, end: (1n << 100n) + (1n << 49n) };
  const whole = compose([{ range, port: undefined }], { never: [], private: [], chosen: [] });
  assertThrows(() => new Shards(whole, 2, 1), InputError, "a list of addresses");
});

Deno.test("a part of all IPv4 addresses has whole networks up to the last one", () => {
  const range = { start: 0, end: 2 ** 32 };
  const whole = compose([{ range, port: undefined }], { never: [], private: [], chosen: [] });
  const parts = new Shards(whole, 4096, 5);
  assertEquals(parts.networks, 2 ** 24);
  const last = parts.cut(parts.indexOf(2 ** 32 - 1)!);
  assertEquals(last.size, 2n ** 20n);
  assert(last.groups[0].addresses.has(2 ** 32 - 1));
  assert(last.groups[0].addresses.covers({ start: 2 ** 32 - 256, end: 2 ** 32 }));
});

/** The number of a part's networks of a size, each of which has to be whole. */
function wholeNetworks({ groups }: Targets, size: number): number {
  const ranges = groups.flatMap(({ addresses }) => [...addresses as RangeSet<number>]);
  assert(ranges.every(({ start, end }) => start % size === 0 && end % size === 0));
  return ranges.reduce((sum, { start, end }) => sum + (end - start) / size, 0);
}

Deno.test("shards of an adaptive scan are the largest networks of which each has at least 16", () => {
  for (const [bits, count, size] of [[26, 4, 2 ** 20], [26, 5, 2 ** 16], [22, 5, 2 ** 12]]) {
    const whole = compose([{
      range: { start: 2 ** 31, end: 2 ** 31 + 2 ** bits },
      port: undefined,
    }], {
      never: [],
      private: [],
      chosen: [],
    });
    const shards = Shards.forDiscovery(whole, count, 3);
    let sum = 0;
    for (let index = 1; index <= count; index++) {
      const shard = shards.cut(index);
      const networks = wholeNetworks(shard, size);
      assert(networks >= 16);
      assertEquals(shards.indexOf(shard.groups[0].addresses.index.at(0)), index);
      sum += networks;
    }
    assertEquals(sum, 2 ** bits / size);
  }
});

Deno.test("shards of an adaptive scan are dealt by the seed", () => {
  const whole = networksOf10(2 ** 16);
  const first = (seed: number) =>
    String(
      [...Shards.forDiscovery(whole, 2, seed).cut(1).groups[0].addresses].map(({ start }) => start),
    );
  assertEquals(first(1), first(1));
  assert(first(1) !== first(2));
});
