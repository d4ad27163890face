/**
 * Arithmetic on 32-bit integers.
 *
 * @module
 */

/** A bijective hash of 32 bits: each input bit affects all output bits. */
export function mix(x: number): number {
  x = Math.imul(x ^ x >>> 16, 0x21f0aaad);
  x = Math.imul(x ^ x >>> 15, 0x735a2d97);
  return x ^ x >>> 15;
}
