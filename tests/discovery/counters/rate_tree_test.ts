import { assertAlmostEquals, assertEquals } from "@std/assert";
import { ALIKE, PRIOR_RATE, RateTree } from "../../../src/discovery/counters/rate_tree.ts";
import { chance } from "../small_world.ts";

/** Levels above /20. */
const SHIFTS = [4, 6, 8, 12];
const ALL = 20;

/** The rates of networks, by their definition. */
class Rates {
  readonly #sums = new Map<string, readonly [finds: number, probes: number]>();

  constructor(
    private readonly blocks: ReadonlyMap<number, readonly [finds: number, probes: number]>,
    private readonly before: (shift: number, network: number) => number,
  ) {}

  /** Weighted sums of a network. */
  sums(shift: number, network: number): readonly [finds: number, probes: number] {
    if (shift === 0) return this.blocks.get(network)!;
    const key = `${shift}/${network}`;
    const known = this.#sums.get(key);
    if (known !== undefined) return known;
    const below = [0, ...SHIFTS, ALL].filter((one) => one < shift).at(-1)!;
    const own = [...this.blocks.keys()].filter((block) => block >>> shift === network);
    const children = [...new Set(own.map((block) => block >>> below))];
    const rate = this.before(shift, network);
    let sums: [number, number] = [0, 0];
    for (const child of children) {
      const [finds, probes] = this.sums(below, child);
      const weight = ALIKE / (ALIKE + rate * probes);
      sums = [sums[0] + weight * finds, sums[1] + weight * probes];
    }
    this.#sums.set(key, sums);
    return sums;
  }

  rate(shift: number, network: number): number {
    const [finds, probes] = this.sums(shift, network);
    if (shift === ALL) return (finds + 1) / (probes + 1 / PRIOR_RATE);
    const above = [...SHIFTS, ALL].find((one) => one > shift)!;
    return (finds + ALIKE) / (probes + ALIKE / this.rate(above, network >>> above - shift));
  }
}

Deno.test("rates of all levels agree with their recursive definition, also in the next pass", () => {
  const blocks = Uint32Array.from({ length: 3000 }, (_, i) => 0xf0000 + 7 * i);
  const counts = new Map(
    [...blocks].map((block, i) =>
      [block, [chance(i, 1) < 0.1 ? i % 5 : 0, Math.floor(chance(i, 2) * 4000)]] as const
    ),
  );
  const tree = new RateTree(blocks, SHIFTS);
  const update = () =>
    tree.update((i) => counts.get(blocks[i])![0], (i) => counts.get(blocks[i])![1]);
  update();
  const first = new Rates(counts, () => PRIOR_RATE);
  const second = new Rates(counts, (shift, network) => first.rate(shift, network));
  for (const rates of [first, second]) {
    assertAlmostEquals(tree.top / rates.rate(ALL, 0), 1, 1e-9);
    for (const shift of SHIFTS) {
      const { rate, blocks: firsts } = tree.level(shift);
      rate.forEach((value, i) => {
        assertAlmostEquals(value / rates.rate(shift, blocks[firsts[i]] >>> shift), 1, 1e-9);
      });
      assertEquals(firsts.at(-1), blocks.length);
    }
    update();
  }
});

Deno.test("a tree of one level has rates below the rate of all", () => {
  const tree = new RateTree(Uint32Array.of(16, 17, 32), [4]);
  tree.update((i) => i === 2 ? 3 : 0, () => 1000);
  const [poor, rich] = tree.rateOf16;
  assertEquals([...tree.blocksOf16], [0, 2, 3]);
  assertAlmostEquals(
    rich,
    (tree.level(4).rate[0], 3 * weight() + ALIKE) / (weight() * 1000 + ALIKE / tree.top),
    1e-12,
  );
  assertEquals(poor < tree.top && tree.top < rich, true);
  function weight() {
    return ALIKE / (ALIKE + PRIOR_RATE * 1000);
  }
});
