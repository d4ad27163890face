/** Covers src/targets/permutation.ts and src/targets/priority_order.ts. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { InputError } from "../../src/core/errors.ts";
import { Random } from "../../src/fleet/random.ts";
import { Permutation } from "../../src/targets/permutation.ts";
import { RangeSet } from "../../src/targets/ranges.ts";
import { type Segment, TargetSpace } from "../../src/targets/space.ts";

/** A segment of `size` addresses in three pieces. */
function segment(size: number, ports: readonly number[], from = 1000): Segment {
  const third = Math.floor(size / 3);
  const pieces = [
    { start: from, end: from + third },
    { start: from + third + 7, end: from + 2 * third + 7 },
    { start: from + 2 * third + 700, end: from + size + 700 },
  ];
  return { addresses: RangeSet.of(pieces), ports };
}

/** Every endpoint that a space visits. */
function visit(segments: readonly Segment[], seed: number | undefined): string[] {
  const space = new TargetSpace(segments, { seed });
  const target = { address: 0 as number | bigint, port: 0 };
  return Array.from({ length: space.size }, (_, position) => {
    space.at(position, target);
    return `${target.address}:${target.port}`;
  });
}

Deno.test("Permutation is a bijection for every size from 1 to 2,000", () => {
  for (let size = 1; size <= 2000; size++) {
    const order = new Permutation(size, size * 7919);
    const visited = new Uint8Array(size);
    for (let i = 0; i < size; i++) visited[order.at(i)]++;
    assert(visited.every((count) => count === 1), `size ${size}`);
  }
});

Deno.test("Permutation is a bijection of 2^20 - 3 and stays inside 2^48", () => {
  const size = 2 ** 20 - 3;
  const order = new Permutation(size, 5);
  const visited = new Uint8Array(size);
  for (let i = 0; i < size; i++) visited[order.at(i)]++;
  assert(visited.every((count) => count === 1));
  const huge = new Permutation(2 ** 48, 9);
  const seen = new Set<number>();
  for (let i = 0; i < 10_000; i++) seen.add(huge.at(2 ** 48 - 1 - i));
  assertEquals(seen.size, 10_000);
  assert([...seen].every((value) => Number.isSafeInteger(value) && value >= 0 && value < 2 ** 48));
});

Deno.test("Permutation depends on seed, tweak and the seed's high bits", () => {
  const at = (seed: number, tweak: number) => {
    const order = new Permutation(2 ** 16, seed, tweak);
    return Array.from({ length: 50 }, (_, i) => order.at(i)).join();
  };
  assertEquals(at(1, 0), at(1, 0));
  assertEquals(new Set([at(1, 0), at(2, 0), at(1, 1), at(1, -1), at(1 + 2 ** 40, 0)]).size, 5);
});

Deno.test("Permutation spreads neighbours like a random order", () => {
  const order = new Permutation(2 ** 16, 3);
  let sameNetwork = 0;
  let rising = 0;
  for (let i = 1; i < 2 ** 16; i++) {
    const [a, b] = [order.at(i - 1), order.at(i)];
    if (a >> 8 === b >> 8) sameNetwork++;
    if (b > a) rising++;
  }
  // At random, 1/256 of 65,535 share a /24 (256, deviation 16), half of them rise (deviation 74).
  assert(Math.abs(sameNetwork - 256) < 80, `${sameNetwork} neighbours share a network`);
  assert(Math.abs(rising - 32768) < 500, `${rising} neighbours rise`);
});

Deno.test("TargetSpace visits each endpoint once, for every size to 400, shuffled or not", () => {
  for (let size = 1; size <= 400; size++) {
    const segments = [segment(size, [1, 2, 3])];
    for (const seed of [undefined, size]) {
      const visited = visit(segments, seed);
      assertEquals(visited.length, size * 3);
      assertEquals(new Set(visited).size, size * 3);
    }
  }
});

Deno.test("TargetSpace keeps each segment's own ports", () => {
  const segments = [segment(30, [5, 6]), segment(7, [9], 10_000), {
    addresses: RangeSet.of([{ start: 1n << 100n, end: (1n << 100n) + 4n }]),
    ports: [19133],
  }];
  const visited = visit(segments, 77);
  assertEquals([new Set(visited).size, visited.length], [30 * 2 + 7 + 4, 30 * 2 + 7 + 4]);
  assert(visited.every((text) => {
    const [address, port] = text.split(":");
    return (Number(address) > 2 ** 99 ? [19133] : Number(address) >= 10_000 ? [9] : [5, 6])
      .includes(Number(port));
  }));
});

Deno.test("TargetSpace repeats its order for equal seeds, and orders of passes differ", () => {
  const segments = [segment(100, [1])];
  assertEquals(visit(segments, 4), visit(segments, 4));
  const second = new TargetSpace(segments, { seed: 4, pass: 1 });
  const target = { address: 0, port: 0 };
  const order = Array.from(
    { length: 100 },
    (_, i) => (second.at(i, target), `${target.address}:1`),
  );
  assert(order.join() !== visit(segments, 4).join());
  assertEquals(order.toSorted(), visit(segments, 4).toSorted());
});

Deno.test("a limit chooses the same endpoints in every pass", () => {
  const target = { address: 0, port: 0 };
  for (const seed of [undefined, 8]) {
    const chosen = [1, 2, 3].map((pass) => {
      const space = new TargetSpace([segment(90, [1, 2])], { seed, pass, limit: 20 });
      assertEquals(space.size, 20);
      return new Set(Array.from({ length: 20 }, (_, i) => {
        space.at(i, target);
        return `${target.address}:${target.port}`;
      }));
    });
    assertEquals(chosen[0].size, 20);
    assertEquals(chosen[1], chosen[0]);
    assertEquals(chosen[2], chosen[0]);
  }
  assertEquals(new TargetSpace([segment(9, [1])], { seed: 1, limit: 20 }).size, 9);
});

Deno.test("TargetSpace refuses more than 2^48 positions with advice", () => {
  const segments = [{ addresses: RangeSet.of([{ start: 0n, end: 1n << 64n }]), ports: [1] }];
  assertThrows(() => new TargetSpace(segments, { seed: 1 }), InputError, "a list of addresses");
});

Deno.test("Permutation.inverse() inverts at() for every size", () => {
  for (const size of [1, 2, 3, 5, 100, 1000, 1023, 1024, 1025]) {
    const order = new Permutation(size, size * 31, size % 3);
    for (let i = 0; i < size; i++) assertEquals(order.from(order.at(i)), i, `size ${size}`);
  }
  const huge = new Permutation(2 ** 48, 9);
  for (const at of [0, 1, 2 ** 24, 2 ** 40 + 1, 2 ** 48 - 1]) {
    assertEquals(huge.from(huge.at(at)), at);
  }
});

Deno.test("TargetSpace.has() is true for exactly the visited endpoints", () => {
  const segments = [segment(40, [1, 5]), segment(9, [], 5000), segment(23, [5, 6, 9], 9000)];
  for (const seed of [undefined, 1, 77]) {
    for (const limit of [Infinity, 17, 1]) {
      const space = new TargetSpace(segments, { seed, limit, pass: 3 });
      const target = { address: 0 as number | bigint, port: 0 };
      const visited = new Set<string>();
      for (let position = 0; position < space.size; position++) {
        space.at(position, target);
        visited.add(`${target.address}:${target.port}`);
      }
      for (let address = 990; address < 9900; address++) {
        for (const port of [1, 5, 6, 9]) {
          assertEquals(space.has({ address, port }), visited.has(`${address}:${port}`));
        }
      }
      assert(!space.has({ address: 1000n, port: 1 }));
    }
  }
});

Deno.test("prioritized endpoints are visited first, in their own order, and every endpoint once", () => {
  const random = new Random(11);
  const target = { address: 0 as number | bigint, port: 0 };
  for (let round = 0; round < 300; round++) {
    const segments = [
      segment(3 + random.below(20), [1, 2]),
      segment(3 + random.below(9), [3], 5000),
    ];
    const seed = random.below(4) === 0 ? undefined : random.below(1000);
    const limit = random.below(2) === 0 ? Infinity : 1 + random.below(40);
    const all = visit(segments, seed);
    const first = Array.from({ length: random.below(30) }, () => {
      const [address, port] = all[random.below(all.length)].split(":").map(Number);
      return { address, port: random.below(9) === 0 ? 99 : port };
    });
    const whole = new TargetSpace(segments, { seed });
    const pass = random.below(3);
    const space = new TargetSpace(segments, { seed, limit, first, pass });
    const visited = Array.from({ length: space.size }, (_, position) => {
      space.at(position, target);
      return `${target.address}:${target.port}`;
    });
    const text = `round ${round}`;
    const ours = [
      ...new Set(
        first.filter((one) => whole.has(one)).map(({ address, port }) => `${address}:${port}`),
      ),
    ];
    const head = ours.slice(0, space.size);
    const ahead = visited.slice(0, head.length);
    assertEquals(ahead, head, text);
    assertEquals(new Set(visited).size, visited.length, text);
    const has = all.filter((id) => {
      const [address, port] = id.split(":").map(Number);
      return space.has({ address, port });
    });
    assertEquals(has.toSorted(), visited.toSorted(), text);
    const other = new TargetSpace(segments, { seed, limit, first, pass: pass + 1 });
    assertEquals(
      all.filter((id) => {
        const [address, port] = id.split(":").map(Number);
        return other.has({ address, port });
      }),
      has,
      text,
    );
  }
});
