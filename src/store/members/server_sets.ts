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
  const offsets = offsetsIn(bytes, view);
  if (offsets?.length !== countOfBlock(bytes)) return undefined;
  const isAscending = offsets.every((offset, i) =>
    offset < BLOCK && (i === 0 || offset > offsets[i - 1])
  );
  return isAscending ? offsets.map((offset) => block * BLOCK + offset) : undefined;
}

function offsetsIn(bytes: Uint8Array, view: DataView): number[] | undefined {
  const [form, size] = [bytes[0], bytes.length - HEAD_BYTES];
  const numbers = () =>
    Array.from({ length: size / 2 }, (_, i) => view.getUint16(HEAD_BYTES + 2 * i));
  if (form === LIST && size % 2 === 0) return numbers();
  if (form === RUNS && size % 4 === 0) {
    const runs = numbers();
    return runs.flatMap((first, i) =>
      i % 2 === 1
        ? []
        : Array.from({ length: Math.min(runs[i + 1], BLOCK) + 1 }, (_, k) => first + k)
    );
  }
  if (form === BITMAP && size === BITMAP_BYTES) {
    const offsets: number[] = [];
    for (let offset = 0; offset < BLOCK; offset++) {
      if (bytes[HEAD_BYTES + (offset >> 3)] >> (offset & 7) & 1) offsets.push(offset);
    }
    return offsets;
  }
  return undefined;
}
