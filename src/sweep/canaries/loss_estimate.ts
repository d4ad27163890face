/**
 * How many answers are lost on their way, as those tell that were asked again; and how many servers
 * a scan has missed by that.
 *
 * @module
 */
import { clopperPearson, type Interval } from "./confidence_interval.ts";

/** Questions that make a batch: by how much batches differ shows how much they are worth. */
const BATCH = 50;
/** Fewer batches say nothing about that. */
const LEAST_BATCHES = 10;

/** Outcomes of probing responders again. */
export interface CanaryCounts {
  /** Probes with a known outcome. */
  sent: number;
  /** Those without a reply. */
  lost: number;
  /** Servers that stopped replying for good; `lost` does not count probes to them. */
  stopped: number;
  /** Batches of 50 probes in a row. */
  batches: number;
  /** Lost probes of all batches. */
  batchLost: number;
  /** Sum of the squared numbers of lost probes per batch. */
  batchSquares: number;
}

/** No canary was probed yet. */
export function noCanaries(): CanaryCounts {
  return { sent: 0, lost: 0, stopped: 0, batches: 0, batchLost: 0, batchSquares: 0 };
}

/** Counts outcomes. */
export class LossTally {
  /** Of the batch that is not full. */
  #asked = 0;
  #lost = 0;

  /** @param counts Where it counts. */
  constructor(readonly counts: CanaryCounts) {}

  /** Books the outcome of one question. */
  book(lost: boolean): void {
    const { counts } = this;
    counts.sent++;
    if (lost) counts.lost++;
    this.#asked++;
    if (lost) this.#lost++;
    if (this.#asked < BATCH) return;
    counts.batches++;
    counts.batchLost += this.#lost;
    counts.batchSquares += this.#lost ** 2;
    this.#asked = this.#lost = 0;
  }
}

/** The loss of a path, there and back, as shares. */
export interface LossEstimate extends Interval {
  /** The share that was lost. */
  readonly share: number;
}

/**
 * The share of answers that are lost, with its interval of 95 %; `undefined` where none was asked.
 *
 * Losses that come in bursts tell less than as many that come alone. Where batches differ by more
 * than chance has them differ, the sample counts as so much smaller: its variance over that of
 * independent losses (Pearson's statistic over its degrees of freedom, as for quasi-binomial data).
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
 * How many servers a scan has missed. Each of them stayed silent in all passes: with a share p lost
 * and k passes that is the lot of p^k of all, and `found` are the others.
 *
 * @param passes How often each was asked.
 */
export function missedServers(found: number, share: number, passes: number): number {
  const silent = share ** passes;
  return silent >= 1 ? Infinity : found * silent / (1 - silent);
}
