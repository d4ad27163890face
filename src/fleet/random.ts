/**
 * Seeded pseudo-random numbers: an equal seed gives an equal sequence.
 *
 * @module
 */

/** A pseudo-random generator (splitmix32). It is not cryptographic. */
export class Random {
  #state: number;

  /**
   * Starts the sequence.
   *
   * @param seed An integer, of which the low 32 bits are used.
   */
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A random integer from 0 to 2^32 - 1. */
  u32(): number {
    this.#state = this.#state + 0x9e3779b9 >>> 0;
    let z = this.#state;
    z = Math.imul(z ^ z >>> 16, 0x21f0aaad);
    z = Math.imul(z ^ z >>> 15, 0x735a2d97);
    return (z ^ z >>> 15) >>> 0;
  }

  /** A random integer from 0 to `limit` - 1. */
  below(limit: number): number {
    return Math.floor(this.u32() / 2 ** 32 * limit);
  }

  /** A random integer from 0 to 2^64 - 1. */
  u64(): bigint {
    return BigInt(this.u32()) << 32n | BigInt(this.u32());
  }

  /** Returns `true` with probability `share`, from 0 to 1. */
  chance(share: number): boolean {
    return this.u32() / 2 ** 32 < share;
  }

  /** A random item of a list. */
  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)];
  }

  /** An array of `size` random bytes. */
  bytes(size: number): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(size);
    for (let i = 0; i < size; i++) bytes[i] = this.u32() >>> 24;
    return bytes;
  }
}
