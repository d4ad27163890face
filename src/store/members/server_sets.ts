/**
 * Sets of server numbers in few bytes, in blocks. A block has the numbers of one range of
 * {@linkcode BLOCK} numbers, in the shortest of three forms: a list, a list of runs, or a bitmap. Three
 * bytes come first: the form, and how many numbers the set has, so that a set that was cut is refused.
 *
 * @module
 */

/** Number of servers of a block. */
export const BLOCK = 4096;

/** Two bytes per number of the block: those of the set. */
const LIST = 0;
/** Four bytes per run of successive numbers: the first one, and how many follow it. */
const RUNS = 1;
/** One bit per number, from the lowest bit of the first byte. */
const BITMAP = 2;
/** Size of a bitmap, and of what comes before the numbers, bytes. */
const [BITMAP_BYTES, HEAD_BYTES] = [BLOCK / 8, 3];

/** The block of a server's number. */
export function blockOf(server: number): number {
  return Math.floor(server / BLOCK);
}

/**
 * Encodes the numbers of one block.
 *
 * @param servers Numbers of servers in ascending order, without repetitions, all of one block.
 * @returns At most 515 bytes.
 */
export function encodeBlock(servers: readonly number[]): Uint8Array<ArrayBuffer> {
  const offsets = servers.map((server) => server % BLOCK);
  const runs: [first: number, more: number][] = [];
  for (const offset of offsets) {
    const run = runs.at(-1);
    if (run !== undefined && run[0] + run[1] + 1 === offset) run[1]++;
    else runs.push([offset, 0]);
  }
  const shortest = Math.min(2 * offsets.length, 4 * runs.length, BITMAP_BYTES);
  if (shortest === BITMAP_BYTES) {
    const { bytes } = newSet(BITMAP, offsets.length, BITMAP_BYTES);
    for (const offset of offsets) bytes[HEAD_BYTES + (offset >> 3)] |= 1 << (offset & 7);
    return bytes;
  }
  const isList = shortest === 2 * offsets.length;
  const { bytes, view } = newSet(isList ? LIST : RUNS, offsets.length, shortest);
  for (const [i, number] of (isList ? offsets : runs.flat()).entries()) {
    view.setUint16(HEAD_BYTES + 2 * i, number);
  }
  return bytes;
}

function newSet(form: number, count: number, size: number) {
  const bytes = new Uint8Array(HEAD_BYTES + size);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, form);
  view.setUint16(1, count);
  return { bytes, view };
}

/** The number of servers of an encoded block. Its first three bytes suffice. */
export function countOfBlock(bytes: Uint8Array): number {
  return bytes[1] * 256 + bytes[2];
}

/**
 * Decodes the numbers of a block, in ascending order; `undefined`: the bytes are damaged.
 */
export function decodeBlock(block: number, bytes: Uint8Array): number[] | undefined {
  if (bytes.length < HEAD_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const servers = numbersIn(bytes, view, block * BLOCK);
  if (servers?.length !== countOfBlock(bytes)) return undefined;
  let least = block * BLOCK;
  for (const server of servers) {
    if (server < least) return undefined;
    least = server + 1;
  }
  return least <= (block + 1) * BLOCK ? servers : undefined;
}

/** The numbers of a block whose first number is `start`; they may be damaged. */
function numbersIn(bytes: Uint8Array, view: DataView, start: number): number[] | undefined {
  const [form, size] = [bytes[0], bytes.length - HEAD_BYTES];
  const servers: number[] = [];
  if (form === LIST && size % 2 === 0) {
    for (let at = HEAD_BYTES; at < bytes.length; at += 2) servers.push(start + view.getUint16(at));
    return servers;
  }
  if (form === RUNS && size % 4 === 0) {
    for (let at = HEAD_BYTES; at < bytes.length; at += 4) {
      const first = start + view.getUint16(at);
      const more = Math.min(view.getUint16(at + 2), BLOCK);
      for (let k = 0; k <= more; k++) servers.push(first + k);
    }
    return servers;
  }
  if (form === BITMAP && size === BITMAP_BYTES) {
    for (let at = 0; at < BITMAP_BYTES; at++) {
      const eight = bytes[HEAD_BYTES + at];
      for (let bit = 0; eight >> bit !== 0; bit++) {
        if (eight >> bit & 1) servers.push(start + 8 * at + bit);
      }
    }
    return servers;
  }
  return undefined;
}
