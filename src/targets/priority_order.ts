/**
 * The visiting order of a target space with chosen endpoints first. In this file, an index is
 * the position of an endpoint in the unshuffled space, and a number is the position of an index in the
 * order.
 *
 * @module
 */

/** The numbering of indexes before the chosen indexes are moved to its start. */
export interface Numbering {
  /** Number of valid numbers: 0 … `size` - 1. */
  readonly size: number;
  /** The index of a valid number. */
  readonly at: (number: number) => number;
  /** The number of an index; `size` or more: the index has no valid number. */
  readonly numberOf: (index: number) => number;
}

/**
 * Gives the numbers 0 ... k - 1 to k chosen indexes. The indexes that had these numbers get the
 * former numbers of the chosen indexes, if those numbers are valid. All other indexes keep their
 * numbers. So no index has two numbers. If every index had a valid number before, every index has
 * one afterwards.
 */
export class PriorityOrder {
  readonly #indexes: Float64Array;
  readonly #listed: ReadonlySet<number>;
  /** For each chosen index whose former number is valid: the index that gets this number. */
  readonly #replacements = new Map<number, number>();
  /** The indexes that got the former number of a chosen index. */
  readonly #moved = new Set<number>();

  /**
   * Renumbers the indexes.
   *
   * @param indexes The chosen indexes, each once. Indexes beyond the number of valid numbers are
   * dropped.
   */
  constructor(indexes: readonly number[], private readonly numbering: Numbering) {
    const { size, at, numberOf } = numbering;
    this.#indexes = Float64Array.from(indexes.slice(0, size));
    this.#listed = new Set(this.#indexes);
    let free = 0;
    for (const index of this.#indexes) {
      const number = numberOf(index);
      if (number < this.length || number >= size) continue;
      let other = at(free++);
      while (this.#listed.has(other)) other = at(free++);
      this.#replacements.set(index, other);
      this.#moved.add(other);
    }
  }

  /** Number of chosen indexes. */
  get length(): number {
    return this.#indexes.length;
  }

  /** The chosen index of a number below {@linkcode length}. */
  at(number: number): number {
    return this.#indexes[number];
  }

  /** The index that now has the former number of `index`, which is at least {@linkcode length}. */
  replacement(index: number): number {
    return this.#replacements.get(index) ?? index;
  }

  /** Whether an index has a valid number. */
  has(index: number): boolean {
    if (this.#listed.has(index) || this.#moved.has(index)) return true;
    const number = this.numbering.numberOf(index);
    return number >= this.length && number < this.numbering.size;
  }
}
