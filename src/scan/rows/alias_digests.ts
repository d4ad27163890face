/**
 * Digests that identify rows, and a table of digests with a few bytes per entry.
 *
 * @module
 */
import type { Address } from "../../core/address.ts";

/**
 * `charCodeAt`, looked up once. V8 has more internal string types than one call site can cache. A
 * normal call would therefore search for the method at each character.
 */
const unitAt = String.prototype.charCodeAt;

/**
 * Tags of parts other than texts. They are negative; a text begins with its length, which is 0 or
 * more.
 */
const TAG = { noText: -1, noNumber: -2, integer: -3, number: -4, ipv4: -5, ipv6: -6 };

/**
 * A keyed 64-bit hash of several parts. The boundaries of parts are hashed too, and a missing part
 * differs from an empty text. Servers choose the hashed texts. Without the key, they could choose
 * texts that collide. The hash is fast and not cryptographic: every row of a scan is hashed.
 */
export class AliasDigest {
  /** The lower half, signed. */
  low = 0;
  /** The upper half, signed. */
  high = 0;
  readonly #key: Int32Array;

  /**
   * Creates the initial state.
   *
   * @param key 8 secret bytes.
   */
  constructor(key: Uint8Array) {
    const view = new DataView(key.buffer, key.byteOffset, 8);
    this.#key = Int32Array.of(view.getInt32(0), view.getInt32(4));
  }

  /** Resets the hash to its initial state. */
  clear(): this {
    return this.resume(this.#key[0], this.#key[1]);
  }

  /** Sets the hash to the state of another digest. */
  resume(low: number, high: number): this {
    this.low = low;
    this.high = high;
    return this;
  }

  /** Hashes 32 bits. Each half is a bijection of its old value, and of the word. */
  word(word: number): this {
    let { low, high } = this;
    low = Math.imul(low ^ word, 0x85ebca6b);
    this.low = low ^ low >>> 13;
    high = Math.imul(high ^ (word << 16 | word >>> 16), 0xc2b2ae35);
    this.high = high ^ high >>> 16;
    return this;
  }

  /** Hashes a text: its length, then two UTF-16 units per word. */
  text(text: string | null): this {
    if (text === null) return this.word(TAG.noText);
    const { length } = text;
    let { low, high } = this.word(length);
    // this is word(), with both halves in local variables, which is faster
    for (let i = 0; i < length; i += 2) {
      const first = unitAt.call(text, i);
      const second = i + 1 < length ? unitAt.call(text, i + 1) : 0;
      low = Math.imul(low ^ (first | second << 16), 0x85ebca6b);
      low ^= low >>> 13;
      high = Math.imul(high ^ (first << 16 | second), 0xc2b2ae35);
      high ^= high >>> 16;
    }
    return this.resume(low, high);
  }

  /** Hashes a number, or that the number is missing. */
  number(value: number | null): this {
    if (value === null) return this.word(TAG.noNumber);
    return value === (value | 0)
      ? this.word(TAG.integer).word(value)
      : this.word(TAG.number).text(String(value));
  }

  /** Adds an address to the hash. */
  address(address: Address): this {
    if (typeof address === "number") return this.word(TAG.ipv4).word(address | 0);
    this.word(TAG.ipv6);
    for (let shift = 96n; shift >= 0n; shift -= 32n) {
      this.word(Number(BigInt.asIntN(32, address >> shift)));
    }
    return this;
  }
}

/** Words of a slot: the halves of a digest, and its value. */
const SLOT = 3;

/** The digests of a {@linkcode DigestTable} and their values. */
export interface DigestTableState {
  /** Number of digests. */
  readonly size: number;
  /** The slots of the table, whose number is a power of two. */
  readonly slots: Int32Array<ArrayBuffer>;
}

/**
 * Maps digests to numbers: an open-addressed table of 12 bytes per slot, at most three quarters
 * full. (A `Map` would keep an object for each digest.)
 */
export class DigestTable {
  /** Number of digests in the table. */
  size = 0;
  #slots = new Int32Array(SLOT * 1024);
  #mask = 1023;

  /**
   * Creates the initial state.
   *
   * @param most Maximum number of digests.
   */
  constructor(private readonly most: number) {}

  /** The digests and their values. */
  get state(): DigestTableState {
    return { size: this.size, slots: this.#slots };
  }

  /** Replaces all digests and values. */
  set state({ size, slots }: DigestTableState) {
    this.size = size;
    this.#slots = slots;
    this.#mask = slots.length / SLOT - 1;
  }

  /** The value of a digest; 0 when it has none. */
  get(low: number, high: number): number {
    return this.#slots[this.#find(low, high) + 2];
  }

  /** Replaces the value of a digest, if it has one. Values are signed 32-bit numbers, not 0. */
  set(low: number, high: number, value: number): void {
    const at = this.#find(low, high);
    if (this.#slots[at + 2] !== 0) this.#slots[at + 2] = value;
  }

  /** Sets the value of a new digest, if the table is not full. Returns the old value, or 0. */
  add(low: number, high: number, value: number): number {
    const at = this.#find(low, high);
    const before = this.#slots[at + 2];
    if (before !== 0 || this.size >= this.most) return before;
    this.#slots[at] = low;
    this.#slots[at + 1] = high;
    this.#slots[at + 2] = value;
    if (++this.size * 4 > (this.#mask + 1) * 3) this.#grow();
    return 0;
  }

  /** The slot of a digest, or the free slot for it. */
  #find(low: number, high: number): number {
    const slots = this.#slots;
    const mask = this.#mask;
    for (let i = low & mask;; i = i + 1 & mask) {
      const at = SLOT * i;
      if (slots[at + 2] === 0 || slots[at] === low && slots[at + 1] === high) return at;
    }
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = new Int32Array(before.length * 2);
    this.#mask = 2 * this.#mask + 1;
    for (let from = 0; from < before.length; from += SLOT) {
      if (before[from + 2] === 0) continue;
      const at = this.#find(before[from], before[from + 1]);
      for (let i = 0; i < SLOT; i++) this.#slots[at + i] = before[from + i];
    }
  }
}
