/**
 * Identities of scans and events.
 *
 * @module
 */
import { storableTime } from "./stored_values.ts";

/**
 * A UUIDv7 (RFC 9562): 48 bits of time, then random bits, so that ids sort by time.
 *
 * @param wall Milliseconds since 1970.
 * @param random Ten random bytes.
 *
 * @example
 * ```ts
 * import { uuidv7 } from "blocksweep/scan";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(uuidv7(0x0192_8d5e_0000, new Uint8Array(10)), "01928d5e-0000-7000-8000-000000000000");
 * ```
 */
export function uuidv7(wall: number, random: Uint8Array): string {
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, Math.floor(wall / 2 ** 32));
  view.setUint32(2, wall); // modulo 2 ** 32
  bytes.set(random, 6);
  bytes[6] = 0x70 | bytes[6] & 0x0f;
  bytes[8] = 0x80 | bytes[8] & 0x3f;
  const hex = bytes.toHex();
  const start = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}`;
  return `${start}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/**
 * A new identity of an event, UUIDv7.
 *
 * @param at When the change was detected, Unix milliseconds.
 */
export function newEventId(at: number): string {
  const time = (storableTime(at) ?? 0).toString(16).padStart(12, "0");
  // After the version, all bits of a UUIDv4 are random except the variant, as in a UUIDv7.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${crypto.randomUUID().slice(15)}`;
}
