import { assertEquals } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import type { Address } from "../../src/core/address.ts";
import { compose, segmentsOf } from "../../src/targets/compose.ts";
import { densityOf } from "../../src/targets/density.ts";
import { networkOf } from "../../src/targets/shards.ts";

const inclusions = fc.array(
  fc.record({
    range: fc.tuple(fc.nat(4 * 256), fc.nat(700), fc.boolean()).map(([offset, size, isIpv4]) =>
      isIpv4
        ? { start: offset, end: offset + size + 1 }
        : { start: (2n << 80n) - BigInt(offset), end: (2n << 80n) + BigInt(size + 1) }
    ),
    port: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
  }),
  { minLength: 1, maxLength: 6 },
);

Deno.test("densityOf() agrees with a count of every endpoint", () => {
  fc.assert(
    fc.property(inclusions, (inclusions) => {
      const targets = compose(inclusions, { never: [], private: [], chosen: [] });
      const segments = segmentsOf(targets, (family) => family === 4 ? [1, 9] : [9]);
      const nets = new Map<Address, number>();
      for (const { addresses: { index }, ports } of segments) {
        for (let i = 0; i < index.size; i++) {
          const network = networkOf(index.at(i));
          nets.set(network, (nets.get(network) ?? 0) + ports.length);
        }
      }
      const host = Math.max(...segments.map(({ ports }) => ports.length));
      assertEquals(densityOf(segments), { host, net: Math.max(...nets.values()) });
    }),
    { seed: 1, numRuns: 300 },
  );
});

Deno.test("a range of many networks has the density of one whole network", () => {
  const density = (start: number | bigint, end: number | bigint) =>
    densityOf(segmentsOf(
      compose([{ range: { start, end }, port: undefined }], { never: [], private: [], chosen: [] }),
      () => [1, 2],
    ));
  assertEquals(density(200, 256 * 3 + 7), { host: 2, net: 512 });
  assertEquals(density(0, 2 ** 32), { host: 2, net: 512 });
  assertEquals(density(0n, 1n << 128n), { host: 2, net: 2 ** 81 });
});
