/**
 * Counts and positions of bits.
 *
 * @module
 */

/** Number of bits that are set in 32 bits. */
export function bitCount(bits: number): number {
  bits -= bits >>> 1 & 0x55555555;
  bits = (bits & 0x33333333) + (bits >>> 2 & 0x33333333);
  return Math.imul(bits + (bits >>> 4) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** The position of the set bit that has `index` set bits below it. */
export function bitAt(bits: number, index: number): number {
  let position = 0;
  // halves: skip the lower half while it contains too few set bits
  for (let half = 16; half > 0; half >>= 1) {
    const below = bitCount(bits >>> position & (1 << half) - 1);
    if (below > index) continue;
    index -= below;
    position += half;
  }
  return position;
}
