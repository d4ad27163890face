/**
 * The planner of one protocol: its counters, and the steps of a pass.
 *
 * @module
 */
import { Calibration } from "./pass/calibration.ts";
import { Candidates, type HotCounters } from "./pass/candidates.ts";
import { ColdCells, MAX_RANKS } from "./counters/cold_cells.ts";
import type { DiscoveryTargets } from "./contract.ts";
import type { PairDigest } from "./pass/digest.ts";
import { Hosts } from "./counters/hosts.ts";
import { HotNetworks } from "./counters/hot_networks.ts";
import { ColdCosts } from "./pass/cold_costs.ts";
import { type Choice, HotPass, type PassLimits } from "./pass/hot_pass.ts";
import { KnownTargets } from "./pass/known_targets.ts";
import { HostRates, PortRates } from "./counters/learned_rates.ts";
import { type PlannedUnits, PlanSpace } from "./pass/plan_space.ts";
import type { RankOrder } from "./counters/rank_order.ts";
import { Universe } from "./counters/universe.ts";
import type { CostsByLevel } from "./pass/water_level.ts";

/** Ranks of every /24 that are sampled, and the share of a pass that samples them. */
const COLD_START = { ranks: 10, share: 0.6 };
/** The same with known servers. */
const WITH_KNOWN = { ranks: 2, share: 0.3 };

/** Maximum share of the budget of a /24 that one pass takes, unless it is less than 256 probes. */
const SHARE_OF_PASS = 1 / 32;
const MIN_OF_PASS = 256;

/** The state of one protocol. Between two passes, nothing is planned. */
export class Planner implements PlannedUnits, HotCounters {
  readonly universe: Universe;
  readonly cold: ColdCells;
  readonly hot: HotNetworks;
  readonly hosts: Hosts;
  readonly known: KnownTargets;
  readonly portRates: PortRates;
  readonly hostRates = new HostRates();
  readonly calibration = new Calibration();
  readonly pass: HotPass;
  readonly ports: readonly number[];
  /** The index of each port. */
  readonly indexes: ReadonlyMap<number, number>;
  /** Number of servers that were found; a host with one server on many ports counts once. */
  found = 0;
  /** Endpoints of /20s in the planned pass. */
  #coldProbes = 0;

  /** Creates the state: nothing was probed. */
  constructor(
    targets: DiscoveryTargets,
    readonly order: RankOrder,
    private readonly netBudget: number,
  ) {
    this.ports = targets.ports;
    this.indexes = new Map(targets.ports.map((port, i) => [port, i]));
    this.universe = new Universe(targets.addresses);
    this.cold = new ColdCells(this.universe, order);
    this.hot = new HotNetworks(this.ports.length);
    this.hosts = new Hosts(this.ports);
    this.portRates = new PortRates(this.ports.length);
    this.known = new KnownTargets(targets, this.universe);
    const candidates = new Candidates(this, this.ports.length);
    this.pass = new HotPass(this, candidates, this.universe, this.ports.length);
    this.#addKnown();
  }

  /** Makes the /24s of known servers hot. */
  #addKnown(): void {
    const networks: number[] = [];
    this.known.forEach((address, port) => {
      const network = Math.floor(address / 256);
      if (network !== networks[networks.length - 1]) {
        networks.push(network);
        this.addHot(network, 0);
      }
      const row = this.hot.length - 1;
      if (port === 0) this.hot.known[row] = Math.min(255, this.hot.known[row] + 1);
    });
    this.cold.addKnown(networks);
  }

  /**
   * Adds a hot /24, of whose addresses some ranks were probed.
   *
   * @returns Its row.
   */
  addHot(network: number, tried: number): number {
    const members = this.universe.membersOf(network, new Uint32Array(8));
    return this.hot.add(network, members, tried, Math.min(members, tried));
  }

  /** Number of target addresses. */
  get size(): number {
    return this.universe.size;
  }

  /** Memory of the counters, bytes. */
  get bytes(): number {
    return [this.universe, this.cold, this.hot, this.hosts, this.known, this.portRates]
      .reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Number of probes of the planned pass. */
  get probes(): number {
    return this.#coldProbes + this.pass.slices.size + this.pass.hostProbes + this.known.planned;
  }

  /** Computes the rates for the next pass, in which nothing is planned yet. */
  begin(): void {
    this.#coldProbes = 0;
    this.cold.update();
    this.portRates.update();
  }

  /** Chooses known servers that were not probed. */
  chooseKnown(budget: number, caps: PassLimits): number {
    const { hot, known } = this;
    known.choose(budget, this.#within(caps), (network) => {
      const row = hot.find(network);
      return hot.ended[row] === 1 ? Infinity : hot.spent[row];
    });
    return known.planned;
  }

  /** Chooses ranks of the sample of all /24s, with a share of the budget. */
  explore(budget: number, { perNetwork }: PassLimits): number {
    const { ranks, share } = this.known.length > 0 ? WITH_KNOWN : COLD_START;
    return this.#explored(share * budget, ranks, perNetwork);
  }

  /** Chooses any ranks of cold /24s: for budgets that are too small for other units. */
  fill(budget: number, { perNetwork }: PassLimits): number {
    return this.#explored(budget, 256, perNetwork);
  }

  #explored(budget: number, ranks: number, perNetwork: number): number {
    const most = Math.min(ranks, this.#maxRank);
    const probes = this.cold.explore(budget, most, Math.min(MAX_RANKS, perNetwork));
    this.#coldProbes += probes;
    return probes;
  }

  /** Adds the probes of all candidates in hot /24s to sums by level. */
  addCosts(costs: CostsByLevel, lowest: number, loss: number, caps: PassLimits): void {
    this.pass.addCosts(costs, lowest, loss, this.#within(caps));
  }

  /** The probes to cold /24s that a water level pays for, besides those that are chosen already. */
  coldCosts({ perNetwork }: PassLimits): (level: number) => number {
    const costs = new ColdCosts();
    this.cold.addCosts(costs, this.#maxRank, Math.min(MAX_RANKS, perNetwork));
    costs.accumulate();
    return (level) => costs.at(this.calibration.inverse(level));
  }

  /** Chooses candidates in hot /24s in place of those that were chosen before. */
  choose(choice: Choice, caps: PassLimits): number {
    return this.pass.choose(choice, this.#within(caps));
  }

  /** Chooses further ranks of cold /24s. */
  dig(level: number, pass: number, { perNetwork }: PassLimits, budget: number): number {
    const score = this.calibration.inverse(level);
    const ranks = Math.min(MAX_RANKS, perNetwork);
    const probes = this.cold.dig(score, pass, this.#maxRank, ranks, budget);
    this.#coldProbes += probes;
    return probes;
  }

  /** The planned pass in shuffled order. */
  space(seed: number, pass: number): PlanSpace {
    return new PlanSpace(this, seed, pass);
  }

  /** Adds the planned pass to a digest. */
  addTo(digest: PairDigest): void {
    const { cold, pass, hot, hosts, universe } = this;
    for (let block = 0; block < cold.length; block++) {
      if (cold.ranks[block] === 0) continue;
      digest.add(universe.blocks[block], cold.networks[block]);
      digest.add(cold.tried[block], cold.ranks[block]);
    }
    pass.slices.forEach((row, port, length, count, from) => {
      digest.add(hot.networks[row], port);
      digest.add(from << 8 | length, count);
    });
    for (let i = 0; i < pass.hostCount; i++) {
      for (let at = pass.starts[i]; at < pass.endOf(i); at++) {
        digest.add(hosts.addresses[pass.hosts[i]], pass.hostPorts[at]);
      }
    }
    this.known.forEachPlanned((address, port) => digest.add(address, port));
  }

  /** Whether a pass that was folded certainly probed the target with a port's index. */
  wasProbed(address: number, port: number): boolean {
    const { known, hosts, hot, cold, universe, order } = this;
    const network = Math.floor(address / 256);
    const row = hot.find(network);
    const host = hosts.find(address);
    // a host or a network ends within a pass, and the rest of its targets in the pass is skipped
    if (row >= 0 && hot.ended[row] === 1 || host >= 0 && hosts.ended[host] === 1) return false;
    if (known.wasProbed(address, port)) return true;
    if (host >= 0 && hosts.wasProbed(host, port)) return true;
    const rank = order.rank(network, port, address & 255);
    if (row >= 0) return rank < hot.probedRanks(row, port);
    return port === 0 && rank < cold.tried[universe.indexOf(network >>> 4)];
  }

  /** Ranks of cold /24s that the cap of all passes permits. */
  get #maxRank(): number {
    return Math.min(256, this.netBudget);
  }

  /**
   * The caps of a pass. One pass takes only a part of the budget of a /24: which probes are worth it
   * is learned from their results.
   */
  #within(caps: PassLimits): PassLimits {
    const ofBudget = Math.max(MIN_OF_PASS, this.netBudget * SHARE_OF_PASS);
    const perNetwork = Math.min(caps.perNetwork, ofBudget);
    return { ...caps, perNetwork, netBudget: this.netBudget };
  }
}
