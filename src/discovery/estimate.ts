/**
 * The estimated number of servers on the default port.
 *
 * @module
 */
import type { Estimate } from "./contract.ts";
import { ALL_RANKS } from "./counters/hot_networks.ts";
import type { Planner } from "./planner.ts";

/** Quantile of the normal distribution for an interval of 95 %. */
const QUANTILE = 1.96;

/**
 * Estimates the servers on the default port from the ranks that were probed in every /24.
 *
 * The first L of the 256 ranks of each /24 are a random sample of its addresses, whichever unit
 * probed them. So each server among them stands for 256 / L (Horvitz and Thompson's estimator). A
 * /12 that is not sampled further has its own L; with L = 0, only its found servers are counted. A
 * server whose probe was lost is not found: each server that was found stands for 1 / (1 - loss),
 * and each of h servers whose /24 was probed twice for 1 / (1 - loss^h), because such a /24 is
 * missed only if the probes of all h were lost.
 *
 * Ranks of different /24s are independent. Those of one /24 are not: they are evenly spaced. So the
 * variance is summed by /24: with c servers in the sample, (1 - L / 256) (256 c / L)^2.
 *
 * The interval begins at that of an estimate without loss.
 *
 * @param loss Share of probes without a reply although the server is up.
 * @returns `undefined` before one address of every /24 was probed.
 */
export function estimate(planner: Planner, loss: number): Estimate | undefined {
  const poor = planner.cold.poor();
  const tried = triedRanks(planner);
  const all = sampledRanks(tried, poor);
  if (all === 0) return undefined;
  const ranks = new Uint16Array(tried.length).fill(all);
  for (const { from, to } of poor) ranks.fill(lowest(tried, from, to), from, to);
  const { found, total, variance } = sums(planner, ranks, loss);
  const [, high] = interval(total, variance, all);
  // the loss may be smaller than measured, or than assumed before it is
  const least = sums(planner, ranks, 0);
  const [low] = interval(least.total, least.variance, all);
  return {
    found,
    total: Math.round(Math.max(found, total)),
    low: Math.floor(Math.max(found, low)),
    high: Math.ceil(Math.max(found, total, high)),
    skipped: poor.filter(({ from }) => ranks[from] === 0)
      .map(({ from }) => Math.floor(planner.universe.blocks[from] / 256) * 2 ** 20),
  };
}

/** For each /20, the ranks of the default port that were probed in all of its /24s. */
function triedRanks({ cold, hot, universe }: Planner): Uint16Array {
  const tried = cold.tried.map((ranks, block) => cold.members[block] > 0 ? ranks : ALL_RANKS);
  for (let row = 0; row < hot.length; row++) {
    const block = universe.indexOf(hot.networks[row] >>> 4);
    if (hot.ended[row] === 0) tried[block] = Math.min(tried[block], hot.probedRanks(row, 0));
  }
  return tried;
}

/** The ranks that were probed in all /20s outside of poor /12s. */
function sampledRanks(tried: Uint16Array, poor: readonly { from: number; to: number }[]): number {
  let [ranks, from] = [ALL_RANKS, 0];
  for (const range of [...poor, { from: tried.length, to: 0 }]) {
    ranks = Math.min(ranks, lowest(tried, from, range.from));
    from = range.to;
  }
  return ranks;
}

/** The ranks that were probed in all of consecutive /20s. */
function lowest(tried: Uint16Array, from: number, to: number): number {
  let ranks = ALL_RANKS;
  for (let block = from; block < to; block++) ranks = Math.min(ranks, tried[block]);
  return ranks;
}

/** The servers found, and the estimated number with its variance. */
function sums({ hot, hosts, order, universe }: Planner, ranks: Uint16Array, loss: number) {
  let [found, total, variance] = [0, 0, 0];
  for (let row = 0; row < hot.length; row++) {
    found += hot.finds[row];
    const sampled = ranks[universe.indexOf(hot.networks[row] >>> 4)];
    let count = 0;
    for (let next = hot.firstHost[row]; next !== 0; next = hosts.next[next - 1]) {
      if (!hosts.hasDefault(next - 1)) continue;
      const rank = order.rank(hot.networks[row], 0, hosts.addresses[next - 1] & 255);
      if (rank < sampled) count++;
    }
    // servers in a /12 without a sample stand for themselves
    if (sampled === 0) total += hot.finds[row];
    if (count === 0) continue;
    let lost = loss;
    for (let i = 1; i < hot.finds[row] && hot.tried[row] === 2 * ALL_RANKS; i++) lost *= loss;
    const value = count * ALL_RANKS / sampled / (1 - lost);
    total += value;
    variance += (1 - sampled / ALL_RANKS) * value * value;
  }
  return { found, total, variance };
}

/**
 * An interval of 95 %. The total is treated as a multiple of a count with a Poisson distribution,
 * n = total^2 / variance: its score interval is n + z^2 / 2 ± z sqrt(n + z^2 / 4).
 */
function interval(total: number, variance: number, ranks: number): [low: number, high: number] {
  const scale = total === 0 ? ALL_RANKS / ranks - 1 : variance / total;
  if (scale === 0) return [total, total];
  const count = total / scale;
  const middle = count + QUANTILE ** 2 / 2;
  const half = QUANTILE * Math.sqrt(count + QUANTILE ** 2 / 4);
  return [scale * (middle - half), scale * (middle + half)];
}
