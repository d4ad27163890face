/**
 * The texts of servers in shared memory, and the search for a part of them.
 *
 * The texts of servers lie one after the other in the order of servers, in lower case and in UTF-8.
 * A zero byte, which no text contains, follows each of them. A text that becomes longer than its
 * space moves into a second part, where each text has the number of its server.
 *
 * @module
 */

/** The memory of the texts. Pages that are not used take no memory. */
export interface TextMemory {
  /** The starts of the texts, and behind the last one their end. */
  readonly starts: SharedArrayBuffer;
  readonly bytes: SharedArrayBuffer;
  /** Number of texts of the second part. */
  readonly movedCount: SharedArrayBuffer;
  /** `servers.id` of the moved texts. */
  readonly movedIds: SharedArrayBuffer;
  /** The starts of the moved texts, and behind the last one their end. */
  readonly movedStarts: SharedArrayBuffer;
  readonly movedBytes: SharedArrayBuffer;
}

/** Bytes of a server's texts on average. If texts need more, long ones are cut. */
const BYTES = 96;
/** A text may take this multiple of the bytes that are left for each further server. */
const SHARE = 4;
/** Number of texts of the second part, and their bytes. */
const MOVED = 2 ** 16;

/** Makes the memory for the texts of servers. */
export function newTexts(capacity: number): TextMemory {
  return {
    starts: new SharedArrayBuffer(4 * (capacity + 1)),
    bytes: new SharedArrayBuffer(BYTES * capacity),
    movedCount: new SharedArrayBuffer(4),
    movedIds: new SharedArrayBuffer(4 * MOVED),
    movedStarts: new SharedArrayBuffer(4 * (MOVED + 1)),
    movedBytes: new SharedArrayBuffer(BYTES * MOVED),
  };
}

class TextViews {
  readonly starts: Uint32Array;
  readonly bytes: Uint8Array;
  readonly movedCount: Int32Array;
  readonly movedIds: Int32Array;
  readonly movedStarts: Uint32Array;
  readonly movedBytes: Uint8Array;

  constructor(memory: TextMemory) {
    this.starts = new Uint32Array(memory.starts);
    this.bytes = new Uint8Array(memory.bytes);
    this.movedCount = new Int32Array(memory.movedCount);
    this.movedIds = new Int32Array(memory.movedIds);
    this.movedStarts = new Uint32Array(memory.movedStarts);
    this.movedBytes = new Uint8Array(memory.movedBytes);
  }
}

export class TextWriter extends TextViews {
  readonly #encoder = new TextEncoder();
  readonly #capacity: number;

  constructor(memory: TextMemory) {
    super(memory);
    this.#capacity = this.starts.length - 1;
  }

  /**
   * Writes the text of a new server behind all others.
   *
   * @returns Whether there was room for all of it.
   */
  append(slot: number, text: string): boolean {
    const start = this.starts[slot];
    const share = Math.floor(SHARE * (this.bytes.length - start) / (this.#capacity - slot));
    const end = Math.min(start + share, this.bytes.length) - 1;
    const { read, written } = this.#encoder.encodeInto(text, this.bytes.subarray(start, end));
    this.starts[slot + 1] = start + written + 1;
    return read === text.length;
  }

  /** Makes room for a server among others; its text has to be moved. */
  insert(slot: number, count: number): void {
    this.starts.copyWithin(slot + 1, slot, count + 1);
  }

  /**
   * Writes the text of a server that has one.
   *
   * @returns Whether there was room.
   */
  replace(slot: number, id: number, text: string): boolean {
    const space = this.bytes.subarray(
      this.starts[slot],
      Math.max(this.starts[slot], this.starts[slot + 1] - 1),
    );
    this.#clearMoved(id);
    const { read, written } = this.#encoder.encodeInto(text, space);
    space.fill(0, read === text.length ? written : 0);
    return read === text.length || this.#move(id, text);
  }

  #move(id: number, text: string): boolean {
    const count = this.movedCount[0];
    if (count >= this.movedIds.length) return false;
    const start = this.movedStarts[count];
    const { read, written } = this.#encoder.encodeInto(text, this.movedBytes.subarray(start, -1));
    if (read < text.length) return false;
    this.movedBytes[start + written] = 0;
    this.movedIds[count] = id;
    this.movedStarts[count + 1] = start + written + 1;
    Atomics.store(this.movedCount, 0, count + 1);
    return true;
  }

  #clearMoved(id: number): void {
    for (let i = this.movedCount[0] - 1; i >= 0; i--) {
      if (this.movedIds[i] !== id) continue;
      this.movedIds[i] = 0;
      this.movedBytes.fill(0, this.movedStarts[i], this.movedStarts[i + 1]);
    }
  }
}

/** Finds servers by their texts. */
export class TextReader extends TextViews {
  /**
   * Finds the servers whose text contains a part.
   *
   * @param part In lower case, not empty.
   * @param count Number of servers.
   * @param found Receives the slot of each server, in ascending order.
   * @param foundMoved Receives the `servers.id` of each server whose text was moved.
   */
  search(
    part: string,
    count: number,
    found: (slot: number) => void,
    foundMoved: (id: number) => void,
  ): void {
    const bytes = new TextEncoder().encode(part);
    const skips = skipsOf(bytes);
    searchTexts(this.bytes, this.starts, count, bytes, skips, found);
    const moved = Atomics.load(this.movedCount, 0);
    const foundSlot = (slot: number) => foundMoved(this.movedIds[slot]);
    searchTexts(this.movedBytes, this.movedStarts, moved, bytes, skips, foundSlot);
  }
}

/**
 * Finds the texts that contain a part, by the Boyer-Moore-Horspool search.
 *
 * @param starts The starts of texts, and the end of the last one.
 * @param count Number of texts.
 * @param found Receives the slot of each text.
 */
function searchTexts(
  bytes: Uint8Array,
  starts: Uint32Array,
  count: number,
  part: Uint8Array,
  skips: Int32Array,
  found: (slot: number) => void,
): void {
  const last = part.length - 1;
  const [final, end] = [part[last], Math.min(starts[count], bytes.length)];
  let slot = 0;
  for (let at = last; at < end;) {
    const byte = bytes[at];
    let same = byte === final ? 0 : -1;
    if (same === 0) { while (same < last && bytes[at - last + same] === part[same]) same++; }
    if (same !== last) {
      at += skips[byte];
      continue;
    }
    slot = slotAt(starts, at - last, slot, count);
    found(slot);
    at = starts[slot + 1] + last;
  }
}

/** How far the search may go on from each byte. */
function skipsOf(part: Uint8Array): Int32Array {
  const last = part.length - 1;
  const skips = new Int32Array(256).fill(part.length);
  for (let i = 0; i < last; i++) skips[part[i]] = last - i;
  return skips;
}

/** The last text from `first` on that starts at a position or before it. */
function slotAt(starts: Uint32Array, at: number, first: number, count: number): number {
  let [low, step] = [first, 1];
  while (low + step < count && starts[low + step] <= at) [low, step] = [low + step, 2 * step];
  let high = Math.min(low + step, count);
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (starts[middle] <= at) low = middle;
    else high = middle;
  }
  return low;
}
