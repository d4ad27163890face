/**
 * The target space of a pass: (addresses × ports) in shuffled order.
 *
 * @module
 */
import { type Address, type Endpoint, family } from "../core/address.ts";
import { Endpoints } from "../core/endpoints.ts";
import { InputError } from "../core/errors.ts";
import { PriorityOrder } from "./priority_order.ts";
import { MAX_POSITIONS, Permutation } from "./permutation.ts";
import { lastNotAbove, type RangeIndex, RangeSet } from "./ranges.ts";

/** Addresses that are probed on the same ports. Every address is in one segment only. */
export interface Segment {
  /** The addresses, of one family. */
  readonly addresses: RangeSet<Address>;
  /** The ports, each once. */
  readonly ports: readonly number[];
}

/** Which targets are visited, and in which order. */
export interface TargetOrder {
  /** Seed of the order; `undefined` keeps the order of addresses and ports. */
  readonly seed: number | undefined;
  /** Maximum number of endpoints to visit. Every pass visits the same endpoints. Default: all. */
  readonly limit?: number;
  /**
   * Endpoints that are visited before all others, if they are targets, in the order of this list.
   * Default: none.
   */
  readonly first?: readonly Endpoint[];
}

/** The endpoints that a pass visits, by position. */
export interface ProbeSpace {
  /** Number of endpoints that are visited. */
  readonly size: number;
  /**
   * The space as plain data for sender threads; `undefined`: only the main thread computes it.
   *
   * @internal
   */
  readonly data?: SpaceData;
  /** Writes the endpoint at a position, 0 to `size` - 1, into an object. */
  at(position: number, target: Endpoint): void;
  /**
   * Writes the endpoints at consecutive positions into the start of a list.
   *
   * @param count Number of positions, at most the list's capacity and `size` - `from`.
   */
  fill(from: number, count: number, targets: Endpoints): void;
  /** Whether an endpoint is visited. */
  has(endpoint: Endpoint): boolean;
}

/** How the space of one pass is ordered. */
export interface SpaceOptions extends TargetOrder {
  /** The number of the pass. Each pass has an order of its own. Default: 0. */
  readonly pass?: number;
}

/** Whether all targets are visited. */
export function isWhole({ limit = Infinity }: TargetOrder): boolean {
  return limit === Infinity;
}

/**
 * Tweak of the seed for the choice of endpoints for a limit. Passes use 0 and above, and parts of
 * targets -2.
 */
const LIMIT_TWEAK = -1;

/** A target space as plain data, which can be sent to a worker: see {@linkcode TargetSpace.of}. */
export interface SpaceData {
  /** For each segment, its ports, and start and end of each range in turn. */
  readonly segments: readonly {
    readonly bounds: readonly Address[];
    readonly ports: readonly number[];
  }[];
  readonly order: SpaceOptions;
}

/** A segment with its addresses by position. */
interface IndexedSegment {
  readonly index: RangeIndex<Address>;
  readonly ports: readonly number[];
}

/**
 * The positions of one pass. One permutation over all positions maps position p to p'. The position
 * p' lies in one segment, and is split there into an address number and a port number. The
 * permutation is a bijection, so every endpoint is visited once.
 *
 * @example A small space, in order
 * ```ts
 * import { RangeSet, TargetSpace } from "blocksweep/targets";
 * import { assertEquals } from "@std/assert";
 *
 * const segments = [{ addresses: RangeSet.of([{ start: 1, end: 3 }]), ports: [80, 81] }];
 * const space = new TargetSpace(segments, { seed: undefined });
 * const target = { address: 0, port: 0 };
 * const visited = Array.from({ length: space.size }, (_, i) => {
 *   space.at(i, target);
 *   return `${target.address}:${target.port}`;
 * });
 * assertEquals(visited, ["1:80", "1:81", "2:80", "2:81"]);
 * ```
 */
export class TargetSpace {
  /** Number of endpoints that are visited. */
  readonly size: number;
  readonly #segments: readonly IndexedSegment[];
  /** The first position of each segment. */
  readonly #first: Float64Array;
  #order: Permutation | undefined;
  readonly #seed: number | undefined;
  readonly #pass: number;
  readonly #all: readonly Segment[];
  readonly #limit: number;
  /** The permutation that chooses the visited endpoints if there is a limit. */
  readonly #limitOrder?: Permutation;
  /** Endpoints that are visited first, and the numbering in which they come first. */
  readonly #prioritized: readonly Endpoint[];
  #numbering: PriorityOrder | undefined;
  /** Buffer for the positions of a call to `fill`. */
  #indexes = new Float64Array(1);
  readonly #one = new Endpoints(1);

  /**
   * Creates the space of a pass.
   *
   * @throws InputError when there are more than 2^48 positions.
   */
  constructor(
    segments: readonly Segment[],
    { seed, pass = 0, limit = Infinity, first = [] }: SpaceOptions,
  ) {
    const all = segments.reduce((sum, s) => sum + s.addresses.size * BigInt(s.ports.length), 0n);
    if (all > BigInt(MAX_POSITIONS)) {
      throw new InputError(
        `Cannot sweep ${all} targets: at most 2^48 can be visited; give smaller ranges, ` +
          "or for IPv6 a list of addresses",
      );
    }
    this.#prioritized = first;
    this.#seed = seed;
    this.#pass = pass;
    this.#all = segments;
    this.#limit = limit;
    this.#segments = segments.filter(({ ports }) => ports.length > 0)
      .map(({ addresses: { index }, ports }) => ({ index, ports }));
    this.#first = new Float64Array(this.#segments.length);
    let position = 0;
    for (const [i, { index, ports }] of this.#segments.entries()) {
      this.#first[i] = position;
      position += index.size * ports.length;
    }
    this.size = Math.min(position, limit);
    if (seed !== undefined && this.size < position) {
      this.#limitOrder = new Permutation(position, seed, LIMIT_TWEAK);
    }
  }

  /**
   * Creates the space that {@linkcode data} of another thread describes.
   *
   * @internal
   */
  static of({ segments, order }: SpaceData): TargetSpace {
    const all = segments.map(({ bounds, ports }) => ({ addresses: rangesOf(bounds), ports }));
    return new TargetSpace(all, order);
  }

  /**
   * The space as plain data.
   *
   * @internal
   */
  get data(): SpaceData {
    const segments = this.#all.map(({ addresses, ports }) => ({
      bounds: [...addresses].flatMap(({ start, end }) => [start, end]),
      ports,
    }));
    const [seed, pass, limit] = [this.#seed, this.#pass, this.#limit];
    return { segments, order: { seed, pass, limit, first: this.#prioritized } };
  }

  /**
   * The endpoint at a position.
   *
   * @param position 0 to `size` - 1.
   * @param target The object to write the endpoint into.
   */
  at(position: number, target: Endpoint): void {
    this.fill(position, 1, this.#one);
    target.address = this.#one.address(0);
    target.port = this.#one.ports[0];
  }

  /**
   * Writes the endpoints at consecutive positions into the start of a list, without an allocation
   * for IPv4.
   *
   * @param from The first position.
   * @param count Number of positions, at most the list's capacity and `size` - `from`.
   */
  fill(from: number, count: number, targets: Endpoints): void {
    if (this.#indexes.length < count) this.#indexes = new Float64Array(count);
    const indexes = this.#indexes;
    const segments = this.#segments;
    const first = this.#first;
    this.#indexesAt(from, count, indexes);
    if (segments.length === 1 && segments[0].ports.length === 1) {
      targets.ports.fill(segments[0].ports[0], 0, count);
      segments[0].index.put(indexes, 0, count, targets);
      return;
    }
    for (let i = 0; i < count; i++) {
      const at = segments.length === 1 ? 0 : lastNotAbove(first, indexes[i]);
      const { index, ports } = segments[at];
      const inside = indexes[i] - first[at];
      const number = ports.length === 1 ? inside : Math.floor(inside / ports.length);
      targets.ports[i] = ports[inside - number * ports.length];
      indexes[i] = number;
      index.put(indexes, i, i + 1, targets);
    }
  }

  /** Whether an endpoint is visited, in any pass. */
  has(endpoint: Endpoint): boolean {
    const index = this.#indexOf(endpoint);
    if (index === undefined) return false;
    return this.#priorityOrder()?.has(index) ?? this.#numberOf(index) < this.size;
  }

  /**
   * The number that the permutation of the limit gives an index. Indexes with numbers below `size`
   * are visited.
   */
  #numberOf(index: number): number {
    return this.#limitOrder?.from(index) ?? index;
  }

  /**
   * The numbering with prioritized endpoints first, computed at first use; `undefined`: no endpoint
   * is prioritized.
   */
  #priorityOrder(): PriorityOrder | undefined {
    if (this.#numbering !== undefined || this.#prioritized.length === 0) return this.#numbering;
    const indexes = new Set<number>();
    for (const endpoint of this.#prioritized) {
      const index = this.#indexOf(endpoint);
      if (index !== undefined) indexes.add(index);
    }
    return this.#numbering = new PriorityOrder([...indexes], {
      size: this.size,
      at: (number) => this.#limitOrder?.at(number) ?? number,
      numberOf: (index) => this.#numberOf(index),
    });
  }

  /** Writes the indexes at positions, shuffled, the prioritized ones first. */
  #indexesAt(from: number, count: number, indexes: Float64Array): void {
    const ahead = this.#priorityOrder();
    const head = ahead?.length ?? 0;
    const shuffled = Math.max(0, Math.min(count, head - from));
    for (let i = 0; i < count; i++) indexes[i] = from + i - head;
    if (this.#seed !== undefined) {
      this.#order ??= new Permutation(this.size - head, this.#seed, this.#pass);
      this.#order.map(indexes, shuffled, count);
    }
    if (ahead !== undefined) { for (let i = 0; i < count; i++) indexes[i] += head; }
    this.#limitOrder?.map(indexes, shuffled, count);
    for (let i = 0; ahead !== undefined && i < count; i++) {
      indexes[i] = i < shuffled ? ahead.at(indexes[i]) : ahead.replacement(indexes[i]);
    }
  }

  /** The index of an endpoint in ascending order; `undefined` if it is not in the space. */
  #indexOf({ address, port }: Endpoint): number | undefined {
    for (const [i, { index, ports }] of this.#segments.entries()) {
      // The families are compared first: a lookup must not compare a number with a bigint.
      const own = family(address) === index.family ? index.positionOf(address) : undefined;
      if (own === undefined) continue;
      const at = ports.indexOf(port);
      return at < 0 ? undefined : this.#first[i] + own * ports.length + at;
    }
    return undefined;
  }
}

/** The ranges with the given starts and ends. */
function rangesOf(bounds: readonly Address[]): RangeSet<Address> {
  return RangeSet.ofAscending(
    Array.from({ length: bounds.length / 2 }, (_, i) => ({
      start: bounds[2 * i],
      end: bounds[2 * i + 1],
    })),
  );
}
