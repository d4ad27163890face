import { assert, assertEquals } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import { type Range, RangeIndex, RangeSet } from "../../src/targets/ranges.ts";

const LIMIT = 64;

/** Ranges within 0 … 63, some of them empty. */
const ranges = fc.array(
  fc.tuple(fc.nat(LIMIT), fc.nat(LIMIT)).map(([start, end]) => ({ start, end })),
  { maxLength: 12 },
);

/** The members of a list of ranges, found one by one. */
function members(list: readonly Range<number>[]): number[] {
  const all = Array.from({ length: LIMIT + 1 }, (_, i) => i);
  return all.filter((value) => list.some(({ start, end }) => value >= start && value < end));
}

/** The same ranges as IPv6 addresses. */
function toBigint(list: readonly Range<number>[]): Range<bigint>[] {
  return list.map(({ start, end }) => ({ start: BigInt(start), end: BigInt(end) }));
}

Deno.test("RangeSet agrees with brute force on union, subtraction, size and membership", () => {
  fc.assert(
    fc.property(ranges, ranges, (a, b) => {
      const [setA, setB] = [RangeSet.of(a), RangeSet.of(b)];
      const inA = members(a);
      const inB = members(b);
      assertEquals(setA.size, BigInt(inA.length));
      assertEquals(
        members([...setA.union(setB)]),
        [...new Set([...inA, ...inB])].sort((x, y) => x - y),
      );
      assertEquals(members([...setA.subtract(setB)]), inA.filter((value) => !inB.includes(value)));
      for (let value = 0; value <= LIMIT; value++) {
        assertEquals(setA.has(value), inA.includes(value));
      }
    }),
    { seed: 1, numRuns: 2000 },
  );
});

Deno.test("RangeSet treats bigint ranges like number ranges", () => {
  fc.assert(
    fc.property(ranges, ranges, (a, b) => {
      const numbers = RangeSet.of(a).subtract(RangeSet.of(b));
      const bigints = RangeSet.of(toBigint(a)).subtract(RangeSet.of(toBigint(b)));
      assertEquals([...bigints], toBigint([...numbers]));
    }),
    { seed: 2, numRuns: 500 },
  );
});

Deno.test("RangeSet keeps its ranges apart and in order", () => {
  fc.assert(
    fc.property(ranges, (a) => {
      const list = [...RangeSet.of(a)];
      list.forEach(({ start, end }) => assert(start < end));
      list.slice(1).forEach(({ start }, i) => assert(start > list[i].end));
    }),
    { seed: 3 },
  );
});

Deno.test("RangeSet.covers() is true for ranges inside one range of the set", () => {
  fc.assert(
    fc.property(ranges, fc.nat(LIMIT), fc.nat(LIMIT), (a, x, y) => {
      const range = { start: Math.min(x, y), end: Math.max(x, y) + 1 };
      const inside = members([range]).every((value) => members(a).includes(value));
      if (range.end <= LIMIT) assertEquals(RangeSet.of(a).covers(range), inside);
    }),
    { seed: 4, numRuns: 1000 },
  );
});

Deno.test("RangeIndex numbers the members of a set in order", () => {
  fc.assert(
    fc.property(ranges, (a) => {
      const index = new RangeIndex(RangeSet.of(a));
      const listed = Array.from({ length: index.size }, (_, i) => index.at(i));
      assertEquals(listed, members(a));
      const wide = new RangeIndex(RangeSet.of(toBigint(a)));
      assertEquals(Array.from({ length: wide.size }, (_, i) => wide.at(i)), listed.map(BigInt));
    }),
    { seed: 5 },
  );
});

Deno.test("RangeIndex reaches the last address of each family", () => {
  const v4 = RangeSet.of([{ start: 0, end: 2 ** 32 }]);
  assertEquals(v4.size, 2n ** 32n);
  assertEquals(new RangeIndex(v4).at(2 ** 32 - 1), 2 ** 32 - 1);
  const end = 1n << 128n;
  assertEquals(new RangeIndex(RangeSet.of([{ start: end - 5n, end }])).at(4), end - 1n);
});
