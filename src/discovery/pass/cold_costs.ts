/**
 * The probes that a score pays for in cold /24s.
 *
 * @module
 */
import { levelBelow, LEVELS } from "./water_level.ts";

/**
 * Sums of costs by level. The score of a /20 is num / den. After x probes without a find it is
 * num / (den + x), which reaches the score y at x = num / y - den. So the cost of a /20 is 0 while
 * y is at least num / den, then num / y - den, and from y = num / (den + most) on it is the maximum
 * number of probes. The sum over all /20s is N / y - D + M, where N and D are the sums over /20s of
 * the middle kind, and M is that over the last kind.
 */
export class ColdCosts {
  readonly #numerators = new Float64Array(LEVELS + 1);
  readonly #divisors = new Float64Array(LEVELS + 1);
  readonly #most = new Float64Array(LEVELS + 1);

  /** Adds a /20 of which some probes are not yet chosen. */
  add(numerator: number, divisor: number, most: number): void {
    const start = levelBelow(numerator / divisor);
    const end = levelBelow(numerator / (divisor + most));
    this.#numerators[start] += numerator;
    this.#divisors[start] += divisor;
    this.#numerators[end] -= numerator;
    this.#divisors[end] -= divisor;
    this.#most[end] += most;
  }

  /** Replaces what was added at each level by the sums from there on. Afterwards nothing is added. */
  accumulate(): void {
    for (const sums of [this.#numerators, this.#divisors, this.#most]) {
      for (let level = LEVELS - 1; level >= 0; level--) sums[level] += sums[level + 1];
    }
  }

  /** The probes that a score pays for. */
  at(score: number): number {
    // a score counts from the level above on, so that no cost is negative
    const level = levelBelow(score) + 1;
    return this.#numerators[level] / score - this.#divisors[level] + this.#most[level];
  }
}
