/**
 * Sets of addresses as sorted ranges, with set operations on ranges.
 *
 * @module
 */
import { type Address, family } from "../core/address.ts";
import type { Endpoints } from "../core/endpoints.ts";

/** A half-open range of addresses: `start` up to `end` - 1. */
export interface Range<T extends Address = Address> {
  /** The first address of the range. */
  readonly start: T;
  /** The address after the last one, at most 2^32 or 2^128. */
  readonly end: T;
}

/**
 * A set of addresses of one family, as ascending ranges that neither overlap nor touch.
 *
 * Operations on half-open ranges need only comparisons. The same code therefore works for `number`
 * (IPv4) and `bigint` (IPv6).
 *
 * @example
 * ```ts
 * import { RangeSet } from "blocksweep/targets";
 * import { assertEquals } from "@std/assert";
 *
 * const set = RangeSet.of<number>([{ start: 10, end: 20 }, { start: 15, end: 30 }])
 *   .subtract(RangeSet.of<number>([{ start: 12, end: 14 }]));
 * assertEquals([...set], [{ start: 10, end: 12 }, { start: 14, end: 30 }]);
 * assertEquals(set.size, 18n);
 * ```
 */
export class RangeSet<T extends Address> implements Iterable<Range<T>> {
  readonly #starts: readonly T[];
  readonly #ends: readonly T[];

  private constructor(starts: readonly T[], ends: readonly T[]) {
    this.#starts = starts;
    this.#ends = ends;
  }

  /** The union of ranges in any order; empty ranges are dropped. */
  static of<T extends Address>(ranges: Iterable<Range<T>>): RangeSet<T> {
    const sorted = [...ranges].filter(({ start, end }) => start < end)
      .sort((a, b) => a.start < b.start ? -1 : a.start > b.start ? 1 : 0);
    const starts: T[] = [];
    const ends: T[] = [];
    for (const { start, end } of sorted) {
      const last = ends.length - 1;
      if (last < 0 || start > ends[last]) {
        starts.push(start);
        ends.push(end);
      } else if (end > ends[last]) {
        ends[last] = end;
      }
    }
    return new RangeSet(starts, ends);
  }

  /** Number of ranges in the set. */
  get length(): number {
    return this.#starts.length;
  }

  /** Number of addresses in the set. */
  get size(): bigint {
    let size = 0n;
    for (let i = 0; i < this.length; i++) size += BigInt(this.#ends[i]) - BigInt(this.#starts[i]);
    return size;
  }

  /** Iterates over the ranges in ascending order. */
  *[Symbol.iterator](): IterableIterator<Range<T>> {
    for (let i = 0; i < this.length; i++) yield { start: this.#starts[i], end: this.#ends[i] };
  }

  /** The union of this set and another. */
  union(other: RangeSet<T>): RangeSet<T> {
    return RangeSet.of([...this, ...other]);
  }

  /** The difference: this set without the addresses of another. */
  subtract(other: RangeSet<T>): RangeSet<T> {
    const left: Range<T>[] = [];
    let hole = 0;
    for (let { start, end } of this) {
      while (hole < other.length && other.#ends[hole] <= start) hole++;
      for (let at = hole; at < other.length && other.#starts[at] < end; at++) {
        left.push({ start, end: other.#starts[at] });
        start = other.#ends[at];
      }
      left.push({ start, end });
    }
    return RangeSet.of(left);
  }

  /** Whether the set contains an address: O(log ranges). */
  has(address: T): boolean {
    const at = lastNotAbove(this.#starts, address);
    return at >= 0 && address < this.#ends[at];
  }

  /** Whether the set contains a whole range. */
  covers({ start, end }: Range<T>): boolean {
    const at = lastNotAbove(this.#starts, start);
    return at >= 0 && start < this.#ends[at] && end <= this.#ends[at];
  }
}

/**
 * An index of a set's addresses by position, from 0 in ascending order, for at most 2^48 addresses.
 *
 * Position i lies in the last range whose first position is at most i: O(log ranges).
 */
export class RangeIndex<T extends Address> {
  /** Number of addresses in the set. */
  readonly size: number;
  /** The address family; `undefined` for an empty set. */
  readonly family: 4 | 6 | undefined;
  readonly #starts: readonly T[];
  /** The starts as a typed array, for IPv4. */
  readonly #ipv4?: Uint32Array;
  /** The position of each range's first address. */
  readonly #first: Float64Array;

  /** Indexes the addresses of a set. */
  constructor(set: RangeSet<T>) {
    const ranges = [...set];
    this.#starts = ranges.map(({ start }) => start);
    this.#first = new Float64Array(ranges.length);
    let position = 0;
    for (const [i, { start, end }] of ranges.entries()) {
      this.#first[i] = position;
      position += Number(BigInt(end) - BigInt(start));
    }
    this.size = position;
    this.family = ranges.length === 0 ? undefined : family(ranges[0].start);
    if (ranges.every(({ start }) => typeof start === "number")) {
      this.#ipv4 = Uint32Array.from(this.#starts as readonly Address[] as number[]);
    }
  }

  /**
   * Writes the address at `positions[i]` into `endpoints[i]`, without an allocation for IPv4.
   *
   * @param positions Positions from 0 to `size` - 1.
   * @param i Index in both lists.
   */
  put(positions: Float64Array, i: number, endpoints: Endpoints): void {
    const position = positions[i];
    if (this.#ipv4 === undefined) {
      endpoints.ipv6[i] = this.at(position) as bigint;
      return;
    }
    const first = this.#first;
    let range = 0;
    for (let end = first.length; end - range > 1;) {
      const middle = range + end >>> 1;
      if (first[middle] <= position) range = middle;
      else end = middle;
    }
    endpoints.ipv4[i] = this.#ipv4[range] + (position - first[range]);
    endpoints.ipv6[i] = undefined;
  }

  /** The address at a position from 0 to `size` - 1. */
  at(position: number): T {
    const range = lastNotAbove(this.#first, position);
    const start: Address = this.#starts[range];
    const offset = position - this.#first[range];
    return (typeof start === "number" ? start + offset : start + BigInt(offset)) as T;
  }

  /** The position of an address; `undefined` if the set does not contain it. */
  positionOf(address: T): number | undefined {
    const range = lastNotAbove(this.#starts, address);
    if (range < 0) return undefined;
    const start: Address = this.#starts[range];
    const offset = typeof start === "number" && typeof address === "number"
      ? address - start
      : Number(BigInt(address) - BigInt(start));
    const position = this.#first[range] + offset;
    const next = range + 1 < this.#first.length ? this.#first[range + 1] : this.size;
    return position < next ? position : undefined;
  }
}

/**
 * The last index of an ascending list whose value is at most the given one, or -1: binary search.
 */
export function lastNotAbove<T extends Address>(
  values: { readonly length: number; readonly [index: number]: T },
  value: T,
): number {
  let low = 0;
  // values before `low` are at most `value`, and values from `high` on are greater
  let high = values.length;
  while (low < high) {
    const middle = low + high >>> 1;
    if (values[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** A set of addresses of both families. */
export class AddressSet {
  readonly #families: Readonly<Record<4 | 6, RangeSet<Address>>>;

  /** Creates the union of ranges. */
  constructor(ranges: Iterable<Range>) {
    const all = [...ranges];
    const of = (bits: 4 | 6) => RangeSet.of(all.filter(({ start }) => family(start) === bits));
    this.#families = { 4: of(4), 6: of(6) };
  }

  /** Whether the set contains an address. */
  has(address: Address): boolean {
    return this.#families[family(address)].has(address);
  }

  /** Whether the set contains the address of `endpoints[i]`. */
  hasAt(endpoints: Endpoints, i: number): boolean {
    const set = this.#families[endpoints.family(i)];
    return set.length > 0 && set.has(endpoints.address(i));
  }
}
