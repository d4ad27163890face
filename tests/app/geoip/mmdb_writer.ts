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
  const places = new Map<string, number>();
  for (const { address, prefix, record } of networks) {
    const text = JSON.stringify(record);
    const place = places.get(text) ?? data.length;
    if (!places.has(text)) data.push(...encoded(record));
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
  return Uint8Array.from([
    ...nodes.flatMap((node) => nodeBytes(valueOf(node[0]), valueOf(node[1]), bits)),
    ...new Array(16).fill(0),
    ...data,
    ...[0xab, 0xcd, 0xef],
    ...new TextEncoder().encode("MaxMind.com"),
    ...encoded({ node_count: nodes.length, record_size: bits, ip_version: version, ...metadata }),
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

function nodeBytes(left: number, right: number, bits: number): number[] {
  const bytes = (value: number, size: number) =>
    Array.from({ length: size }, (_, i) => Math.floor(value / 256 ** (size - 1 - i)) % 256);
  if (bits !== 28) return [...bytes(left, bits / 8), ...bytes(right, bits / 8)];
  const middle = (left >>> 24) << 4 | right >>> 24;
  return [...bytes(left % 2 ** 24, 3), middle, ...bytes(right % 2 ** 24, 3)];
}

/** A value with its type and size: texts of at most 284 bytes, maps of at most 28 names. */
function encoded(value: Value): number[] {
  if (typeof value === "number") {
    return [6 << 5 | 4, value >>> 24, value >>> 16 & 255, value >>> 8 & 255, value & 255];
  }
  if (typeof value === "string") {
    const bytes = [...new TextEncoder().encode(value)];
    return bytes.length < 29
      ? [2 << 5 | bytes.length, ...bytes]
      : [2 << 5 | 29, bytes.length - 29, ...bytes];
  }
  const entries = Object.entries(value);
  return [7 << 5 | entries.length, ...entries.flat().flatMap((one) => encoded(one))];
}
