/**
 * Adaptive discovery: plans a scan in passes, each from what the passes before have found.
 *
 * @module
 */
import { type Address } from "../core/address.ts";
import type {
  DiscoveryOptions,
  DiscoveryPass,
  Estimate,
  PassInput,
  PassPlanner,
  PassResult,
} from "./contract.ts";
import { PairDigest } from "./pass/digest.ts";
import { estimate } from "./estimate.ts";
import { foldPass } from "./fold.ts";
import type { PassLimits } from "./pass/hot_pass.ts";
import { Planner } from "./planner.ts";
import { RankOrder } from "./counters/rank_order.ts";
import {
  CostsByLevel,
  levelBelow,
  LEVELS_OF_OCTAVE,
  scoreOf,
  waterLevel,
} from "./pass/water_level.ts";

/** Candidates below this share of the last water level are looked at only if the pass lacks some. */
const BELOW_LEVEL = 0.25;
/** A pass is filled up with probes of at least a quarter of the expectation, if it has any. */
const OCTAVES_BELOW = 2;
/** A pass is filled up while it lacks more than this share of its probes, so many times at most. */
const LACK = 0.02;
const FILLS = 8;
/** Each protocol has at least these parts of the caps of a pass, if the caps are not lower. */
const MIN_PER_NETWORK = 64;
const MIN_PER_HOST = 16;
/** Water level of a pass that probes known servers: above all others. */
const KNOWN_LEVEL = 1;

/** Plans and folds passes of several protocols, which share one water level. */
export class AdaptiveDiscovery implements PassPlanner {
  readonly #planners: readonly Planner[];
  #next = 0;
  #spent = 0;
  #planned: DiscoveryPass | undefined;
  /** The water level of the last pass. */
  #level = 0;
  #loss = 0;
  /** New servers and probes of the last two passes. */
  #recent: { readonly servers: number; readonly probes: number }[] = [];

  /** Creates a discovery that has probed nothing. */
  constructor(private readonly options: DiscoveryOptions) {
    const order = new RankOrder(options.seed);
    this.#planners = options.targets.map((one) => new Planner(one, order, options.netBudget));
  }

  /** Number of the next pass to plan, from 0. */
  get next(): number {
    return this.#next;
  }

  /** Number of planned probes of all folded passes. */
  get spent(): number {
    return this.#spent;
  }

  /** Number of servers that were found. */
  get found(): number {
    return this.#planners.reduce((sum, { found }) => sum + found, 0);
  }

  /** Servers per million probes in the last two folded passes. */
  get recentYield(): number {
    const sum = (of: "servers" | "probes") => this.#recent.reduce((all, one) => all + one[of], 0);
    return sum("probes") === 0 ? 0 : 1e6 * sum("servers") / sum("probes");
  }

  /** One probe for each target address, for all protocols. */
  get evenSweep(): number {
    return this.#planners.reduce((sum, { size }) => sum + size, 0);
  }

  /** Memory of the counters, bytes. */
  get bytes(): number {
    return this.#planners.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /**
   * Plans the next pass.
   *
   * @throws Error if a pass is planned already.
   */
  plan({ probes, perNetwork, perHost, lossPerMille }: PassInput): DiscoveryPass {
    if (this.#planned !== undefined) throw new Error("A pass is planned that was not folded");
    // the protocols share the caps of a pass
    const share = (cap: number, least: number) =>
      Math.max(Math.min(cap, least), Math.floor(cap / this.#planners.length));
    const caps = {
      perNetwork: share(perNetwork, MIN_PER_NETWORK),
      perHost: share(perHost, MIN_PER_HOST),
      netBudget: this.options.netBudget,
    };
    this.#loss = lossPerMille / 1000;
    for (const planner of this.#planners) planner.begin();
    if (this.#planKnown(probes, caps)) this.#level = KNOWN_LEVEL;
    else this.#level = this.#planUnits(probes, caps);
    return this.#planned = this.#passOf(this.#level);
  }

  /** Ends the planned pass with its results, one for each protocol. */
  fold(results: readonly PassResult[]): void {
    if (this.#planned === undefined) throw new Error("No pass is planned");
    const { probes } = this.#planned;
    let servers = 0;
    this.#planners.forEach((planner, i) => servers += foldPass(planner, results[i]));
    // A host that ends takes back what earlier passes counted for it.
    this.#recent = [...this.#recent.slice(-1), { servers: Math.max(0, servers), probes }];
    this.#spent += probes;
    this.#next++;
    this.#planned = undefined;
  }

  /** The estimate of one protocol; `undefined` before one address of every /24 was sampled. */
  estimate(index: number): Estimate | undefined {
    return estimate(this.#planners[index], this.#loss);
  }

  /** Whether a planned pass that was folded contained an endpoint. */
  wasProbed(index: number, address: Address, port: number): boolean {
    const planner = this.#planners[index];
    const portIndex = planner.indexes.get(port);
    return portIndex !== undefined && typeof address === "number" &&
      planner.universe.has(address) && planner.wasProbed(address, portIndex);
  }

  /** Plans known servers that were not probed; false if there are none. */
  #planKnown(probes: number, caps: PassLimits): boolean {
    let left = probes;
    const waiting = this.#planners.filter(({ known }) => known.waiting > 0);
    for (const planner of waiting) left -= planner.chooseKnown(left, caps);
    if (left < probes) return true;
    if (probes >= 1) { for (const { known } of waiting) known.giveUp(); }
    return false;
  }

  /**
   * Plans the sample and the units above the water level. Candidates that do not fit in the caps are
   * passed over; then the level is lowered until the pass is full.
   *
   * @returns The level.
   */
  #planUnits(probes: number, caps: PassLimits): number {
    if (this.evenSweep === 0) return 0;
    let left = probes;
    for (const planner of this.#planners) {
      left -= planner.explore(probes * planner.size / this.evenSweep, caps);
    }
    let lowest = BELOW_LEVEL * this.#level;
    let above = this.#costs(lowest, caps);
    let cold = this.#planners.map((planner) => planner.coldCosts(caps));
    const at = (level: number) =>
      cold.reduce((sum, costs) => sum + costs(scoreOf(level)), above[level]);
    const find = (budget: number) => {
      const level = waterLevel(budget, at);
      if (lowest === 0 || level > levelBelow(lowest)) return level;
      lowest = 0;
      above = this.#costs(lowest, caps);
      return waterLevel(budget, at);
    };
    let level = find(left);
    // what is worth far less than the level may cost the budget that better probes need later
    let floor = Math.max(0, level - OCTAVES_BELOW * LEVELS_OF_OCTAVE);
    for (let fill = 0;; fill++) {
      const share = level === 0 ? 0 : (left - at(level)) / (above[level - 1] - above[level]);
      const hot = this.#choose(level, share, left, caps);
      const dug = this.#dig(level, left - hot, caps);
      const lack = left - hot - dug;
      if (lack <= LACK * probes || level === 0 || fill === FILLS) {
        if (lack === probes && this.#choose(0, 0, probes, caps) === 0) this.#fill(probes, caps);
        return scoreOf(level);
      }
      if (level === floor) {
        if (lack < probes) return scoreOf(level);
        floor = 0;
      }
      left -= dug;
      cold = this.#planners.map((planner) => planner.coldCosts(caps));
      const passedOver = Math.max(0, above[level] - hot);
      const lower = find(left + passedOver * 2 ** fill);
      level = Math.max(floor, Math.min(level - 2 ** fill, lower));
    }
  }

  /** The probes of candidates in hot /24s at or above each level. */
  #costs(lowest: number, caps: PassLimits): Float64Array {
    const costs = new CostsByLevel();
    for (const planner of this.#planners) planner.addCosts(costs, lowest, this.#loss, caps);
    return costs.cumulative();
  }

  /** Chooses the candidates above a level, and a share of those at the level below. */
  #choose(level: number, share: number, budget: number, caps: PassLimits): number {
    // the lowest level contains all lower scores
    const [score, tieScore] = level === 0 ? [0, 0] : [scoreOf(level), scoreOf(level - 1)];
    let left = budget;
    for (const planner of this.#planners) {
      const choice = { level: score, tieLevel: tieScore, share, loss: this.#loss, budget: left };
      left -= planner.choose(choice, caps);
    }
    return budget - left;
  }

  #dig(level: number, budget: number, caps: PassLimits): number {
    let left = budget;
    for (const planner of this.#planners) {
      left -= planner.dig(scoreOf(level), this.#next, caps, left);
    }
    return budget - left;
  }

  #fill(budget: number, caps: PassLimits): void {
    let left = budget;
    for (const planner of this.#planners) left -= planner.fill(left, caps);
  }

  /** The planned pass with its digest. */
  #passOf(level: number): DiscoveryPass {
    const digest = new PairDigest();
    digest.add(this.#next, 0);
    const number = this.#next;
    const protocols = this.#planners.map((planner) => {
      planner.addTo(digest);
      digest.add(planner.probes, 0);
      const space = () => planner.space(this.options.seed, number);
      return { probes: planner.probes, space };
    });
    const probes = protocols.reduce((sum, one) => sum + one.probes, 0);
    return { number, digest: digest.text, probes, level, protocols };
  }
}
