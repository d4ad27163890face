/**
 * A seeded permutation of 0 … size - 1, computed without memory.
 *
 * @module
 */
import { mix } from "../core/bits.ts";

/** Largest size: 48 bits, two halves of 24. */
export const MAX_POSITIONS = 2 ** 48;

/**
 * A bijection of 0 … size - 1 onto itself.
 *
 * Let 2^b be the smallest power of two, b >= 2, that is not below the size. A number of b bits is
 * split into a high half h of floor(b / 2) bits and a low half l of ceil(b / 2). A round replaces
 * one half by its sum, modulo its own size, with a function of the other half. Subtracting the
 * value of the same function inverts the round. So each round, and all rounds together, are a
 * bijection of 0 … 2^b - 1 (an unbalanced Feistel network). A result outside 0 … size - 1 is
 * permuted again (cycle walking). The walk stays on one cycle of the bijection. The cycle contains
 * the start, so the walk returns into the range. The result is a bijection of 0 … size - 1. As the
 * size is above 2^(b - 1), the mean number of permutations per position is below two.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 *
 * const order = new Permutation(1000, 7);
 * const visited = new Set(Array.from({ length: 1000 }, (_, i) => order.at(i)));
 * assertEquals(visited.size, 1000);
 * ```
 */
export class Permutation {
  readonly #lowSize: number;
  readonly #lowMask: number;
  readonly #highMask: number;
  readonly #scale: number;
  readonly #k0: number;
  readonly #k1: number;
  readonly #k2: number;
  readonly #k3: number;

  /**
   * Creates a permutation.
   *
   * @param size Number of positions, 0 to 2^48.
   * @param seed Selects the permutation: a whole number, at most 2^53.
   * @param tweak Selects one of several permutations of the same seed. Default: 0.
   */
  constructor(readonly size: number, seed: number, tweak = 0) {
    let bits = 2;
    while (2 ** bits < size) bits++;
    this.#lowSize = 2 ** Math.ceil(bits / 2);
    this.#lowMask = this.#lowSize - 1;
    this.#highMask = 2 ** Math.floor(bits / 2) - 1;
    const high = Math.floor(seed / 2 ** 32) >>> 0;
    let state = mix(mix(mix(seed >>> 0) ^ high) ^ tweak);
    const next = () => state = mix(state + 0x9e3779b9 | 0);
    this.#k0 = next();
    this.#k1 = next();
    this.#k2 = next();
    this.#k3 = next();
    this.#scale = 1 / this.#lowSize;
  }

  /** The image of a position 0 … size - 1. */
  at(position: number): number {
    const one = Float64Array.of(position);
    this.map(one, 0, 1);
    return one[0];
  }

  /** Replaces `positions[from]` … `positions[to - 1]` by their images, without an allocation. */
  map(positions: Float64Array, inverse: number, to: number): void {
    const size = this.size;
    const scale = this.#scale;
    const lowSize = this.#lowSize;
    const lowMask = this.#lowMask;
    const highMask = this.#highMask;
    const k0 = this.#k0;
    const k1 = this.#k1;
    const k2 = this.#k2;
    const k3 = this.#k3;
    for (let i = inverse; i < to; i++) {
      let value = positions[i];
      do {
        // the factor is a power of two of at most 24 bits, so the result is exact
        let high = value * scale | 0;
        let low = value - high * lowSize | 0;
        low = low + mix(high ^ k0) & lowMask;
        high = high + mix(low ^ k1) & highMask;
        low = low + mix(high ^ k2) & lowMask;
        high = high + mix(low ^ k3) & highMask;
        value = high * lowSize + low;
      } while (value >= size);
      positions[i] = value;
    }
  }

  /** The position of an image 0 … size - 1: inverts the rounds from the last to the first. */
  from(value: number): number {
    const lowMask = this.#lowMask;
    const highMask = this.#highMask;
    let position = value;
    do {
      let high = position * this.#scale | 0;
      let low = position - high * this.#lowSize | 0;
      high = high - mix(low ^ this.#k3) & highMask;
      low = low - mix(high ^ this.#k2) & lowMask;
      high = high - mix(low ^ this.#k1) & highMask;
      low = low - mix(high ^ this.#k0) & lowMask;
      position = high * this.#lowSize + low;
    } while (position >= this.size);
    return position;
  }
}
