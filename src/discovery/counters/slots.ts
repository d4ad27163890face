/**
 * Growable typed arrays, and an index of their values.
 *
 * @module
 */
import { mix } from "../../core/bits.ts";

type Numbers = Uint8Array | Uint16Array | Uint32Array | Float64Array;

/** A copy of an array with half as much again; the array itself if it is long enough. */
export function grown<T extends Numbers>(array: T, length: number): T {
  if (length <= array.length) return array;
  const Kind = array.constructor as new (length: number) => T;
  const copy = new Kind(Math.max(16, length, Math.ceil(array.length * 1.5)));
  copy.set(array);
  return copy;
}

/** Number of rows that are allocated together. */
const ROWS = 256;

/** Rows of equal numbers of values, which grow without being copied. */
export class Rows<T extends Uint8Array | Uint32Array> {
  readonly #chunks: T[] = [];

  /**
   * Creates an empty table.
   *
   * @param width Number of values in a row.
   */
  constructor(readonly width: number, private readonly allocate: (length: number) => T) {}

  /** Memory of the table, bytes. */
  get bytes(): number {
    return this.#chunks.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** The array that contains a row. */
  chunk(row: number): T {
    return this.#chunks[row >>> 8] ??= this.allocate(ROWS * this.width);
  }

  /** The index of a row's first value in its array. */
  start(row: number): number {
    return (row & ROWS - 1) * this.width;
  }
}

/** A hash table from values to their indexes in a list, with linear probing. */
export class Slots {
  /** Index plus one; 0: the slot is free. */
  #slots = new Uint32Array(64);
  #length = 0;

  /**
   * Creates an empty table.
   *
   * @param valueAt The value with an index.
   */
  constructor(private readonly valueAt: (index: number) => number) {}

  /** Memory of the table, bytes. */
  get bytes(): number {
    return this.#slots.byteLength;
  }

  /** The index of a value; -1: it is not in the table. */
  find(value: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let slot = mix(value) & mask; slots[slot] !== 0; slot = slot + 1 & mask) {
      if (this.valueAt(slots[slot] - 1) === value) return slots[slot] - 1;
    }
    return -1;
  }

  /** Adds the next index, whose value is not in the table. */
  add(value: number): void {
    if (2 * ++this.#length > this.#slots.length) this.#grow();
    this.#put(value, this.#length);
  }

  #put(value: number, stored: number): void {
    const mask = this.#slots.length - 1;
    let slot = mix(value) & mask;
    while (this.#slots[slot] !== 0) slot = slot + 1 & mask;
    this.#slots[slot] = stored;
  }

  #grow(): void {
    this.#slots = new Uint32Array(2 * this.#slots.length);
    for (let i = 0; i < this.#length - 1; i++) this.#put(this.valueAt(i), i + 1);
  }
}
