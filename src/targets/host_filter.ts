/**
 * A filter of addresses in shared memory: a Bloom filter with one hash function. Threads that send
 * ask it whether a target may have to be skipped, and the main thread decides.
 *
 * @module
 */
import type { Address } from "../core/address.ts";
import { mix } from "../core/bits.ts";
import type { Endpoints } from "../core/endpoints.ts";

/**
 * Size, bits: a power of two. With 40,000 addresses in the filter, 1 % of the other addresses are
 * found too.
 */
const BITS = 1 << 22;
const WORD_BITS = 32;

/** Memory and seed of a filter, which a worker can use. */
export interface HostFilterMemory {
  readonly bits: SharedArrayBuffer;
  /** The seed of the hash. */
  readonly seed: number;
}

/**
 * Addresses that may have to be skipped. Every added address is found, and a few others. An address
 * cannot be removed.
 *
 * @example
 * ```ts
 * import { Endpoints } from "blocksweep/targets";
 * import { assertEquals } from "@std/assert";
 *
 * const filter = new HostFilter(crypto.getRandomValues(new Uint32Array(1))[0]);
 * filter.add(0xc0000201);
 * const targets = Endpoints.of({ address: 0xc0000201, port: 19132 });
 * assertEquals(filter.mayHaveAt(targets, 0), true);
 * ```
 */
export class HostFilter {
  readonly #words: Int32Array;

  /**
   * Creates an empty filter, or uses the memory of another.
   *
   * @param seed 32 unpredictable bits. With a known seed, hosts could fill the filter on purpose.
   */
  constructor(
    private readonly seed: number,
    private readonly bits: SharedArrayBuffer = new SharedArrayBuffer(BITS / 8),
  ) {
    this.#words = new Int32Array(bits);
  }

  /** What a worker needs to use the filter: `new HostFilter(seed, bits)`. */
  get memory(): HostFilterMemory {
    return { bits: this.bits, seed: this.seed };
  }

  /** Adds an address. Only one thread may add. */
  add(address: Address): void {
    const bit = this.#bitOf(typeof address === "number" ? address | 0 : foldOf(address));
    this.#words[bit >>> 5] |= 1 << bit % WORD_BITS;
  }

  /** Adds all addresses. */
  addAll(): void {
    this.#words.fill(-1);
  }

  /** Whether the address of target `i` may have been added. Allocates nothing for IPv4. */
  mayHaveAt(targets: Endpoints, i: number): boolean {
    const address = targets.ipv6[i];
    const bit = this.#bitOf(address === undefined ? targets.ipv4[i] | 0 : foldOf(address));
    return (this.#words[bit >>> 5] >>> bit % WORD_BITS & 1) === 1;
  }

  #bitOf(hashed: number): number {
    return mix(hashed ^ this.seed) & BITS - 1;
  }
}

/** The four words of an IPv6 address as one. */
function foldOf(address: bigint): number {
  let folded = 0;
  for (let rest = address; rest > 0n; rest >>= 32n) {
    folded = mix(folded ^ Number(BigInt.asIntN(32, rest)));
  }
  return folded;
}
