/**
 * Writes small MaxMind DB files.
 *
 * @module
 */
import type { Address } from "../../../src/core/address.ts";

/** A value of a record. Numbers are 32-bit integers. */
export type Value = string | number | { readonly [name: string]: Value };

/** A network and its record. */
export interface Network {
  readonly address: Address;
  readonly prefix: number;
  readonly record: Value;
}

/** The form of a file. */
export interface FileForm {
  readonly bits: 24 | 28 | 32;
  readonly version: 4 | 6;
  readonly metadata?: Readonly<Record<string, Value>>;
}

/** A node of the tree while it is built: each side is empty, a node, or the place of a record. */
type Node = [Side, Side];
type Side = undefined | Node | { readonly place: number };

/** Builds a file. In a file of version 6, networks of IPv4 are those of `::/96`. */
export function mmdbBytes(
  networks: readonly Network[],
  { bits, version, metadata = {} }: FileForm,
): Uint8Array<ArrayBuffer> {
  const root: Node = [undefined, undefined];
  const data: number[] = [];
  const [places, texts] = [new Map<string, number>(), new Map<string, number>()];
  for (const { address, prefix, record } of networks) {
    const text = JSON.stringify(record);
    const place = places.get(text) ?? data.length;
    if (!places.has(text)) append(data, record, texts);
    places.set(text, place);
    insert(root, pathOf(address, prefix, version), { place });
  }
  const nodes = numbered(root);
  const numbers = new Map(nodes.map((node, i) => [node, i]));
  const valueOf = (side: Side) =>
    side === undefined
      ? nodes.length
      : "place" in side
      ? nodes.length + 16 + side.place
      : numbers.get(side)!;
  const values: number[] = [];
  append(values, {
    ...{ binary_format_major_version: 2, binary_format_minor_version: 0 },
    ...{ node_count: nodes.length, record_size: bits, ip_version: version, ...metadata },
  });
  return Uint8Array.from([
    ...nodes.flatMap((node) => nodeBytes(valueOf(node[0]), valueOf(node[1]), bits)),
    ...new Array(16).fill(0),
    ...data,
    ...[0xab, 0xcd, 0xef],
    ...new TextEncoder().encode("MaxMind.com"),
    ...values,
  ]);
}

function pathOf(address: Address, prefix: number, version: 4 | 6): number[] {
  const isV4 = typeof address === "number";
  const length = version === 4 ? 32 : 128;
  const used = isV4 && version === 6 ? prefix + 96 : prefix;
  return Array.from(
    { length: used },
    (_, i) => Number(BigInt(address) >> BigInt(length - 1 - i) & 1n),
  );
}

function insert(root: Node, path: readonly number[], leaf: Side): void {
  let node = root;
  for (const bit of path.slice(0, -1)) {
    const side = node[bit];
    if (Array.isArray(side)) node = side;
    else node = node[bit] = [undefined, undefined];
  }
  node[path[path.length - 1]] = leaf;
}

function numbered(root: Node): Node[] {
  const nodes = [root];
  for (const node of nodes) for (const side of node) if (Array.isArray(side)) nodes.push(side);
  return nodes;
}

/** A whole number in some bytes. */
function uintBytes(value: number, size: number): number[] {
  return Array.from({ length: size }, (_, i) => Math.floor(value / 256 ** (size - 1 - i)) % 256);
}

function nodeBytes(left: number, right: number, bits: number): number[] {
  if (bits !== 28) return [...uintBytes(left, bits / 8), ...uintBytes(right, bits / 8)];
  const middle = (left >>> 24) << 4 | right >>> 24;
  return [...uintBytes(left % 2 ** 24, 3), middle, ...uintBytes(right % 2 ** 24, 3)];
}

/** A pointer to a place of the data section: the smallest of the four sizes in which it fits. */
function pointer(place: number): number[] {
  const [size, least] = place < 2048
    ? [0, 0]
    : place < 526_336
    ? [1, 2048]
    : place < 134_744_064
    ? [2, 526_336]
    : [3, 0];
  const rest = place - least;
  const high = size === 3 ? 0 : Math.floor(rest / 256 ** (size + 1));
  return [1 << 5 | size << 3 | high, ...uintBytes(rest % 256 ** (size + 1), size + 1)];
}

/**
 * Appends a value with its type and size: texts of at most 284 bytes, maps of at most 28 names. A text that
 * was written before is a pointer.
 */
function append(data: number[], value: Value, texts = new Map<string, number>()): void {
  if (typeof value === "number") {
    data.push(6 << 5 | 4, ...uintBytes(value, 4));
  } else if (typeof value === "string") {
    const place = texts.get(value);
    if (place !== undefined) {
      data.push(...pointer(place));
      return;
    }
    texts.set(value, data.length);
    const bytes = [...new TextEncoder().encode(value)];
    const head = bytes.length < 29 ? [2 << 5 | bytes.length] : [2 << 5 | 29, bytes.length - 29];
    data.push(...head, ...bytes);
  } else {
    const entries = Object.entries(value);
    data.push(7 << 5 | entries.length);
    for (const one of entries.flat()) append(data, one, texts);
  }
}
