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
  #index: RangeIndex<T> | undefined;

  private constructor(starts: readonly T[], ends: readonly T[]) {
    this.#starts = starts;
    this.#ends = ends;
  }

  /** The union of ranges in any order; empty ranges are dropped. */
  static of<T extends Address>(ranges: Iterable<Range<T>>): RangeSet<T> {
    return RangeSet.ofAscending(
      [...ranges].filter(({ start, end }) => start < end)
        .sort((a, b) => a.start < b.start ? -1 : a.start > b.start ? 1 : 0),
    );
  }

  /** The union of ranges that are not empty, in ascending order of their starts. */
  static ofAscending<T extends Address>(ranges: Iterable<Range<T>>): RangeSet<T> {
    const starts: T[] = [];
    const ends: T[] = [];
    for (const { start, end } of ranges) {
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
    let [size, ipv4] = [0n, 0];
    for (let i = 0; i < this.length; i++) {
      const [start, end]: Address[] = [this.#starts[i], this.#ends[i]];
      if (typeof start === "number" && typeof end === "number") ipv4 += end - start;
      else size += BigInt(end) - BigInt(start);
    }
    return size + BigInt(ipv4);
  }

  /**
   * An index of the addresses by position, which is made at the first use.
   *
   * @internal
   */
  get index(): RangeIndex<T> {
    return this.#index ??= new RangeIndex(this);
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
    const [starts, ends]: T[][] = [[], []];
    let hole = 0;
    for (let { start, end } of this) {
      while (hole < other.length && other.#ends[hole] <= start) hole++;
      for (let at = hole; start < end; at++) {
        const isLast = at >= other.length || other.#starts[at] >= end;
        const border = isLast ? end : other.#starts[at];
        if (start < border) {
          starts.push(start);
          ends.push(border);
        }
        start = isLast ? end : other.#ends[at];
      }
    }
    return new RangeSet(starts, ends);
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
 * Position i lies in the last range whose first position is at most i. Ranges of similar sizes are
 * found in O(1), others in O(log ranges).
 */
export class RangeIndex<T extends Address> {
  /** Number of addresses in the set. */
  readonly size: number;
  /** The address family; `undefined` for an empty set. */
  readonly family: 4 | 6 | undefined;
  readonly #starts: { readonly length: number; [index: number]: Address };
  /** The starts as a typed array, for IPv4. */
  readonly #ipv4?: Uint32Array;
  /** The position of each range's first address. */
  readonly #first: Float64Array;
  /**
   * The positions are divided into as many blocks of this size as there are ranges, or fewer. It is
   * a power of two.
   */
  readonly #blockSize: number;
  /** Number of blocks per position. */
  readonly #perPosition: number;
  /** The range of each block's first position, and the last range. */
  readonly #blocks: Uint32Array;

  /** Indexes the addresses of a set. */
  constructor(set: RangeSet<T>) {
    const [range] = set;
    this.family = range && family(range.start);
    if (this.family !== 6) this.#ipv4 = new Uint32Array(set.length);
    this.#starts = this.#ipv4 ?? [];
    this.#first = new Float64Array(set.length);
    let [i, position] = [0, 0];
    for (const { start, end } of set) {
      this.#starts[i] = start;
      this.#first[i++] = position;
      position += distance(start, end);
    }
    this.size = position;
    // a power of two, so that a product with its reciprocal is exact
    this.#blockSize = 2 ** Math.ceil(Math.log2(Math.max(1, position / set.length)));
    this.#perPosition = 1 / this.#blockSize;
    this.#blocks = new Uint32Array(set.length + 1).fill(set.length - 1);
    for (let [block, range] = [0, 0]; block * this.#blockSize < position; block++) {
      while (this.#first[range + 1] <= block * this.#blockSize) range++;
      this.#blocks[block] = range;
    }
  }

  /**
   * Writes the addresses at `positions[from]` … `positions[to - 1]` into a list, at the same
   * indexes. Allocates nothing for IPv4.
   *
   * @param positions Positions from 0 to `size` - 1.
   */
  put(positions: Float64Array, from: number, to: number, endpoints: Endpoints): void {
    const starts = this.#ipv4;
    if (starts === undefined) {
      for (let i = from; i < to; i++) endpoints.ipv6[i] = this.at(positions[i]) as bigint;
      return;
    }
    const { ipv4, ipv6 } = endpoints;
    const first = this.#first;
    for (let i = from; i < to; i++) {
      const range = starts.length === 1 ? 0 : this.#rangeOf(positions[i]);
      ipv4[i] = starts[range] + (positions[i] - first[range]);
    }
    ipv6.fill(undefined, from, to);
  }

  /** The address at a position from 0 to `size` - 1. */
  at(position: number): T {
    const range = this.#rangeOf(position);
    return later(this.#starts[range], position - this.#first[range]) as T;
  }

  /** The range of a position: a binary search among the ranges that its block touches. */
  #rangeOf(position: number): number {
    const first = this.#first;
    const block = Math.floor(position * this.#perPosition);
    let range = this.#blocks[block];
    for (let end = this.#blocks[block + 1] + 1; end - range > 1;) {
      const middle = range + end >>> 1;
      if (first[middle] <= position) range = middle;
      else end = middle;
    }
    return range;
  }

  /** The position of an address; `undefined` if the set does not contain it. */
  positionOf(address: T): number | undefined {
    const range = lastNotAbove(this.#starts, address);
    if (range < 0) return undefined;
    const position = this.#first[range] + distance(this.#starts[range], address);
    const next = range + 1 < this.#first.length ? this.#first[range + 1] : this.size;
    return position < next ? position : undefined;
  }
}

export function rangeOfOne(address: Address): Range {
  return { start: address, end: later(address, 1) };
}

/** The number of addresses from one address up to another, which is not part of them. */
export function distance(start: Address, end: Address): number {
  return typeof start === "number" && typeof end === "number"
    ? end - start
    : Number(BigInt(end) - BigInt(start));
}

/** The address at a distance behind another. */
export function later(address: Address, distance: number): Address {
  return typeof address === "number" ? address + distance : address + BigInt(distance);
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

  has(address: Address): boolean {
    return this.#families[family(address)].has(address);
  }

  /** Whether the set contains a whole range. */
  covers(range: Range): boolean {
    return this.#families[family(range.start)].covers(range);
  }

  /** Whether the set contains the address of `endpoints[i]`. */
  hasAt(endpoints: Endpoints, i: number): boolean {
    const set = this.#families[endpoints.family(i)];
    return set.length > 0 && set.has(endpoints.address(i));
  }
}

/** The first IPv4-mapped IPv6 address: `::ffff:0.0.0.0`. */
const MAPPED = 0xffffn << 32n;

/** A range of IPv4-mapped IPv6 addresses (`::ffff:0:0/96`) as IPv4; other ranges as they are. */
export function unmapped(range: Range): Range {
  const { start, end } = range;
  if (typeof start === "number" || start < MAPPED || BigInt(end) > MAPPED + 2n ** 32n) return range;
  return { start: Number(start - MAPPED), end: Number(BigInt(end) - MAPPED) };
}
