/**
 * Reads MaxMind DB files, which map networks to records.
 *
 *     search tree    nodes of two records: a node, "no data", or a place in the data section
 *     16 zero bytes
 *     data section   values, each with type and size in front
 *     marker         ab cd ef "MaxMind.com"
 *     metadata       a map: node_count, record_size (24, 28 or 32 bits), ip_version ...
 *
 * Format: https://maxmind.github.io/MaxMind-DB/, version 2.0. A damaged file gives `undefined` or wrong
 * texts, in a bounded time: nothing is read outside the sections, and a record has a maximum size.
 *
 * @module
 */
import type { Address } from "../../core/address.ts";

/** A value of a record. Values of types that are not needed, and of a wrong size, are `undefined`. */
export type MmdbValue = string | number | MmdbMap | readonly MmdbValue[] | undefined;

/** A map of a record. */
export type MmdbMap = ReadonlyMap<string, MmdbValue>;

/** The bytes are no MaxMind DB file, or its metadata or a record is damaged. */
export class MmdbError extends Error {}

const MARKER = new TextEncoder().encode("\0\0\0MaxMind.com");
MARKER.set([0xab, 0xcd, 0xef]);
/** Maximum size of the metadata with its marker, bytes (by the specification). */
const MOST_METADATA = 131_072;
/** Number of zero bytes between search tree and data section. */
const SEPARATOR = 16;
/** Maximum number of values in a record, and of maps, lists and pointers around a value. */
const MOST_VALUES = 1000;
const MOST_DEPTH = 16;
/** Maximum size of a text that is read, bytes. */
const MOST_TEXT = 1000;

/** The types of values. */
const TYPE = {
  pointer: 1,
  text: 2,
  double: 3,
  uint16: 5,
  uint32: 6,
  map: 7,
  list: 11,
  boolean: 14,
};

/** A value, and where the next one begins. */
interface Decoded {
  readonly value: MmdbValue;
  readonly next: number;
}

/** Decodes values of a section. */
class Section {
  readonly #view: DataView;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });

  constructor(private readonly bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** @throws MmdbError for a damaged value. */
  valueAt(offset: number): MmdbValue {
    return this.#decode(offset, { left: MOST_VALUES }, 0).value;
  }

  #decode(offset: number, budget: { left: number }, depth: number): Decoded {
    if (budget.left-- <= 0 || depth > MOST_DEPTH) throw new MmdbError("a record is too large");
    const control = this.#uint(offset, 1);
    if (control >> 5 === TYPE.pointer) {
      const { target, next } = this.#pointer(control, offset + 1);
      return { value: this.#decode(target, budget, depth + 1).value, next };
    }
    const isExtended = control >> 5 === 0;
    const type = isExtended ? 7 + this.#uint(offset + 1, 1) : control >> 5;
    const { size, start } = this.#size(control & 31, offset + (isExtended ? 2 : 1));
    if (type === TYPE.map) return this.#map(start, size, budget, depth);
    if (type === TYPE.list) return this.#list(start, size, budget, depth);
    if (type === TYPE.boolean) return { value: undefined, next: start };
    return { value: this.#scalar(type, start, size), next: start + size };
  }

  #scalar(type: number, start: number, size: number): MmdbValue {
    if (start + size > this.bytes.length) throw new MmdbError("a value is incomplete");
    if ((type === TYPE.uint16 || type === TYPE.uint32) && size <= 4) return this.#uint(start, size);
    if (type !== TYPE.text || size > MOST_TEXT) return undefined;
    try {
      return this.#decoder.decode(this.bytes.slice(start, start + size));
    } catch {
      throw new MmdbError("a text is not UTF-8");
    }
  }

  #map(start: number, size: number, budget: { left: number }, depth: number): Decoded {
    const map = new Map<string, MmdbValue>();
    let next = start;
    for (let i = 0; i < size; i++) {
      const key = this.#decode(next, budget, depth + 1);
      const value = this.#decode(key.next, budget, depth + 1);
      if (typeof key.value === "string") map.set(key.value, value.value);
      next = value.next;
    }
    return { value: map, next };
  }

  #list(start: number, size: number, budget: { left: number }, depth: number): Decoded {
    const list: MmdbValue[] = [];
    let next = start;
    for (let i = 0; i < size; i++) {
      const one = this.#decode(next, budget, depth + 1);
      list.push(one.value);
      next = one.next;
    }
    return { value: list, next };
  }

  /** The size of a value in 5 bits; 29, 30 and 31 stand for one, two and three further bytes. */
  #size(bits: number, start: number): { size: number; start: number } {
    if (bits < 29) return { size: bits, start };
    const bytes = bits - 28;
    const least = [29, 285, 65_821][bytes - 1];
    return { size: least + this.#uint(start, bytes), start: start + bytes };
  }

  /** `001SSVVV`: S is the number of further bytes less one. With four bytes, V is not used. */
  #pointer(control: number, start: number): { target: number; next: number } {
    const bytes = (control >> 3 & 3) + 1;
    const high = bytes === 4 ? 0 : (control & 7) * 256 ** bytes;
    const least = [0, 2048, 526_336, 0][bytes - 1];
    return { target: least + high + this.#uint(start, bytes), next: start + bytes };
  }

  #uint(offset: number, size: number): number {
    if (offset + size > this.bytes.length) throw new MmdbError("a value is incomplete");
    let value = 0;
    for (let i = 0; i < size; i++) value = value * 256 + this.#view.getUint8(offset + i);
    return value;
  }
}

/** A MaxMind DB file in memory. */
export class MmdbFile {
  readonly metadata: MmdbMap;
  /** Number of nodes of the search tree. */
  readonly nodes: number;
  readonly #bits: number;
  readonly #tree: Uint8Array;
  readonly #data: Section;
  readonly #dataSize: number;
  /** The record at which the addresses of IPv4 begin; in an IPv6 tree they are `::a.b.c.d`. */
  readonly #v4Start: number;
  readonly #hasV6: boolean;

  /** @throws MmdbError when the bytes are no such file, or their end is missing. */
  constructor(bytes: Uint8Array) {
    const marker = lastMarker(bytes);
    if (marker < 0) throw new MmdbError("it is no MaxMind DB file");
    const metadata = new Section(bytes.subarray(marker + MARKER.length)).valueAt(0);
    if (!(metadata instanceof Map)) throw new MmdbError("its metadata is damaged");
    const [nodes, bits, version] = ["node_count", "record_size", "ip_version"]
      .map((name) => metadata.get(name));
    const isKnown = typeof nodes === "number" && nodes > 0 && typeof bits === "number" &&
      [24, 28, 32].includes(bits) && (version === 4 || version === 6);
    if (!isKnown) throw new MmdbError("its metadata is damaged");
    const treeSize = nodes * bits / 4;
    if (treeSize + SEPARATOR >= marker) throw new MmdbError("its search tree is incomplete");
    this.metadata = metadata;
    [this.nodes, this.#bits] = [nodes, bits];
    this.#tree = bytes.subarray(0, treeSize);
    this.#data = new Section(bytes.subarray(treeSize + SEPARATOR, marker));
    this.#dataSize = marker - treeSize - SEPARATOR;
    this.#hasV6 = version === 6;
    this.#v4Start = this.#hasV6 ? this.#descend(0, 96, () => 0) : 0;
  }

  /** Where the record of an address is in the data section; `undefined`: the file has none. */
  find(address: Address): number | undefined {
    if (typeof address === "number") {
      return this.#place(this.#descend(this.#v4Start, 32, (i) => address >>> (31 - i) & 1));
    }
    if (!this.#hasV6) return undefined;
    const halves = [address >> 64n, address & 0xffff_ffff_ffff_ffffn];
    const words = halves.flatMap((half) => [Number(half >> 32n), Number(half & 0xffff_ffffn)]);
    return this.#place(this.#descend(0, 128, (i) => words[i >> 5] >>> (31 - (i & 31)) & 1));
  }

  /** The places of the records to which a node leads directly. */
  placesOf(node: number): number[] {
    return [0, 1].map((side) => this.#place(this.#record(node, side)))
      .filter((place) => place !== undefined);
  }

  /** The record at a place of the data section; `undefined` if it is damaged. */
  recordAt(place: number): MmdbValue {
    try {
      return this.#data.valueAt(place);
    } catch (error) {
      if (error instanceof MmdbError) return undefined;
      throw error;
    }
  }

  /** Follows the bits of an address from a node to a record that is no node. */
  #descend(start: number, length: number, bit: (i: number) => number): number {
    let record = start;
    for (let i = 0; i < length && record < this.nodes; i++) record = this.#record(record, bit(i));
    return record;
  }

  #place(record: number): number | undefined {
    const place = record - this.nodes - SEPARATOR;
    return place >= 0 && place < this.#dataSize ? place : undefined;
  }

  /** A record of a node: 0 left, 1 right. Those of 28 bits share the byte in the middle. */
  #record(node: number, side: number): number {
    const tree = this.#tree;
    const at = node * this.#bits / 4;
    if (this.#bits === 28) {
      const high = side === 0 ? tree[at + 3] >> 4 : tree[at + 3] & 15;
      const low = at + 4 * side;
      return high * 2 ** 24 + tree[low] * 65_536 + tree[low + 1] * 256 + tree[low + 2];
    }
    const size = this.#bits / 8;
    let value = 0;
    for (let i = 0; i < size; i++) value = value * 256 + tree[at + side * size + i];
    return value;
  }
}

/** Where the last marker begins; -1: there is none. */
function lastMarker(bytes: Uint8Array): number {
  const first = Math.max(0, bytes.length - MOST_METADATA);
  for (let at = bytes.length - MARKER.length; at >= first; at--) {
    if (MARKER.every((byte, i) => bytes[at + i] === byte)) return at;
  }
  return -1;
}
