/**
 * Estimates from the outcomes of canary probes how many replies are lost on the network, and how many
 * servers a scan has missed for that reason.
 *
 * @module
 */
import { clopperPearson, type Interval } from "./confidence_interval.ts";

/** Canary probes per batch. The variance between batches shows whether losses come in bursts. */
const BATCH = 50;
/** Minimum number of batches for an estimate of that variance. */
const LEAST_BATCHES = 10;

/** Counted outcomes of canary probes. */
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
}

/** The counters of a scan without canary probes. */
export function noCanaries(): CanaryCounts {
  return { sent: 0, lost: 0, stopped: 0, batches: 0, batchLost: 0, batchSquares: 0 };
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

/**
 * Estimates the lost proportion, with a 95 % confidence interval; `undefined` without canary probes.
 *
 * Losses in bursts carry less information than independent losses. The losses of batches then vary
 * more than independent losses would. In that case the effective sample size is divided by the ratio
 * of the two variances (Pearson's statistic over its degrees of freedom, as for quasi-binomial
 * data).
 */
export function estimateLoss(counts: CanaryCounts): LossEstimate | undefined {
  const { sent, lost } = counts;
  if (sent === 0) return undefined;
  const excess = Math.max(1, dispersion(counts));
  return { share: lost / sent, ...clopperPearson(lost / excess, sent / excess) };
}

function dispersion({ batches, batchLost, batchSquares }: CanaryCounts): number {
  if (batches < LEAST_BATCHES || batchLost === 0 || batchLost === batches * BATCH) return 1;
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
