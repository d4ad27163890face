/**
 * The texts of servers in shared memory, and the search for a part of them.
 *
 * The texts of servers lie one after the other in the order of servers, in lower case and in UTF-8. A zero
 * byte, which no text contains, follows each of them. A text that becomes longer than its place moves into
 * a second part, where each text has the number of its server.
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
  /** The ends of the moved texts. */
  readonly movedEnds: SharedArrayBuffer;
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
    movedEnds: new SharedArrayBuffer(4 * MOVED),
    movedBytes: new SharedArrayBuffer(BYTES * MOVED),
  };
}

/** Views of the memory. */
class TextViews {
  readonly starts: Uint32Array;
  readonly bytes: Uint8Array;
  readonly movedCount: Int32Array;
  readonly movedIds: Int32Array;
  readonly movedEnds: Uint32Array;
  readonly movedBytes: Uint8Array;

  constructor(memory: TextMemory) {
    this.starts = new Uint32Array(memory.starts);
    this.bytes = new Uint8Array(memory.bytes);
    this.movedCount = new Int32Array(memory.movedCount);
    this.movedIds = new Int32Array(memory.movedIds);
    this.movedEnds = new Uint32Array(memory.movedEnds);
    this.movedBytes = new Uint8Array(memory.movedBytes);
  }
}

/** Writes the texts of servers. */
export class TextWriter extends TextViews {
  readonly #encoder = new TextEncoder();
  readonly #capacity: number;

  constructor(memory: TextMemory) {
    super(memory);
    this.#capacity = this.starts.length - 1;
  }

  /** Writes the text of a new server behind all others. */
  append(row: number, text: string): void {
    const start = this.starts[row];
    const share = Math.floor(SHARE * (this.bytes.length - start) / (this.#capacity - row));
    const end = Math.min(start + share, this.bytes.length) - 1;
    const { written } = this.#encoder.encodeInto(text, this.bytes.subarray(start, end));
    this.starts[row + 1] = start + written + 1;
  }

  /** Makes room for a server among others; its text has to be moved. */
  insert(row: number, count: number): void {
    this.starts.copyWithin(row + 1, row, count + 1);
  }

  /**
   * Writes the text of a server that has one.
   *
   * @returns Whether there was room.
   */
  replace(row: number, id: number, text: string): boolean {
    const place = this.bytes.subarray(
      this.starts[row],
      Math.max(this.starts[row], this.starts[row + 1] - 1),
    );
    this.#clearMoved(id);
    const { read, written } = this.#encoder.encodeInto(text, place);
    place.fill(0, read === text.length ? written : 0);
    return read === text.length || this.#move(id, text);
  }

  #move(id: number, text: string): boolean {
    const count = this.movedCount[0];
    if (count >= this.movedIds.length) return false;
    const start = count === 0 ? 0 : this.movedEnds[count - 1];
    const { read, written } = this.#encoder.encodeInto(text, this.movedBytes.subarray(start, -1));
    if (read < text.length) return false;
    this.movedBytes[start + written] = 0;
    this.movedIds[count] = id;
    this.movedEnds[count] = start + written + 1;
    Atomics.store(this.movedCount, 0, count + 1);
    return true;
  }

  #clearMoved(id: number): void {
    for (let i = this.movedCount[0] - 1; i >= 0; i--) {
      if (this.movedIds[i] !== id) continue;
      this.movedIds[i] = 0;
      this.movedBytes.fill(0, i === 0 ? 0 : this.movedEnds[i - 1], this.movedEnds[i]);
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
   * @param found Receives the place of each server, in ascending order.
   * @param foundMoved Receives the `servers.id` of each server whose text was moved.
   */
  search(
    part: string,
    count: number,
    found: (row: number) => void,
    foundMoved: (id: number) => void,
  ): void {
    const search = new ByteSearch(new TextEncoder().encode(part));
    const { starts, bytes } = this;
    const end = starts[count];
    for (let row = 0, at = search.in(bytes, 0, end); at < end;) {
      row = rowAt(starts, at, row, count);
      found(row);
      at = search.in(bytes, starts[row + 1], end);
    }
    const moved = Atomics.load(this.movedCount, 0);
    for (let i = 0; i < moved; i++) {
      const [from, to] = [i === 0 ? 0 : this.movedEnds[i - 1], this.movedEnds[i]];
      if (this.movedIds[i] !== 0 && search.in(this.movedBytes, from, to) < to) {
        foundMoved(this.movedIds[i]);
      }
    }
  }
}

/** The last row from `first` on that starts at a position or before it. Rows without a text are skipped. */
function rowAt(starts: Uint32Array, at: number, first: number, count: number): number {
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

/** The Boyer–Moore–Horspool search. */
class ByteSearch {
  readonly #skips: Int32Array;

  constructor(private readonly part: Uint8Array) {
    const last = part.length - 1;
    this.#skips = new Int32Array(256).fill(part.length);
    for (let i = 0; i < last; i++) this.#skips[part[i]] = last - i;
  }

  /** The position of the first occurrence between two positions; `end`: none. */
  in(bytes: Uint8Array, start: number, end: number): number {
    const { part } = this;
    const [skips, last] = [this.#skips, part.length - 1];
    const final = part[last];
    for (let at = start + last; at < end;) {
      const byte = bytes[at];
      if (byte === final) {
        let i = last - 1;
        while (i >= 0 && bytes[at - last + i] === part[i]) i--;
        if (i < 0) return at - last;
      }
      at += skips[byte];
    }
    return end;
  }
}
