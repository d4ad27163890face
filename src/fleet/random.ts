/**
 * Seeded random numbers: the same seed, the same fleet, the same test.
 *
 * @module
 */

/** A generator of 32-bit numbers (splitmix32) with the draws that simulations need. */
export class Random {
  #state: number;

  /**
   * Starts the sequence.
   *
   * @param seed A whole number; its low 32 bits count.
   */
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** 0 to 2^32 - 1. */
  u32(): number {
    this.#state = this.#state + 0x9e3779b9 >>> 0;
    let z = this.#state;
    z = Math.imul(z ^ z >>> 16, 0x21f0aaad);
    z = Math.imul(z ^ z >>> 15, 0x735a2d97);
    return (z ^ z >>> 15) >>> 0;
  }

  /** 0 to `limit` - 1. */
  below(limit: number): number {
    return Math.floor(this.u32() / 2 ** 32 * limit);
  }

  /** 0 to 2^64 - 1. */
  u64(): bigint {
    return BigInt(this.u32()) << 32n | BigInt(this.u32());
  }

  /** True in `share` of the draws. */
  chance(share: number): boolean {
    return this.u32() / 2 ** 32 < share;
  }

  /** One of the items. */
  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)];
  }

  /** `size` random bytes. */
  bytes(size: number): Uint8Array<ArrayBuffer> {
    return Uint8Array.from({ length: size }, () => this.below(256));
  }
}
