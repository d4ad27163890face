/**
 * Planned slices: consecutive ranks of a /24 on one port.
 *
 * @module
 */
import { bitAt, bitCount } from "../counters/bit_sets.ts";
import { grown } from "../counters/slots.ts";

/** Number of slices for which one sum is stored. */
const GROUP = 16;
/** Bit of a stored port: the slice has a mask of targets. */
const MASKED = 0x8000;

export interface SliceEntry {
  /** The key of the /24. */
  key: number;
  /** The index of the port. */
  port: number;
  /** The rank of the address in its /24. */
  rank: number;
}

/** Slices in ascending order of key, port and rank, eight bytes each. */
export class SliceList {
  #keys = new Uint32Array(0);
  #ports = new Uint16Array(0);
  #from = new Uint8Array(0);
  /** Number of ranks, 1 to 64. */
  #lengths = new Uint8Array(0);
  /** Two words for each slice that does not contain all of its ranks: bit i stands for rank i. */
  #masks = new Uint32Array(0);
  /** The positions of each group's first slice, and its first mask. */
  #positions = new Uint32Array(0);
  #maskStarts = new Uint32Array(0);
  #length = 0;
  #masked = 0;
  #size = 0;

  /** Number of slices. */
  get length(): number {
    return this.#length;
  }

  /** Number of endpoints. */
  get size(): number {
    return this.#size;
  }

  clear(): void {
    this.#length = this.#masked = this.#size = 0;
  }

  /**
   * Adds the next slice.
   *
   * @param low The ranks 0 to 31 of the slice that are probed, as bits.
   * @param high The ranks 32 to 63.
   * @returns The number of endpoints.
   */
  add(key: number, port: number, from: number, length: number, low: number, high: number): number {
    const i = this.#length;
    if (i === this.#keys.length) this.#grow(i + 1);
    if (i % GROUP === 0) {
      this.#positions[i / GROUP] = this.#size;
      this.#maskStarts[i / GROUP] = this.#masked;
    }
    const count = bitCount(low) + bitCount(high);
    this.#keys[i] = key;
    this.#ports[i] = count < length ? port | MASKED : port;
    this.#from[i] = from;
    this.#lengths[i] = length;
    if (count < length) {
      this.#masks = grown(this.#masks, 2 * this.#masked + 2);
      this.#masks[2 * this.#masked] = low;
      this.#masks[2 * this.#masked + 1] = high;
      this.#masked++;
    }
    this.#length++;
    this.#size += count;
    return count;
  }

  /** Calls a function with each slice in order, and the number of its endpoints. */
  forEach(
    visit: (key: number, port: number, length: number, count: number, from: number) => void,
  ): void {
    for (let i = 0, mask = 0; i < this.#length; i++) {
      const count = this.#count(i, mask);
      if (this.#isMasked(i)) mask++;
      visit(this.#keys[i], this.#ports[i] & ~MASKED, this.#lengths[i], count, this.#from[i]);
    }
  }

  /** Finds the endpoint at a position from 0 to `size` - 1. */
  locate(position: number, entry: SliceEntry): void {
    const group = this.#lastGroup(position);
    let rest = position - this.#positions[group];
    let mask = this.#maskStarts[group];
    let i = group * GROUP;
    for (;; i++) {
      const count = this.#count(i, mask);
      if (rest < count) break;
      rest -= count;
      if (this.#isMasked(i)) mask++;
    }
    entry.key = this.#keys[i];
    entry.port = this.#ports[i] & ~MASKED;
    entry.rank = this.#from[i] + (this.#isMasked(i) ? this.#rankIn(mask, rest) : rest);
  }

  /** The index of the slice that contains a rank; -1: none does. */
  find(key: number, port: number, rank: number): number {
    let i = this.#firstOf(key);
    let mask = this.#maskStarts[Math.floor(i / GROUP)];
    for (let j = i - i % GROUP; j < i; j++) if (this.#isMasked(j)) mask++;
    for (; i < this.#length && this.#keys[i] === key; i++) {
      const at = rank - this.#from[i];
      if ((this.#ports[i] & ~MASKED) === port && at >= 0 && at < this.#lengths[i]) {
        const isIn = !this.#isMasked(i) ||
          (this.#masks[2 * mask + (at >> 5)] >>> (at & 31) & 1) === 1;
        return isIn ? i : -1;
      }
      if (this.#isMasked(i)) mask++;
    }
    return -1;
  }

  #isMasked(i: number): boolean {
    return (this.#ports[i] & MASKED) !== 0;
  }

  #count(i: number, mask: number): number {
    if (!this.#isMasked(i)) return this.#lengths[i];
    return bitCount(this.#masks[2 * mask]) + bitCount(this.#masks[2 * mask + 1]);
  }

  #rankIn(mask: number, index: number): number {
    const low = bitCount(this.#masks[2 * mask]);
    return index < low
      ? bitAt(this.#masks[2 * mask], index)
      : 32 + bitAt(this.#masks[2 * mask + 1], index - low);
  }

  /** The last group whose first position is at most the given one. */
  #lastGroup(position: number): number {
    let low = 0;
    for (let high = Math.ceil(this.#length / GROUP); high - low > 1;) {
      const middle = low + high >>> 1;
      if (this.#positions[middle] <= position) low = middle;
      else high = middle;
    }
    return low;
  }

  /** The first slice of a key, or of the next key. */
  #firstOf(key: number): number {
    let low = 0;
    for (let high = this.#length; low < high;) {
      const middle = low + high >>> 1;
      if (this.#keys[middle] < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #grow(length: number): void {
    this.#keys = grown(this.#keys, length);
    this.#ports = grown(this.#ports, length);
    this.#from = grown(this.#from, length);
    this.#lengths = grown(this.#lengths, length);
    this.#positions = grown(this.#positions, Math.ceil(this.#keys.length / GROUP));
    this.#maskStarts = grown(this.#maskStarts, Math.ceil(this.#keys.length / GROUP));
  }
}
