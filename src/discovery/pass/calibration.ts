/**
 * Calibration of the scores of cold networks by what was found.
 *
 * @module
 */
import { bitsOf, floatOf } from "./water_level.ts";

/** The exponent of 2^-63 in a float of 32 bits; a class of scores for each power of two from there. */
const FIRST_EXPONENT = 64;
const CLASSES = 64;
/** Prior of the ratio of found to expected servers, in servers. */
const PRIOR = 3;
/** What remains of a pass's weight after the next. */
const MEMORY = 0.95;

/**
 * The relation between scores and what they come to. Scores are too far apart: high ones promise too
 * much, low ones too little. For each power of two, the score in the middle is multiplied by
 * (found + 3) / (expected + 3). The products are made ascending. Between them, the bits of the
 * floats are interpolated, so the relation is nearly straight in logarithms.
 */
export class Calibration {
  readonly #found = new Float64Array(CLASSES);
  readonly #expected = new Float64Array(CLASSES);

  /** Counts the servers that probes of a score found, and those that were expected. */
  add(score: number, found: number, expected: number): void {
    const index = classOf(score);
    this.#found[index] += found;
    this.#expected[index] += expected;
  }

  /** Ends a pass. */
  age(): void {
    for (let i = 0; i < CLASSES; i++) {
      this.#found[i] *= MEMORY;
      this.#expected[i] *= MEMORY;
    }
  }

  /** The score that comes to a number of servers per probe. */
  inverse(value: number): number {
    const bits = bitsOf(value);
    let before = this.#calibrated(0);
    if (bits <= before) return floatOf(Math.max(1, middle(0) + bits - before));
    for (let i = 1; i < CLASSES; i++) {
      const next = Math.max(before + 1, this.#calibrated(i));
      if (bits <= next) {
        const share = (bits - before) / (next - before);
        return floatOf(Math.round(middle(i - 1) + share * (middle(i) - middle(i - 1))));
      }
      before = next;
    }
    return floatOf(middle(CLASSES - 1) + bits - before);
  }

  /** The bits of what the middle of a class comes to. */
  #calibrated(index: number): number {
    const ratio = (this.#found[index] + PRIOR) / (this.#expected[index] + PRIOR);
    return bitsOf(floatOf(middle(index)) * ratio);
  }
}

/** The bits of the middle of a class, 1.5 times a power of two. */
function middle(index: number): number {
  return (FIRST_EXPONENT + index << 23) + (1 << 22);
}

function classOf(score: number): number {
  return Math.max(0, Math.min(CLASSES - 1, (bitsOf(score) >>> 23) - FIRST_EXPONENT));
}
