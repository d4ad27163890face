/**
 * Candidates: what may be probed in hot /24s, with the servers per probe that are expected.
 *
 * @module
 */
import { BINS, HostPortState, type Hosts } from "../counters/hosts.ts";
import { ALL_RANKS, type HotNetworks, SLICE, SLICES } from "../counters/hot_networks.ts";
import {
  type HostRates,
  hostRow,
  networkClass,
  type PortRates,
  weightsOf,
} from "../counters/learned_rates.ts";
import { KNOWN_WEIGHT } from "../counters/cold_cells.ts";
import type { RankOrder } from "../counters/rank_order.ts";

/** Maximum number of ports of a host in one pass. */
export const MAX_HOST_PORTS = 100;
/** A /24 with a server has the prior of .3 further servers in 10 probes. */
const DIG_PRIOR = 0.3;
const DIG_PROBES = 10;
/** A port has the prior of .1 servers; a port with a server is 20 probes less likely than that. */
const COLUMN_PRIOR = 0.1;
const COLUMN_PROBES = 20;
/** With a prior of so many probes, the slices of a port have nearly equal scores, and are one. */
const MANY_PROBES = 16 * ALL_RANKS;

/** What is known of hot /24s and their hosts, and the rates of the pass. */
export interface HotCounters {
  /** The /24s. */
  readonly hot: HotNetworks;
  readonly hosts: Hosts;
  readonly portRates: PortRates;
  /** Rates of further ports of hosts. */
  readonly hostRates: HostRates;
  readonly order: RankOrder;
}

/** The candidates of one /24 at a time, in arrays that are used again for the next. */
export class Candidates {
  /** Number of candidates. */
  length = 0;
  /** Sum of their costs. */
  total = 0;
  /** Expected servers per probe. */
  readonly scores: Float32Array;
  /** The bits of the scores. */
  readonly bits: Uint32Array;
  /** Maximum number of probes. */
  readonly costs: Uint16Array;
  /** Index of the port of a slice. */
  readonly ports: Uint16Array;
  /** The first slice, counted from those of its port that were probed; of a host, its bin. */
  readonly slices: Uint8Array;
  /** The host plus one; 0: the candidate is a slice. */
  readonly hosts: Uint32Array;

  /**
   * Creates an empty list.
   *
   * @param portCount Number of ports.
   */
  constructor(private readonly counters: HotCounters, portCount: number) {
    // at most all slices of all ports, and all hosts
    const most = SLICES * portCount + ALL_RANKS;
    this.scores = new Float32Array(most);
    this.bits = new Uint32Array(this.scores.buffer);
    this.costs = new Uint16Array(most);
    this.ports = new Uint16Array(most);
    this.slices = new Uint8Array(most);
    this.hosts = new Uint32Array(most);
  }

  /**
   * Lists the candidates of a /24.
   *
   * @param lowest Candidates with a lower score may be left out.
   * @param loss Share of probes without a reply although the server is up.
   */
  collect(row: number, lowest: number, loss: number): void {
    this.length = this.total = 0;
    this.#addDefaultPort(row, lowest, loss);
    this.#addColumns(row, lowest, loss);
    this.#addHosts(row, lowest);
  }

  #add(score: number, cost: number, port: number, slice: number, host: number): void {
    const i = this.length++;
    this.total += cost;
    this.scores[i] = score;
    this.costs[i] = cost;
    this.ports[i] = port;
    this.slices[i] = slice;
    this.hosts[i] = host;
  }

  /** The next ranks of the default port, or once more the unresponsive addresses. */
  #addDefaultPort(row: number, lowest: number, loss: number): void {
    const { tried, finds, known } = this.counters.hot;
    const found = finds[row];
    if (tried[row] < ALL_RANKS) {
      // (servers + prior) / (probes + prior); a known server is KNOWN_WEIGHT of one in a whole /24
      const listed = known[row];
      const servers = found + KNOWN_WEIGHT * listed + DIG_PRIOR;
      const probes = DIG_PROBES + (listed > 0 ? ALL_RANKS * KNOWN_WEIGHT : 0);
      for (let from = tried[row], slice = 0; from < ALL_RANKS; from += SLICE) {
        const score = servers / (from + probes);
        if (score < lowest) break;
        this.#add(score, Math.min(SLICE, ALL_RANKS - from), 0, slice++, 0);
      }
      return;
    }
    // of h servers that responded, h loss / (1 - loss) were lost among 256 - h addresses
    const score = loss * found / (ALL_RANKS + 1 - found);
    if (found === 0 || score < lowest) return;
    this.#add(score, 2 * ALL_RANKS - tried[row], 0, 0, 0);
  }

  /**
   * The slices of other ports. With the rate b of the /24 and the weight w of the port, the prior of
   * a port is .1 servers in .1 / (b w) probes. Slice m is worth probing while the m before it found
   * nothing: (hits + .1) / (64 m + .1 / (b w)).
   * When all were probed, the addresses without a reply are probed once more: of h servers that
   * responded, about h loss were lost.
   */
  #addColumns(row: number, lowest: number, loss: number): void {
    const { hot, portRates } = this.counters;
    const others = hot.others[row];
    const rate = portRates.rate(
      hot.columnFinds[row],
      hot.exposure[row],
      networkClass(others, hot.finds[row]),
    );
    const weights = portRates.weights[weightsOf(others)];
    const ordered = portRates.ordered[weightsOf(others)];
    const states = hot.ports.chunk(row);
    const start = hot.ports.start(row);
    for (let i = 0; i < ordered.length; i++) {
      const port = ordered[i];
      const state = states[start + port];
      const [slices, count] = [state & 15, state >>> 4];
      const isBelow = rate * weights[port] < lowest;
      // without servers on other ports, the ports that follow are worth less
      if (isBelow && others === 0) return;
      if (isBelow && count === 0) continue;
      if (slices >= SLICES) {
        // once more the unresponsive addresses
        const score = loss * count / ALL_RANKS;
        const again = SLICE * (2 * SLICES - slices);
        if (count > 0 && again > 0 && score >= lowest) this.#add(score, again, port, 0, 0);
        continue;
      }
      const prior = COLUMN_PRIOR / (rate * weights[port]) + (count > 0 ? COLUMN_PROBES : 0);
      if (prior > MANY_PROBES) {
        const score = (count + COLUMN_PRIOR) / (SLICE * slices + prior);
        if (score >= lowest) this.#add(score, SLICE * (SLICES - slices), port, 0, 0);
        continue;
      }
      for (let slice = slices; slice < SLICES; slice++) {
        const score = (count + COLUMN_PRIOR) / (SLICE * slice + prior);
        if (score < lowest) break;
        this.#add(score, SLICE, port, slice - slices, 0);
      }
    }
  }

  /** Further ports of hosts, of the bin of distance with the highest rate. */
  #addHosts(row: number, lowest: number): void {
    const { hot, hosts, hostRates } = this.counters;
    for (let next = hot.firstHost[row]; next !== 0; next = hosts.next[next - 1]) {
      const host = next - 1;
      if (hosts.ended[host] === 1) continue;
      if (hosts.isStale(host)) hosts.count(host, this.#wasProbed(row, host));
      let [best, bestBin] = [0, -1];
      for (let bin = 0; bin < BINS; bin++) {
        if (hosts.counts[host * BINS + bin] === 0) continue;
        const rate = hostRates.rate(this.rateRow(row, host, bin));
        if (rate > best) [best, bestBin] = [rate, bin];
      }
      if (bestBin < 0 || best < lowest) continue;
      const count = Math.min(MAX_HOST_PORTS, hosts.counts[host * BINS + bestBin]);
      this.#add(best, count, 0, bestBin, next);
    }
  }

  /**
   * Writes the ports of a host in a bin of distance that were not probed; returns their number,
   * which may be lower than its candidate says: slices have contained ports since they were counted.
   */
  unprobed(row: number, host: number, bin: number, ports: Uint16Array): number {
    return this.counters.hosts.unprobed(host, bin, this.#wasProbed(row, host), ports);
  }

  /** Whether slices have contained a port of a host. */
  #wasProbed(row: number, host: number): (port: number) => boolean {
    const { hot, hosts, order } = this.counters;
    const [network, octet] = [hot.networks[row], hosts.addresses[host] & 255];
    return (port) => order.rank(network, port, octet) < hot.probedRanks(row, port);
  }

  /** The row of rates of a host in a bin of distance. */
  rateRow(row: number, host: number, bin: number): number {
    const { hot, hosts } = this.counters;
    return hostRow(hosts.others[host], hosts.hasDefault(host), bin, hot.others[row]);
  }
}

/** Whether a port of a host may be part of a planned slice. */
export function isOpenToSlices(hosts: Hosts, host: number, port: number): boolean {
  return hosts.ended[host] === 0 && hosts.state(host, port) === HostPortState.unprobed;
}
