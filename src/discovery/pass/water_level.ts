/**
 * The water level of a pass: the expected servers per probe above which probes are chosen.
 *
 * Levels are the values whose bits, as a float of 32 bits, are a multiple of 2^15: 256 levels for
 * each power of two. Bits of positive floats sort as the floats do, so no logarithm is needed.
 *
 * @module
 */

const FLOAT = new Float32Array(1);
const BITS = new Uint32Array(FLOAT.buffer);
/** Bits of a float below a level's. */
const SHIFT = 15;
/** The bits of the lowest level, 2^-44, and of the end, 2, without the lower bits. */
const LOWEST = 83 << 23 - SHIFT;
const END = 128 << 23 - SHIFT;

/** The bits of a positive number as a float of 32 bits. */
export function bitsOf(value: number): number {
  FLOAT[0] = value;
  return BITS[0];
}

export function floatOf(bits: number): number {
  BITS[0] = bits;
  return FLOAT[0];
}

/** Number of levels for each power of two. */
export const LEVELS_OF_OCTAVE = 2 ** (23 - SHIFT);
/** Number of levels. */
export const LEVELS = END - LOWEST;

/** The highest level that is not above a score. */
export function levelBelow(score: number): number {
  return Math.max(0, Math.min(LEVELS - 1, (bitsOf(score) >>> SHIFT) - LOWEST));
}

export function scoreOf(level: number): number {
  return floatOf(level + LOWEST << SHIFT);
}

/** Probes of candidates by the level of their scores. */
export class CostsByLevel {
  readonly #costs = new Float64Array(LEVELS + 1);

  /** Adds candidates, whose scores are floats of 32 bits. */
  addAll(bitsOfScores: Uint32Array, probes: Uint16Array, length: number): void {
    for (let i = 0; i < length; i++) this.add(bitsOfScores[i], probes[i]);
  }

  /** Adds a candidate with the bits of its score. */
  add(bitsOfScore: number, probes: number): void {
    const level = (bitsOfScore >>> SHIFT) - LOWEST;
    this.#costs[level < 0 ? 0 : level < LEVELS ? level : LEVELS - 1] += probes;
  }

  /** The probes at or above each level. */
  cumulative(): Float64Array {
    const sums = this.#costs.slice();
    for (let level = LEVELS - 1; level >= 0; level--) sums[level] += sums[level + 1];
    return sums;
  }
}

/**
 * The lowest level at or above which the probes are within a budget: bisection.
 *
 * @param probes The probes at or above a level, which decrease with the level.
 */
export function waterLevel(budget: number, probes: (level: number) => number): number {
  let low = 0;
  // levels from `high` on are within the budget, and those below `low` are not
  let high = LEVELS;
  while (low < high) {
    const middle = low + high >>> 1;
    if (probes(middle) <= budget) high = middle;
    else low = middle + 1;
  }
  return high;
}
