/**
 * Shards of targets: whole networks, dealt in a shuffled order.
 *
 * @module
 */
import { type Address, family } from "../core/address.ts";
import { InputError } from "../core/errors.ts";
import { type Targets, targetsOf } from "./compose.ts";
import { MAX_POSITIONS, Permutation } from "./permutation.ts";
import { lastNotAbove, later, type Range, RangeSet } from "./ranges.ts";
import { privateRanges } from "./shipped_lists.ts";

/** Shard `index` of `count`, counted from 1: a share of a scan's targets. */
export interface Shard {
  /** The number of the shard, 1 to `count`. */
  readonly index: number;
  /** Number of shards, at least 1. */
  readonly count: number;
}

/**
 * Parses a shard such as `2/4`; `undefined` when the text is not a valid shard.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(parseShard("2/4"), { index: 2, count: 4 });
 * assertEquals(parseShard("5/4"), undefined);
 * ```
 */
export function parseShard(text: string): Shard | undefined {
  const [, index, count] = /^(\d{1,7})\/(\d{1,7})$/.exec(text) ?? [];
  const shard = { index: Number(index), count: Number(count) };
  return shard.index >= 1 && shard.index <= shard.count ? shard : undefined;
}

/**
 * The network of an address, as the number of networks below it.
 *
 * @param size Number of addresses of an IPv4 network. Default: a /24. Networks of IPv6 are /48.
 */
export function networkOf(address: Address, size: number = 256): Address {
  return typeof address === "number" ? Math.floor(address / size) : address >> 80n;
}

/** The first address of a network, by its number. */
export function networkStart(network: Address, size: number = 256): Address {
  return typeof network === "number" ? network * size : network << 80n;
}

/** Sizes of the networks that shards of an adaptive scan consist of: a /12, a /16 and a /20. */
const DISCOVERY_SIZES = [2 ** 20, 2 ** 16, 2 ** 12];
/** A size is used if each shard has at least this number of such networks, and the /20 in any case. */
const MIN_NETWORKS = 16;

/** Tweak of the seed. Passes use 0 and above, the choice of endpoints for a limit uses -1. */
const SHARDS_TWEAK = -2;

/**
 * Divides targets into shards of whole networks, so that the caps of hosts and networks hold in each
 * shard by itself.
 *
 * The networks that contain targets, /24 of IPv4 (or larger ones) and /48 of IPv6, are numbered in
 * ascending order, IPv4 before IPv6. A permutation by the seed shuffles the numbers. The network with the shuffled
 * number p belongs to shard 1 + p mod `count`.
 *
 * @example The two shards of three networks, without a seed
 * ```ts
 * import { compose, formatAddress } from "blocksweep/targets";
 * import { assertEquals } from "@std/assert";
 *
 * const range = { start: 0x0a000000, end: 0x0a000204 }; // 10.0.0.0 to 10.0.2.3
 * const targets = compose([{ range, port: undefined }], { never: [], private: [], chosen: [] });
 * const shards = new Shards(targets, 2, undefined);
 * const starts = (index: number) =>
 *   shards.cut(index).groups.flatMap(({ addresses }) => [...addresses])
 *     .map(({ start }) => formatAddress(start));
 * assertEquals([starts(1), starts(2)], [["10.0.0.0", "10.0.2.0"], ["10.0.1.0"]]);
 * assertEquals(shards.indexOf(0x0a000107), 2);
 * ```
 */
export class Shards {
  /** Number of networks that contain targets. A shard with a higher number than that is empty. */
  readonly networks: number;
  /** These networks of each family. */
  readonly #touched: Readonly<Record<4 | 6, RangeSet<Address>>>;
  readonly #order: Permutation | undefined;

  /**
   * Divides targets.
   *
   * @param count Number of shards, at least 1.
   * @param seed Seed of the order; `undefined`: networks are dealt in ascending order.
   * @param size Number of addresses of an IPv4 network: a power of two. Default: a /24.
   * @throws InputError when there are more than 2^48 addresses.
   */
  constructor(
    private readonly targets: Targets,
    private readonly count: number,
    seed: number | undefined,
    private readonly size: number = 256,
  ) {
    if (targets.size > BigInt(MAX_POSITIONS)) {
      throw new InputError(
        `Cannot divide ${targets.size} addresses: at most 2^48 can be visited; give smaller ` +
          "ranges, or for IPv6 a list of addresses",
      );
    }
    this.#touched = { 4: networksOf(targets, 4, size), 6: networksOf(targets, 6, size) };
    this.networks = this.#touched[4].index.size + this.#touched[6].index.size;
    if (seed !== undefined) this.#order = new Permutation(this.networks, seed, SHARDS_TWEAK);
  }

  /**
   * Divides targets into the shards of an adaptive scan. A shard consists of large networks,
   * because it learns from the neighbours of servers: of the largest of /12, /16 and /20 of which
   * there are at least 16 for each shard.
   *
   * @param count Number of shards, at least 1.
   * @param seed Seed of the order.
   */
  static forDiscovery(targets: Targets, count: number, seed: number): Shards {
    const fits = (size: number) => networksOf(targets, 4, size).index.size >= MIN_NETWORKS * count;
    return new Shards(targets, count, seed, DISCOVERY_SIZES.find(fits) ?? DISCOVERY_SIZES.at(-1));
  }

  /**
   * The targets of a shard. Its number of omitted addresses is that of all shards.
   *
   * @param index The number of the shard, 1 to `count`.
   */
  cut(index: number): Targets {
    if (this.count === 1) return this.targets;
    const numbers = this.#networksOf(index);
    const groups = this.targets.groups.map((group) => ({
      ...group,
      addresses: RangeSet.ofAscending(this.#rangesIn(group.addresses, numbers)),
    }));
    const left = groups.filter(({ addresses }) => addresses.length > 0);
    return targetsOf(left, this.targets.omitted, privateRanges().map(({ range }) => range));
  }

  /** The shard of the network of an address; `undefined`: the network contains no target. */
  indexOf(address: Address): number | undefined {
    const number = this.#numberOf(networkOf(address, this.size));
    return number === undefined
      ? undefined
      : 1 + (this.#order?.from(number) ?? number) % this.count;
  }

  /** The number of a network; `undefined`: it contains no target. */
  #numberOf(network: Address): number | undefined {
    const { [family(network)]: { index }, 4: ipv4 } = this.#touched;
    const number = index.size === 0 ? undefined : index.positionOf(network);
    if (number === undefined || typeof network === "number") return number;
    return ipv4.index.size + number;
  }

  /** The numbers of the networks of a shard, ascending. */
  #networksOf(index: number): Uint32Array {
    const numbers = new Float64Array(
      Math.max(0, Math.ceil((this.networks - (index - 1)) / this.count)),
    );
    for (let i = 0; i < numbers.length; i++) numbers[i] = index - 1 + i * this.count;
    this.#order?.map(numbers, 0, numbers.length);
    return Uint32Array.from(numbers).sort();
  }

  /** The addresses of a set that are in networks of a shard. */
  *#rangesIn(addresses: RangeSet<Address>, numbers: Uint32Array): Iterable<Range> {
    for (const { start, end } of addresses) {
      // The networks that a range touches have consecutive numbers.
      const network = networkOf(start, this.size);
      const number = this.#numberOf(network)!;
      for (let i = lastNotAbove(numbers, number - 1) + 1; i < numbers.length; i++) {
        const first = networkStart(later(network, numbers[i] - number), this.size);
        if (first >= end) break;
        const next = networkStart(later(network, numbers[i] - number + 1), this.size);
        yield { start: first < start ? start : first, end: next < end ? next : end };
      }
    }
  }
}

/** The networks that contain targets of a family. */
function networksOf({ groups }: Targets, bits: 4 | 6, size: number): RangeSet<Address> {
  const own = groups.filter(({ addresses }) => addresses.index.family === bits);
  return RangeSet.of(
    own.flatMap(({ addresses }) => [...addresses].map((range) => networksIn(range, size))),
  );
}

/** The networks that a range touches. */
function networksIn({ start, end }: Range, size: number): Range {
  return typeof end === "number"
    ? { start: networkOf(start, size), end: Number(networkOf(end - 1, size)) + 1 }
    : { start: networkOf(start), end: BigInt(networkOf(end - 1n)) + 1n };
}
