/**
 * The part of a pass in hot /24s: which candidates are chosen, within the caps.
 *
 * @module
 */
import { type Candidates, type HotCounters, isOpenToSlices, MAX_HOST_PORTS } from "./candidates.ts";
import { HostPortState } from "../counters/hosts.ts";
import { ALL_RANKS, SLICE } from "../counters/hot_networks.ts";
import { SliceList } from "./slice_list.ts";
import { grown } from "../counters/slots.ts";
import type { CostsByLevel } from "./water_level.ts";
import type { Universe } from "../counters/universe.ts";

export interface PassLimits {
  /** Maximum number of probes of the pass to one /24. */
  readonly perNetwork: number;
  /** Maximum number of probes of the pass to one host. */
  readonly perHost: number;
  /** Maximum number of probes of all passes to one /24. */
  readonly netBudget: number;
}

/** Which candidates are chosen. */
export interface Choice {
  /** Candidates with this score or a higher one are chosen. */
  readonly level: number;
  /** Of the candidates from this score up to the level, a random share is chosen. */
  readonly tieLevel: number;
  /** That random share, 0 to 1. */
  readonly share: number;
  /** Share of probes without a reply although the server is up. */
  readonly loss: number;
  /** Maximum number of probes. */
  readonly budget: number;
}

/** The chosen slices and ports of hosts. */
export class HotPass {
  /** The slices, by row of the /24. */
  readonly slices = new SliceList();
  /** The hosts, and the index of the first port of each. */
  hosts = new Uint32Array(0);
  starts = new Uint32Array(0);
  /** The row of rates of each host. */
  rateRows = new Uint8Array(0);
  /** The indexes of the ports of the hosts, one after the other. */
  hostPorts = new Uint16Array(0);
  hostCount = 0;
  /** Number of ports of hosts. */
  hostProbes = 0;
  /** For each port, the slices that are chosen in the present /24; for the default port, ranks. */
  readonly #chosen: Uint16Array;
  #indexes = new Uint32Array(0);
  readonly #bits = new Uint32Array(8);
  readonly #found = new Uint16Array(MAX_HOST_PORTS);

  constructor(
    private readonly counters: HotCounters,
    private readonly candidates: Candidates,
    private readonly universe: Universe,
    portCount: number,
  ) {
    this.#chosen = new Uint16Array(portCount);
  }

  /** Removes everything that was chosen. */
  clear(): void {
    for (let i = 0; i < this.hostCount; i++) {
      for (let at = this.starts[i]; at < this.endOf(i); at++) {
        this.counters.hosts.setState(this.hosts[i], this.hostPorts[at], HostPortState.unprobed);
      }
    }
    this.slices.clear();
    this.hostCount = this.hostProbes = 0;
  }

  /** The index after the last port of a host. */
  endOf(i: number): number {
    return i + 1 < this.hostCount ? this.starts[i + 1] : this.hostProbes;
  }

  /** Adds the probes of all candidates to sums by level, except those that do not fit in the caps. */
  addCosts(costs: CostsByLevel, lowest: number, loss: number, caps: PassLimits): void {
    const { hot } = this.counters;
    const { candidates } = this;
    for (let row = 0; row < hot.length; row++) {
      const most = this.#most(row, caps);
      if (most <= 0) continue;
      candidates.collect(row, lowest, loss);
      if (candidates.total <= most) {
        costs.addAll(candidates.bits, candidates.costs, candidates.length);
        continue;
      }
      const count = this.#above(row, { level: 0, share: 0 });
      heapify(this.#indexes, count, candidates.scores);
      for (let n = 0, left = most; n < count && left > 0; n++) {
        const i = popHighest(this.#indexes, count - n, candidates.scores);
        costs.add(candidates.bits[i], Math.min(left, candidates.costs[i]));
        left -= candidates.costs[i];
      }
    }
  }

  /** Maximum number of probes of the pass to a /24. */
  #most(row: number, { perNetwork, netBudget }: PassLimits): number {
    const { ended, spent } = this.counters.hot;
    return ended[row] === 1 ? 0 : Math.min(perNetwork, netBudget - spent[row]);
  }

  /**
   * Chooses candidates of all /24s.
   *
   * @returns The number of probes.
   */
  choose(choice: Choice, caps: PassLimits): number {
    this.clear();
    const { hot } = this.counters;
    let left = choice.budget;
    for (let row = 0; row < hot.length && left > 0; row++) {
      const most = Math.min(left, this.#most(row, caps));
      if (most <= 0) continue;
      this.candidates.collect(row, choice.tieLevel, choice.loss);
      const count = this.#above(row, choice);
      if (count > 0) left -= this.#chooseIn(row, count, most, caps.perHost);
    }
    return choice.budget - left;
  }

  /** Writes the indexes of the candidates that the choice contains; returns their number. */
  #above(row: number, { level, share }: Pick<Choice, "level" | "share">): number {
    const { scores, ports, slices, hosts, length } = this.candidates;
    const { order, hot } = this.counters;
    if (this.#indexes.length < length) this.#indexes = new Uint32Array(length + SLICE);
    let count = 0;
    for (let i = 0; i < length; i++) {
      if (scores[i] < level) {
        const what = hosts[i] === 0 ? ports[i] * 8 + slices[i] : ~hosts[i];
        if (order.hash(hot.networks[row], what) >= share * 2 ** 32) continue;
      }
      this.#indexes[count++] = i;
    }
    return count;
  }

  /** Chooses candidates of one /24 while they fit in the caps. */
  #chooseIn(row: number, count: number, most: number, perHost: number): number {
    const { costs, ports, slices, hosts } = this.candidates;
    const chosen = this.#chosen;
    chosen.fill(0);
    let [left, portsUsed, mostOfHost] = [most, 0, 0];
    const isOrdered = this.#mayExceed(count, most, perHost);
    if (isOrdered) heapify(this.#indexes, count, this.candidates.scores);
    for (let n = 0; n < count && left > 0; n++) {
      const i = isOrdered
        ? popHighest(this.#indexes, count - n, this.candidates.scores)
        : this.#indexes[n];
      if (hosts[i] !== 0) {
        const limit = Math.min(costs[i], left, perHost - portsUsed);
        if (limit <= 0) continue;
        left -= this.#addHost(row, hosts[i] - 1, slices[i], limit);
        mostOfHost = Math.max(mostOfHost, limit);
        continue;
      }
      const port = ports[i];
      const isNew = chosen[port] === 0;
      // a slice of another port may contain every host, so each port counts for every host
      if (isNew && portsUsed + 1 + mostOfHost > perHost) continue;
      const ranks = Math.min(costs[i], port === 0 ? left : left - left % SLICE);
      if (ranks === 0 || chosen[port] !== slices[i] * SLICE) continue;
      if (isNew) portsUsed++;
      chosen[port] += ranks;
      left -= ranks;
    }
    return most - left - this.#addSlices(row);
  }

  /** Whether candidates may not all fit in the caps, so that the best have to come first. */
  #mayExceed(count: number, most: number, perHost: number): boolean {
    const { costs } = this.candidates;
    let sum = 0;
    for (let n = 0; n < count; n++) sum += costs[this.#indexes[n]];
    return sum > most || count + MAX_HOST_PORTS > perHost;
  }

  /** Adds ports of a host; returns their number. */
  #addHost(row: number, host: number, bin: number, limit: number): number {
    const { hosts } = this.counters;
    const count = Math.min(limit, this.candidates.unprobed(row, host, bin, this.#found));
    if (count === 0) return 0;
    const i = this.hostCount++;
    this.hosts = grown(this.hosts, i + 1);
    this.starts = grown(this.starts, i + 1);
    this.rateRows = grown(this.rateRows, i + 1);
    this.hostPorts = grown(this.hostPorts, this.hostProbes + count);
    this.hosts[i] = host;
    this.starts[i] = this.hostProbes;
    this.rateRows[i] = this.candidates.rateRow(row, host, bin);
    for (let at = 0; at < count; at++) {
      hosts.setState(host, this.#found[at], HostPortState.planned);
      this.hostPorts[this.hostProbes++] = this.#found[at];
    }
    return count;
  }

  /**
   * Adds the chosen slices of a /24.
   *
   * @returns The number of addresses in them that are not probed.
   */
  #addSlices(row: number): number {
    const { hot } = this.counters;
    let skipped = 0;
    if (hot.members[row] < ALL_RANKS) this.universe.membersOf(hot.networks[row], this.#bits);
    else this.#bits.fill(0xffffffff);
    for (let port = 0; port < this.#chosen.length; port++) {
      const ranks = this.#chosen[port];
      if (ranks === 0) continue;
      const first = port === 0 ? hot.tried[row] : hot.slices(row, port) * SLICE;
      for (let from = 0; from < ranks; from += SLICE) {
        const length = Math.min(SLICE, ranks - from);
        skipped += length - this.#addSlice(row, port, first + from & 255, length);
      }
    }
    return skipped;
  }

  /** Adds a slice without the addresses that are not targets, and the hosts' own ports. */
  #addSlice(row: number, port: number, from: number, length: number): number {
    const { hot, hosts, order } = this.counters;
    const network = hot.networks[row];
    let low = length >= 32 ? 0xffffffff : 2 ** length - 1;
    let high = length > 32 ? 2 ** (length - 32) - 1 : 0;
    if (hot.members[row] < ALL_RANKS) {
      for (let i = 0; i < length; i++) {
        const octet = order.octet(network, port, from + i);
        if ((this.#bits[octet >> 5] >>> (octet & 31) & 1) === 1) continue;
        if (i < 32) low &= ~(1 << i);
        else high &= ~(1 << i - 32);
      }
    }
    for (let next = hot.firstHost[row]; next !== 0; next = hosts.next[next - 1]) {
      const host = next - 1;
      const i = order.rank(network, port, hosts.addresses[host] & 255) - from;
      if (i < 0 || i >= length || isOpenToSlices(hosts, host, port)) continue;
      if (i < 32) low &= ~(1 << i);
      else high &= ~(1 << i - 32);
    }
    return this.slices.add(row, port, from, length, low >>> 0, high >>> 0);
  }
}

/** Arranges indexes as a heap: each has a score not below those of its two successors. */
function heapify(indexes: Uint32Array, length: number, scores: Float32Array): void {
  for (let i = (length >> 1) - 1; i >= 0; i--) sink(indexes, i, length, scores);
}

/** Takes the index with the highest score, of equal ones the lowest, out of a heap. */
function popHighest(indexes: Uint32Array, length: number, scores: Float32Array): number {
  const highest = indexes[0];
  indexes[0] = indexes[length - 1];
  sink(indexes, 0, length - 1, scores);
  return highest;
}

/** Moves an index down until the heap is one again. */
function sink(indexes: Uint32Array, at: number, length: number, scores: Float32Array): void {
  const moved = indexes[at];
  for (let child = 2 * at + 1; child < length; child = 2 * at + 1) {
    if (child + 1 < length && isBefore(indexes[child + 1], indexes[child], scores)) child++;
    if (!isBefore(indexes[child], moved, scores)) break;
    indexes[at] = indexes[child];
    at = child;
  }
  indexes[at] = moved;
}

function isBefore(a: number, b: number, scores: Float32Array): boolean {
  return scores[a] > scores[b] || scores[a] === scores[b] && a < b;
}
