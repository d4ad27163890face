/**
 * Estimates how many replies are lost on the network, and how many servers a scan has missed for that
 * reason. Two observations show the loss: the outcomes of canary probes, and the servers that only
 * the second pass of a protocol found.
 *
 * @module
 */
import { clopperPearson, type Interval } from "./confidence_interval.ts";

/** Canary probes per batch. The variance between batches shows whether losses come in bursts. */
const BATCH = 50;
/** Minimum number of batches for an estimate of that variance. */
const MIN_BATCHES = 10;

/** What a scan has observed about packet loss. */
export interface CanaryCounts {
  /** Number of canary probes with a known outcome. */
  sent: number;
  /** Number of canary probes without a reply. */
  lost: number;
  /**
   * Number of servers that stopped replying for good; `lost` does not count the probes to them.
   */
  stopped: number;
  /** Number of complete batches of 50 probes in a row. */
  batches: number;
  /** Number of lost probes in all complete batches. */
  batchLost: number;
  /** Sum of the squared numbers of lost probes per batch. */
  batchSquares: number;
  /**
   * Number of servers that replied to a probe of the first pass of their protocol. Protocols whose replies
   * do not repeat the send time do not count.
   */
  firstFound: number;
  /** Number of servers that replied first to a probe of the second pass, in the same protocols. */
  secondFound: number;
}

/** The counters of a scan without observations. */
export function noCanaries(): CanaryCounts {
  const canaries = { sent: 0, lost: 0, stopped: 0, batches: 0, batchLost: 0, batchSquares: 0 };
  return { ...canaries, firstFound: 0, secondFound: 0 };
}

/** Counts the outcomes of canary probes. */
export class LossTally {
  /** Number of probes and of lost probes in the incomplete batch. */
  #sent = 0;
  #lost = 0;

  /** @param counts The counters to increment. */
  constructor(readonly counts: CanaryCounts) {}

  /** Counts the outcome of one canary probe. */
  count(lost: boolean): void {
    const { counts } = this;
    counts.sent++;
    if (lost) counts.lost++;
    this.#sent++;
    if (lost) this.#lost++;
    if (this.#sent < BATCH) return;
    counts.batches++;
    counts.batchLost += this.#lost;
    counts.batchSquares += this.#lost ** 2;
    this.#sent = this.#lost = 0;
  }
}

/** The estimated loss of a round trip, with its confidence interval. */
export interface LossEstimate extends Interval {
  /** The lost proportion, 0 to 1. */
  readonly share: number;
}

/** An estimate whose interval is longer than this has no use. */
const LONGEST_INTERVAL = 0.5;
/**
 * Two intervals that share less than this part of the shorter one show that the loss has changed. At
 * constant loss this happens in about 2 of 100 scans.
 */
const MIN_SHARED = 1 / 4;

/**
 * Estimates the lost proportion p, with a confidence interval of at least 95 %; `undefined` if the
 * observations are too few: the interval would be longer than 0.5.
 *
 * Of `sent` canary probes, each is lost with probability p. A server that one of the first two passes
 * found was found by the second one with probability p (1 - p) / (1 - p²) = p / (1 + p). The estimate
 * maximises the likelihood of both observations,
 *
 *     p^(lost + second) · (1 - p)^(sent - lost) · (1 + p)^-(first + second).
 *
 * Each observation alone has a Clopper-Pearson interval; with two of them, each has a confidence of
 * 97.5 %, and the interval of both is the part that they share. If the loss changes, for example
 * because a queue is full for a time, they differ: then the interval contains both.
 *
 * Losses in bursts carry less information than independent losses. The losses of batches then vary
 * more than independent losses would. In that case the effective sample sizes are divided by the
 * ratio of the two variances (Pearson's statistic over its degrees of freedom, as for quasi-binomial
 * data).
 */
export function estimateLoss(counts: CanaryCounts): LossEstimate | undefined {
  const { sent, lost, firstFound, secondFound } = counts;
  const found = firstFound + secondFound;
  if (sent + found === 0) return undefined;
  const excess = Math.max(1, dispersion(counts));
  const confidence = sent > 0 && found > 0 ? 0.975 : 0.95;
  const ofCanaries = sent > 0
    ? clopperPearson(lost / excess, sent / excess, confidence)
    : { low: 0, high: 1 };
  const ofPasses = found > 0
    ? clopperPearson(secondFound / excess, found / excess, confidence)
    : { low: 0, high: 1 };
  // The share s = p / (1 + p) of the second pass means p = s / (1 - s).
  const both = [ofCanaries, { low: odds(ofPasses.low), high: odds(ofPasses.high) }];
  const { low, high } = joined(both);
  if (high - low > LONGEST_INTERVAL) return undefined;
  const share = likeliest(lost + secondFound, sent - lost, found);
  return { share: Math.min(high, Math.max(low, share)), low, high };
}

/**
 * The part that two intervals share. If they share hardly anything, the loss was not the same for both
 * observations; the result then contains both intervals.
 */
function joined(both: readonly Interval[]): Interval {
  const [lows, highs] = [both.map(({ low }) => low), both.map(({ high }) => high)];
  const [low, high] = [Math.max(...lows), Math.min(...highs)];
  const shorter = Math.min(...both.map((one) => one.high - one.low));
  return high - low >= MIN_SHARED * shorter
    ? { low, high }
    : { low: Math.min(...lows), high: Math.max(...highs) };
}

/** The proportion p of which a share is p / (1 + p); at most 1. */
function odds(share: number): number {
  return share >= 0.5 ? 1 : share / (1 - share);
}

/** The p from 0 to 1 that maximises p^a · (1 - p)^b · (1 + p)^-n. */
function likeliest(a: number, b: number, n: number): number {
  // The derivative of the logarithm is 0 where (n - a - b) p² - (n + b) p + a = 0.
  const [square, linear] = [n - a - b, n + b];
  if (a === 0) return 0;
  return Math.min(1, 2 * a / (linear + Math.sqrt(Math.max(0, linear ** 2 - 4 * square * a))));
}

function dispersion({ batches, batchLost, batchSquares }: CanaryCounts): number {
  if (batches < MIN_BATCHES || batchLost === 0 || batchLost === batches * BATCH) return 1;
  const mean = batchLost / batches;
  const variance = (batchSquares - batches * mean ** 2) / (batches - 1);
  return variance / (mean * (1 - mean / BATCH));
}

/**
 * Estimates how many servers a scan has missed. A server is missed when all its probes are lost:
 * with loss p and k passes, this happens to the proportion p^k of all servers. `found` is the
 * number of servers that were not missed.
 *
 * @param passes Number of probes to each server.
 */
export function missedServers(found: number, share: number, passes: number): number {
  const missed = share ** passes;
  return missed >= 1 ? Infinity : found * missed / (1 - missed);
}

/**
 * The numbers of servers that a scan may have missed, with a confidence of at least 95 %. With loss
 * p, the number of missed servers has a negative binomial distribution: each server is missed with
 * probability p^k, until `found` are not missed.
 *
 * @param loss The confidence interval of the loss.
 * @param passes Number of probes to each server.
 */
export function missedRange(found: number, loss: Interval, passes: number): Interval {
  return {
    low: missedQuantile(found, loss.low ** passes, -1),
    high: missedQuantile(found, loss.high ** passes, 1),
  };
}

/** Probability of each tail, and the deviation of a normal distribution that has it. */
const TAIL = 0.025;
const TAIL_DEVIATION = 1.96;
/** Number of expected misses from which on their distribution counts as normal. */
const MANY = 100;

/** The 2.5 % quantile (`side` -1) or the 97.5 % quantile (`side` 1) of the number of misses. */
function missedQuantile(found: number, missed: number, side: -1 | 1): number {
  if (missed >= 1) return Infinity;
  const mean = found * missed / (1 - missed);
  if (mean > MANY) {
    return Math.max(0, mean + side * TAIL_DEVIATION * Math.sqrt(mean / (1 - missed)));
  }
  let probability = (1 - missed) ** found;
  let sum = probability;
  let count = 0;
  for (; sum < (side < 0 ? TAIL : 1 - TAIL) && count < 4 * MANY; sum += probability) {
    count++;
    probability *= (found + count - 1) / count * missed;
  }
  return count;
}
