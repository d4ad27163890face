/**
 * Sets of addresses as sorted ranges: exact algebra without ever listing an address.
 *
 * @module
 */
import { type Address, family } from "../core/address.ts";
import type { Endpoints } from "../core/endpoints.ts";

/** Addresses from `start` up to, but not with, `end`. */
export interface Range<T extends Address = Address> {
  /** The first address. */
  readonly start: T;
  /** The one after the last: 2^32 or 2^128 at most. */
  readonly end: T;
}

/**
 * A set of addresses of one family: ranges in ascending order that neither overlap nor touch.
 *
 * Half-open ranges need no arithmetic but comparison, so that one piece of code serves `number`
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

  /** The union of ranges, in whatever order they come; empty ones vanish. */
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

  /** How many ranges there are. */
  get length(): number {
    return this.#starts.length;
  }

  /** How many addresses there are. */
  get size(): bigint {
    let size = 0n;
    for (let i = 0; i < this.length; i++) size += BigInt(this.#ends[i]) - BigInt(this.#starts[i]);
    return size;
  }

  /** The ranges, ascending. */
  *[Symbol.iterator](): IterableIterator<Range<T>> {
    for (let i = 0; i < this.length; i++) yield { start: this.#starts[i], end: this.#ends[i] };
  }

  /** What is in this set or in the other. */
  union(other: RangeSet<T>): RangeSet<T> {
    return RangeSet.of([...this, ...other]);
  }

  /** What is in this set and not in the other. */
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

  /** Whether the address is in the set: O(log ranges). */
  has(address: T): boolean {
    const at = lastNotAbove(this.#starts, address);
    return at >= 0 && address < this.#ends[at];
  }

  /** Whether the whole range is in the set. */
  covers({ start, end }: Range<T>): boolean {
    const at = lastNotAbove(this.#starts, start);
    return at >= 0 && start < this.#ends[at] && end <= this.#ends[at];
  }
}

/**
 * A set whose addresses are numbered from 0 in ascending order, for sets of at most 2^48.
 *
 * Position i lies in the last range whose first position is not above i: O(log ranges).
 */
export class RangeIndex<T extends Address> {
  /** How many addresses there are. */
  readonly size: number;
  /** The family of the addresses; `undefined` where there are none. */
  readonly family: 4 | 6 | undefined;
  readonly #starts: readonly T[];
  /** The same where they are numbers. */
  readonly #ipv4?: Uint32Array;
  /** The position of each range's first address. */
  readonly #first: Float64Array;

  /** Numbers the addresses of a set. */
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
   * Writes the address at a position into a row; nothing is allocated for IPv4.
   *
   * @param positions Positions from 0 to `size` - 1.
   * @param i Which of them, and which endpoint of the row.
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

  /** The position of an address; `undefined` where it is not in the set. */
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

/** The last index whose value is not above the given one, or -1: binary search. */
export function lastNotAbove<T extends Address>(
  values: { readonly length: number; readonly [index: number]: T },
  value: T,
): number {
  let low = 0;
  let high = values.length; // values below `low` are not above, values from `high` on are
  while (low < high) {
    const middle = low + high >>> 1;
    if (values[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** A set of addresses, IPv4 and IPv6. */
export class AddressSet {
  readonly #families: Readonly<Record<4 | 6, RangeSet<Address>>>;

  /** The union of ranges. */
  constructor(ranges: Iterable<Range>) {
    const all = [...ranges];
    const of = (bits: 4 | 6) => RangeSet.of(all.filter(({ start }) => family(start) === bits));
    this.#families = { 4: of(4), 6: of(6) };
  }

  /** Whether the address is in it. */
  has(address: Address): boolean {
    return this.#families[family(address)].has(address);
  }

  /** Whether the address of an endpoint of a row is in it. */
  hasAt(endpoints: Endpoints, i: number): boolean {
    const set = this.#families[endpoints.family(i)];
    return set.length > 0 && set.has(endpoints.address(i));
  }
}
