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

/** A hash of bytes, 32 bits: FNV-1a, mixed. */
export function hashBytes(bytes: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return mix(hash) >>> 0;
}
