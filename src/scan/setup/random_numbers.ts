/**
 * Unpredictable numbers of fixed sizes.
 *
 * @module
 */
import type { ScanIo } from "./scan_setup.ts";

/** A seed of 32 unpredictable bits. */
export function seedOf(random: ScanIo["random"]): number {
  return new DataView(random(4).buffer).getUint32(0);
}

/** A nonce of 63 unpredictable bits. */
export function nonceOf(random: ScanIo["random"]): bigint {
  return new DataView(random(8).buffer).getBigUint64(0) >> 1n;
}
