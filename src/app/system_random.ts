/**
 * Random numbers from the system's generator.
 *
 * @module
 */
import { uuidv7 } from "../scan/scan_id.ts";

/** Unpredictable bytes from the system's generator. */
export function randomBytes(size: number): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(size));
}

/**
 * The id of a new scan.
 *
 * @param wall When it begins, Unix milliseconds.
 */
export function newScanId(wall: number): string {
  return uuidv7(wall, randomBytes(10));
}
