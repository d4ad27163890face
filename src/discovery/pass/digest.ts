/**
 * A digest of a plan.
 *
 * @module
 */
import { mix } from "../../core/bits.ts";

/** A hash of 64 bits of a sequence of pairs of numbers. It finds differences by mistake. */
export class PairDigest {
  #high = 0x9e3779b9 | 0;
  #low = 0x7f4a7c15;

  /** Adds two numbers of 32 bits. */
  add(a: number, b: number): void {
    this.#high = mix(this.#high ^ a) + Math.imul(b, 0x85ebca6b) | 0;
    this.#low = Math.imul(this.#low ^ mix(b + this.#high | 0), 0x01000193) + a | 0;
  }

  /** The digest, 16 hexadecimal digits. */
  get text(): string {
    const [high, low] = [mix(this.#high ^ this.#low), mix(this.#low + this.#high | 0)];
    return [high, low].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  }
}
