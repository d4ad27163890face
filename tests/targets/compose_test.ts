import { assert, assertEquals } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import exclude from "../../data/exclude.txt" with { type: "text" };
import privateText from "../../data/private.txt" with { type: "text" };
import { compose, type Exclusions, type Inclusion, segmentsOf } from "../../src/targets/compose.ts";
import { parseRangeList, parseTarget } from "../../src/targets/parse.ts";
import type { Range } from "../../src/targets/ranges.ts";

const LIMIT = 48;
const range = fc.tuple(fc.nat(LIMIT), fc.nat(LIMIT))
  .map(([a, b]) => ({ start: Math.min(a, b), end: Math.max(a, b) + 1 }));
const inclusion = fc.record({ range, port: fc.constantFrom(undefined, 7, 8) });

const inside = (address: number, { start, end }: Range) => address >= start && address < end;

/** The ports to probe, decided for each address on its own. */
function bruteForce(inclusions: readonly Inclusion[], exclusions: Exclusions): Map<number, string> {
  const queried = new Map<number, string>();
  for (let address = 0; address <= LIMIT; address++) {
    const within = (ranges: readonly Range[]) => ranges.some((other) => inside(address, other));
    if (within(exclusions.never) || within(exclusions.chosen)) continue;
    // Adjacent blocks are not joined.
    const covered = ({ start, end }: Range) =>
      exclusions.private.some((other) => other.start <= start && end <= other.end);
    const ports = inclusions.filter((one) => inside(address, one.range))
      .filter((one) => !within(exclusions.private) || covered(one.range))
      .map(({ port }) => port ?? 0);
    if (ports.length > 0) queried.set(address, [...new Set(ports)].sort().join());
  }
  return queried;
}

Deno.test("compose() agrees with a decision for each single address", () => {
  fc.assert(
    fc.property(
      fc.array(inclusion, { maxLength: 6 }),
      fc.array(range, { maxLength: 2 }),
      fc.array(range, { maxLength: 3 }),
      fc.array(range, { maxLength: 3 }),
      (inclusions, never, privates, chosen) => {
        const exclusions = { never, private: privates, chosen };
        const { groups, size } = compose(inclusions, exclusions);
        const found = new Map<number, string>();
        for (const { addresses, usesScanPorts, ports } of groups) {
          for (const { start, end } of addresses) {
            for (let address = Number(start); address < Number(end); address++) {
              assert(!found.has(address), "an address in two groups");
              found.set(address, [...(usesScanPorts ? [0] : []), ...ports].join());
            }
          }
        }
        const expected = bruteForce(inclusions, exclusions);
        assertEquals(new Map([...found].sort(([a], [b]) => a - b)), expected);
        assertEquals(size, BigInt(expected.size));
      },
    ),
    { seed: 1, numRuns: 3000 },
  );
});

const LISTS = {
  never: parseRangeList(exclude, "exclude").map(({ range }) => range),
  private: parseRangeList(privateText, "private").map(({ range }) => range),
};

function composed(...texts: string[]) {
  const inclusions = texts.map((text) => {
    const target = parseTarget(text);
    assert("range" in target);
    return { range: target.range, port: target.port };
  });
  return compose(inclusions, { ...LISTS, chosen: [] });
}

Deno.test("a wide range omits private and special-purpose blocks", () => {
  const { size, publicSize, omitted } = composed("0.0.0.0/0");
  assertEquals(size + omitted.never + omitted.private, 2n ** 32n);
  assertEquals(size, publicSize);
  assertEquals(
    omitted.private,
    2n ** 24n + 2n ** 22n + 2n ** 24n + 2n ** 16n + 2n ** 20n + 2n ** 16n + 2n ** 17n,
  );
});

Deno.test("private ranges are probed when the user names them", () => {
  const { size, publicSize, loopbackSize } = composed("192.168.1.0/24", "127.0.0.0/8", "::1");
  assertEquals([size, publicSize, loopbackSize], [256n + 2n ** 24n + 1n, 0n, 2n ** 24n + 1n]);
  assertEquals(
    composed("0.0.0.0/0", "10.0.0.0/8").omitted.private < composed("0.0.0.0/0").omitted.private,
    true,
  );
  assertEquals(composed("192.168.255.0-192.169.0.255").size, 256n);
});

Deno.test("IPv4-compatible and site-local IPv6 are private, each block on its own", () => {
  for (const range of ["::7f00:1", "::/100", "fec0::/10", "fec0::1", "feff::/16"]) {
    const { size, publicSize, omitted } = composed(range);
    assert(size > 0n, range);
    assertEquals([publicSize, omitted.private], [0n, 0n], range);
  }
  for (const wide of ["::/95", "fe80::/9", "fe00::/8", "fe80::-fec0::"]) {
    const { publicSize, omitted } = composed(wide);
    assert(omitted.private > 0n, wide);
    assertEquals(publicSize, composed(wide).size, wide);
  }
  assertEquals(composed("fe80::/9").size, 0n); // link-local and site-local are adjacent
  assertEquals(composed("::/96").size, 2n ** 32n - 3n); // without ::, ::2 and ::3
  assertEquals(composed("::", "::1").loopbackSize, 1n);
});

Deno.test("ranges that are never probed stay excluded when the user names them", () => {
  assertEquals(composed("224.0.0.1", "255.255.255.255", "::ffff:10.0.0.1", "ff02::1").size, 0n);
});

Deno.test("segmentsOf() adds the ports of the scan by family", () => {
  const targets = composed("10.0.0.1", "10.0.0.2:5", "fc00::1");
  const ports = segmentsOf(targets, (family) => family === 4 ? [19132] : [19133])
    .map(({ ports }) => ports);
  assertEquals(ports, [[19132], [5], [19133]]);
});

Deno.test("all addresses minus ten thousand exclusions are composed fast", () => {
  const chosen = Array.from({ length: 10_000 }, (_, i) => {
    const start = 0x0b000000 + i * 300_000 % 0xf0000000;
    return { start, end: start + 1 + i % 5000 };
  });
  const everything = [{ range: { start: 0, end: 2 ** 32 }, port: undefined }];
  const { groups, size, omitted } = compose(everything, { ...LISTS, chosen });
  assertEquals(size + omitted.never + omitted.private + omitted.chosen, 2n ** 32n);
  assert(groups.length === 1 && groups[0].addresses.length > 5000);
});
