/**
 * Numbered places of which some come first.
 *
 * @module
 */

/** A numbering of places. */
export interface Numbering {
  /** How many numbers count. */
  readonly size: number;
  /** The place of a number, 0 to `size` - 1. */
  readonly at: (number: number) => number;
  /** The number of a place; from `size` on: it does not count. */
  readonly numberOf: (place: number) => number;
}

/**
 * Gives the numbers 0 ... k - 1 to k places, and leaves all others theirs, but for those that had
 * these numbers: they take the ones that the k leave behind, as far as these count. So no place has
 * two numbers; where all places had one, all still do, and else others lose theirs to the k.
 */
export class PriorityOrder {
  readonly #places: Float64Array;
  readonly #listed: ReadonlySet<number>;
  /** Of the k with a number that counts, and is not theirs any longer: who takes it. */
  readonly #instead = new Map<number, number>();
  /** Those who do. */
  readonly #moved = new Set<number>();

  /**
   * Renumbers.
   *
   * @param places Each once; where there are more than numbers, the last of them are left out.
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
      this.#instead.set(place, other);
      this.#moved.add(other);
    }
  }

  /** How many come first. */
  get length(): number {
    return this.#places.length;
  }

  /** The place with a number below {@linkcode length}. */
  at(number: number): number {
    return this.#places[number];
  }

  /** Who has the number now that this place had; it is not below {@linkcode length}. */
  replacement(place: number): number {
    return this.#instead.get(place) ?? place;
  }

  /** Whether a place has a number that counts. */
  has(place: number): boolean {
    if (this.#listed.has(place) || this.#moved.has(place)) return true;
    const number = this.numbering.numberOf(place);
    return number >= this.length && number < this.numbering.size;
  }
}
