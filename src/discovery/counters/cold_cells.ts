/**
 * The /24s in which no server was found, counted by /20.
 *
 * @module
 */
import { bitAt, bitCount } from "./bit_sets.ts";
import type { RankOrder } from "./rank_order.ts";
import type { ColdCosts } from "../pass/cold_costs.ts";
import { ALIKE, PRIOR_RATE, RateTree } from "./rate_tree.ts";
import { isPartial, type Universe } from "./universe.ts";

/** Maximum number of ranks of a /20 in one pass. */
export const MAX_RANKS = 64;
/** Probes of a pass to a /24 of a /20 are a multiple of this number, unless the cap is lower. */
const RANK_STEP = 4;
/** A known server counts as this share of a server that a scan has found. */
export const KNOWN_WEIGHT = 0.3;
/** A list of known servers counts as no more probes than give this share of the prior rate. */
const SPARSEST_LIST = 1 / 3;
/** A /12 is not sampled while its rate is below this share of the rate of all. */
const POOR = 0.1;
/** Bits that a /12's prefix is shorter than a /20's. */
const SHIFT_12 = 8;
/** Levels of rates above /20: /16, /14, /12 and /8. */
const ALL_LEVELS = [4, 6, SHIFT_12, 12];
/** Levels for targets that cover less than this share of the /12s they lie in: /16. */
const FRAGMENTS = 1 / 16;

/**
 * Counters of cold /24s. All cold /24s of a /20 are probed in the same ranks; {@linkcode tried} of
 * them were probed. A /24 leaves its /20 with the first server that is found in it.
 */
export class ColdCells {
  /** For each /20, how many ranks of its cold /24s were probed. */
  readonly tried: Uint16Array;
  /** For each /20, its cold /24s: bit i stands for its /24 number i. */
  readonly networks: Uint16Array;
  /** For each /20, the number of targets in its cold /24s. */
  readonly members: Uint16Array;
  /** For each /20, the number of its ranks in the pass that is planned. */
  readonly ranks: Uint8Array;
  /** For each /20, the number of /24s in which a server was found. */
  readonly #finds: Uint8Array;
  /** For each /20, the probes to its /24s while they were cold. */
  readonly #probes: Uint16Array;
  /** For each /20, the number of /24s with known servers. */
  #known: Uint8Array | undefined;
  /** Probes that the list of known servers counts as, for each /20. */
  #knownProbes = 0;
  readonly #tree: RateTree;
  /** For each /20, d in its expected first servers per probe, (finds + a) / d. */
  readonly #divisor: Float32Array;

  /** Creates the counters: nothing was probed. */
  constructor(private readonly universe: Universe, private readonly order: RankOrder) {
    const { blocks, networks, members } = universe;
    this.networks = networks.slice();
    this.members = members.slice();
    this.tried = new Uint16Array(blocks.length);
    this.ranks = new Uint8Array(blocks.length);
    this.#finds = new Uint8Array(blocks.length);
    this.#probes = new Uint16Array(blocks.length);
    this.#divisor = new Float32Array(blocks.length);
    let twelfths = 0;
    blocks.forEach((block, i) => {
      if (i === 0 || block >>> SHIFT_12 !== blocks[i - 1] >>> SHIFT_12) twelfths++;
    });
    const isFragments = universe.size < FRAGMENTS * twelfths * 2 ** 20;
    this.#tree = new RateTree(blocks, isFragments ? ALL_LEVELS.slice(0, 1) : ALL_LEVELS);
  }

  /** Number of /20s. */
  get length(): number {
    return this.tried.length;
  }

  /** Memory of the counters, bytes. */
  get bytes(): number {
    return 14 * this.length + (this.#known?.byteLength ?? 0) + this.#tree.bytes;
  }

  /** Whether some cold /24s of a /20 contain addresses that are not targets. */
  isPartial(block: number): boolean {
    return isPartial(this.networks[block], this.members[block]);
  }

  /** Removes the /24s with known servers, and counts them as a scan's finds with less weight. */
  addKnown(networks: readonly number[]): void {
    if (networks.length === 0) return;
    const known = this.#known = new Uint8Array(this.length);
    for (const network of networks) known[this.remove(network)]++;
    // the list counts as KNOWN_WEIGHT of a scan of all targets, or of as many as make it likely
    const scanned = Math.min(
      this.universe.size,
      networks.length / (SPARSEST_LIST * PRIOR_RATE),
    );
    this.#knownProbes = KNOWN_WEIGHT * scanned / this.length;
  }

  /** Whether a /24 is cold. */
  isCold(network: number): boolean {
    const block = this.universe.indexOf(network >>> 4);
    return block >= 0 && (this.networks[block] >>> (network & 15) & 1) === 1;
  }

  /**
   * Removes a cold /24.
   *
   * @returns The index of its /20.
   */
  remove(network: number): number {
    const block = this.universe.indexOf(network >>> 4);
    this.networks[block] &= ~(1 << (network & 15));
    this.members[block] -= this.universe.membersOf(network, this.#bits);
    return block;
  }

  readonly #bits = new Uint32Array(8);

  /** Counts the first server in a /24 of a /20. */
  addFind(block: number): void {
    this.#finds[block]++;
  }

  /** Ends the ranks of a /20 in the planned pass. */
  advance(block: number, probes: number): void {
    this.tried[block] += this.ranks[block];
    this.#probes[block] += probes;
    this.ranks[block] = 0;
  }

  /** Computes the expected first servers per probe of all /20s. */
  update(): void {
    const [probes, known, divisor] = [this.#probes, this.#known, this.#divisor];
    const before = this.#knownProbes;
    const finds = this.#finds;
    this.#tree.update(
      known === undefined ? (i) => finds[i] : (i) => finds[i] + KNOWN_WEIGHT * known[i],
      (i) => probes[i] + before,
    );
    const { blocksOf16, rateOf16 } = this.#tree;
    for (let i = 0; i < rateOf16.length; i++) {
      const prior = before + ALIKE / rateOf16[i];
      for (let block = blocksOf16[i]; block < blocksOf16[i + 1]; block++) {
        divisor[block] = probes[block] + prior;
      }
    }
  }

  /** Expected first servers per probe of a /20, before calibration. */
  score(block: number): number {
    return this.#numerator(block) / this.#divisor[block];
  }

  #numerator(block: number): number {
    const known = this.#known === undefined ? 0 : KNOWN_WEIGHT * this.#known[block];
    return this.#finds[block] + known + ALIKE;
  }

  /**
   * Adds what each /20 costs to sums.
   *
   * @param maxRank Maximum number of probes to a /24 in all.
   * @param maxRanks The same in this pass.
   */
  addCosts(costs: ColdCosts, maxRank: number, maxRanks: number): void {
    const { members, tried, ranks } = this;
    const divisor = this.#divisor;
    for (let i = 0; i < members.length; i++) {
      const most = members[i] * Math.min(maxRanks, maxRank - tried[i]) / 256;
      const chosen = members[i] * ranks[i] / 256;
      if (most > chosen) costs.add(this.#numerator(i), divisor[i] + chosen, most - chosen);
    }
  }

  /**
   * Sets the ranks of each /20 that its score pays for, at random rounded to multiples of four, at
   * least those that are set already.
   *
   * @returns The probes that were added.
   */
  dig(score: number, pass: number, maxRank: number, maxRanks: number, budget: number): number {
    const [members, tried, ranks] = [this.members, this.tried, this.ranks];
    let left = budget;
    for (let i = 0; i < members.length; i++) {
      if (members[i] === 0) continue;
      const probes = this.#numerator(i) / score - this.#divisor[i];
      if (probes <= 0) continue;
      // rounded up with a probability of the remainder, so that the mean is exact
      const share = this.order.hash(this.universe.blocks[i], ~pass) / 2 ** 32;
      const steps = Math.floor(probes * 256 / members[i] / RANK_STEP + share);
      const ofLeft = ranks[i] + Math.floor(left * 256 / members[i]);
      const count = Math.min(RANK_STEP * steps, maxRanks, maxRank - tried[i], ofLeft);
      if (count <= ranks[i]) continue;
      const cost = this.probesOf(i, count) - this.probesOf(i, ranks[i]);
      if (cost > left) continue;
      left -= cost;
      ranks[i] = count;
    }
    return budget - left;
  }

  /**
   * Sets one rank, or several, of /20s in a random order that is the same in each pass: first of all
   * those that were tried least. The sample of all servers.
   *
   * @param ranks The sample ends at this rank.
   * @returns The number of probes.
   */
  explore(budget: number, ranks: number, maxRanks: number): number {
    const skipped = this.#poorBlocks();
    let left = budget;
    for (let rank = this.#lowestRank(skipped); rank < ranks; rank++) {
      const isNext = (block: number) =>
        this.tried[block] + this.ranks[block] === rank && this.members[block] > 0 &&
        skipped[block] === 0 && this.ranks[block] < maxRanks;
      const used = this.#exploreRank(left, rank, isNext);
      left -= used.probes;
      if (!used.isComplete) break;
    }
    return budget - left;
  }

  /** The lowest rank that was not tried everywhere, except in some /20s. */
  #lowestRank(skipped: Uint8Array): number {
    let lowest = 256;
    for (let i = 0; i < this.length; i++) {
      if (this.members[i] === 0 || skipped[i] === 1) continue;
      lowest = Math.min(lowest, this.tried[i] + this.ranks[i]);
    }
    return lowest;
  }

  /** Sets a rank of /20s in the order of their hashes, while the budget lasts. */
  #exploreRank(budget: number, rank: number, isNext: (block: number) => boolean) {
    const { blocks } = this.universe;
    const sums = new Float64Array(4096);
    let all = 0;
    for (let i = 0; i < blocks.length; i++) {
      if (!isNext(i)) continue;
      const cost = this.members[i] / 256;
      sums[this.order.hash(blocks[i], rank) >>> 20] += cost;
      all += cost;
    }
    let [slot, sum] = [0, 0];
    while (slot < 4096 && sum + sums[slot] <= budget) sum += sums[slot++];
    let probes = 0;
    const border: [hash: number, block: number][] = [];
    const take = (block: number) => {
      const cost = this.#probesOfNext(block);
      if (probes + cost > budget) return false;
      this.ranks[block]++;
      probes += cost;
      return true;
    };
    let isComplete = slot === 4096;
    for (let i = 0; i < blocks.length && all > 0; i++) {
      if (!isNext(i)) continue;
      const hash = this.order.hash(blocks[i], rank);
      if (hash >>> 20 === slot) border.push([hash, i]);
      else if (hash >>> 20 < slot) isComplete = take(i) && isComplete;
    }
    border.sort(([a, i], [b, j]) => a - b || i - j);
    for (const [, block] of border) if (!take(block)) break;
    return { probes, isComplete };
  }

  #probesOfNext(block: number): number {
    const ranks = this.ranks[block];
    return this.probesOf(block, ranks + 1) - this.probesOf(block, ranks);
  }

  /** Number of targets in the next ranks of the cold /24s of a /20. */
  probesOf(block: number, ranks: number): number {
    if (!this.isPartial(block)) return bitCount(this.networks[block]) * ranks;
    let sum = 0;
    for (let rest = this.networks[block]; rest !== 0; rest &= rest - 1) {
      const network = this.universe.blocks[block] * 16 + bitAt(rest, 0);
      this.universe.membersOf(network, this.#bits);
      for (let i = 0; i < ranks; i++) {
        const octet = this.order.octet(network, 0, this.tried[block] + i);
        sum += this.#bits[octet >> 5] >>> (octet & 31) & 1;
      }
    }
    return sum;
  }

  /** For each /20, 1 if it is in a /12 that is not sampled. */
  #poorBlocks(): Uint8Array {
    const poor = new Uint8Array(this.length);
    for (const { from, to } of this.poor()) poor.fill(1, from, to);
    return poor;
  }

  /** The /20s of each /12 that is not sampled, because few servers are expected there. */
  poor(): { readonly from: number; readonly to: number }[] {
    if (!this.#tree.shifts.includes(SHIFT_12)) return [];
    const { rate, blocks } = this.#tree.level(SHIFT_12);
    const found: { from: number; to: number }[] = [];
    for (let i = 0; i < rate.length; i++) {
      if (rate[i] < POOR * this.#tree.top) found.push({ from: blocks[i], to: blocks[i + 1] });
    }
    return found;
  }
}
