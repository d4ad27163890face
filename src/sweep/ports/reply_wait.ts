/**
 * The time for replies to SYN packets, by the round trips that are measured.
 *
 * @module
 */
import type { PortWait } from "../../net/mod.ts";

/** Minimum of the time, milliseconds. */
const MIN_MS = 500;
/** Width of a bucket of round trips, milliseconds. */
const BUCKET_MS = 10;
/** Number of round trips between two computations of the time. */
const SAMPLES = 1000;
/** The share of round trips in the time's quantile. */
const QUANTILE = 0.999;
/** The time, in round trips of that quantile. */
const ROUND_TRIPS = 3;

/**
 * A time that becomes shorter where all replies are fast: three times the 99.9th percentile of the
 * round trips, 500 ms at least. Until 1,000 round trips were measured it has its maximum.
 */
export class ReplyWait implements PortWait {
  #ms: number;
  #samples = 0;
  /** Numbers of round trips; the last bucket has all longer ones. */
  readonly #buckets: Uint32Array;

  /** @param most The maximum of the time, milliseconds. */
  constructor(private readonly most: number) {
    this.#ms = most;
    this.#buckets = new Uint32Array(Math.ceil(most / ROUND_TRIPS / BUCKET_MS) + 1);
  }

  get ms(): number {
    return this.#ms;
  }

  /** Adds a round trip, milliseconds. */
  readonly add = (ms: number): void => {
    const last = this.#buckets.length - 1;
    this.#buckets[Math.min(last, Math.floor(ms / BUCKET_MS))]++;
    if (++this.#samples % SAMPLES === 0) this.#compute();
  };

  #compute(): void {
    let rest = Math.ceil(QUANTILE * this.#samples);
    const bucket = this.#buckets.findIndex((count) => (rest -= count) <= 0);
    const enough = ROUND_TRIPS * (bucket + 1) * BUCKET_MS;
    this.#ms = Math.min(this.most, Math.max(MIN_MS, enough));
  }
}
