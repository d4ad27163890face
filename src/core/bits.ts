/**
 * Arithmetic of 32 bits.
 *
 * @module
 */

/** A bijection of 32 bits in which every bit of the input stirs every bit of the output. */
export function mix(x: number): number {
  x = Math.imul(x ^ x >>> 16, 0x21f0aaad);
  x = Math.imul(x ^ x >>> 15, 0x735a2d97);
  return x ^ x >>> 15;
}
