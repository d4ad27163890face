/**
 * The id of a scan.
 *
 * @module
 */

export { uuidv7 } from "../../store/rows/uuid.ts";

/**
 * When a scan began, read from its id: Unix milliseconds.
 *
 * @example
 * ```ts
 * import { uuidv7 } from "blocksweep/scan";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(beganAt(uuidv7(1.8e12, new Uint8Array(10))), 1.8e12);
 * ```
 */
export function beganAt(id: string): number {
  return parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}
