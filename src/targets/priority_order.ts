/**
 * The visiting order of a target space with chosen endpoints first. In this file, a place is the
 * index of an endpoint in the unshuffled space, and a number is the position of a place in the
 * order.
 *
 * @module
 */

/** The numbering of places before the chosen places are moved to its start. */
export interface Numbering {
  /** Number of valid numbers: 0 … `size` - 1. */
  readonly size: number;
  /** The place of a valid number. */
  readonly at: (number: number) => number;
  /** The number of a place; `size` or more: the place has no valid number. */
  readonly numberOf: (place: number) => number;
}

/**
 * Gives the numbers 0 ... k - 1 to k chosen places. The places that had these numbers get the
 * former numbers of the chosen places, if those numbers are valid. All other places keep their
 * numbers. So no place has two numbers. If every place had a valid number before, every place has
 * one afterwards.
 */
export class PriorityOrder {
  readonly #places: Float64Array;
  readonly #listed: ReadonlySet<number>;
  /** For each chosen place whose former number is valid: the place that gets this number. */
  readonly #replacements = new Map<number, number>();
  /** The places that got the former number of a chosen place. */
  readonly #moved = new Set<number>();

  /**
   * Renumbers the places.
   *
   * @param places The chosen places, each once. Places beyond the number of valid numbers are
   * dropped.
   */
  constructor(places: readonly number[], private readonly numbering: Numbering) {
    const { size, at, numberOf } = numbering;
    this.#places = Float64Array.from(places.slice(0, size));
    this.#listed = new Set(this.#places);
    let free = 0;
    for (const place of this.#places) {
      const number = numberOf(place);
      if (number < this.length || number >= size) continue;
      let other = at(free++);
      while (this.#listed.has(other)) other = at(free++);
      this.#replacements.set(place, other);
      this.#moved.add(other);
    }
  }

  /** Number of chosen places. */
  get length(): number {
    return this.#places.length;
  }

  /** The chosen place of a number below {@linkcode length}. */
  at(number: number): number {
    return this.#places[number];
  }

  /** The place that now has the former number of `place`, which is at least {@linkcode length}. */
  replacement(place: number): number {
    return this.#replacements.get(place) ?? place;
  }

  /** Whether a place has a valid number. */
  has(place: number): boolean {
    if (this.#listed.has(place) || this.#moved.has(place)) return true;
    const number = this.numbering.numberOf(place);
    return number >= this.length && number < this.numbering.size;
  }
}
