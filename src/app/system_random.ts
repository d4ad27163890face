/**
 * Random numbers from the system's generator.
 *
 * @module
 */
import { uuidv7 } from "../store/rows/uuid.ts";

/** Maximum of the counter in the ids of one millisecond: 12 bits. */
const MAX_COUNT = 0xfff;

/** A random number from 0 to below 1, for times that only have to be spread. */
export const randomFraction: () => number = Math.random;

/** Bytes that were requested at once: a request takes 3 µs in Node.js. */
const pool = new Uint8Array(4096);
/** The first byte of the pool that was not used yet. */
let unused = pool.length;

/** Unpredictable bytes from the system's generator, at most 4,096. */
export function randomBytes(size: number): Uint8Array<ArrayBuffer> {
  if (size > pool.length) throw new RangeError(`${size} random bytes are more than ${pool.length}`);
  if (unused + size > pool.length) {
    crypto.getRandomValues(pool);
    unused = 0;
  }
  unused += size;
  return pool.slice(unused - size, unused);
}

/**
 * The id of a new scan.
 *
 * @param wall When it begins, Unix milliseconds.
 */
export function newScanId(wall: number): string {
  return uuidv7(wall, randomBytes(10));
}

/**
 * Returns a function that creates the ids of events from their times, Unix milliseconds. Each id is
 * greater than the one before: a counter follows the time (RFC 9562, 6.2), and the time never steps
 * back.
 */
export function eventIds(): (at: number) => string {
  let [last, count] = [0, 0];
  return (at) => {
    if (at > last) [last, count] = [at, 0];
    else if (count < MAX_COUNT) count++;
    else [last, count] = [last + 1, 0];
    const random = randomBytes(10);
    new DataView(random.buffer).setUint16(0, count);
    return uuidv7(last, random);
  };
}

/** A seed of 53 random bits for the order of a scan: `--seed` takes it. */
export function randomSeed(): number {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return (high & 0x1fffff) * 2 ** 32 + low;
}
