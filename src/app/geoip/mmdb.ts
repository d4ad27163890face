/**
 * Reads MaxMind DB files, which map networks to records, with `npm:mmdb-lib`.
 *
 * The library trusts its files. Here each look-up is bounded, a damaged record counts as missing, and a
 * file for IPv4 has no record of an IPv6 address.
 *
 * @module
 */
import { type Address, formatAddress } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";

export type MmdbValue = unknown;

/** A map of a record. */
export type MmdbMap = Readonly<Record<string, MmdbValue>>;

/** The bytes are no MaxMind DB file, or its metadata is damaged. */
export class MmdbError extends Error {}

/** A constant, not a literal in `import()`: Deno then downloads the library only when it is loaded. */
const LIBRARY = "npm:mmdb-lib@3.0.3";
/** Maximum number of values in a record, with those in maps and lists. */
const MAX_VALUES = 1000;
/** Number of zero bytes between search tree and data section. */
const SEPARATOR = 16;
/** Versions of the Internet Protocol that a file may be for, and sizes of the tree's records, bits. */
const VERSIONS = [4, 6];
const RECORD_SIZES = [24, 28, 32];

/** The part of the library that is used; its types name Node's Buffer. */
interface Reader {
  readonly metadata: {
    readonly nodeCount: number;
    readonly recordSize: number;
    readonly ipVersion: number;
    readonly searchTreeSize: number;
    readonly databaseType?: unknown;
    readonly description?: unknown;
  };
  readonly decoder: { decodeByType(type: number, offset: number, size: number): unknown };
  getWithPrefixLength(address: string): [record: unknown, prefix: number];
}

/** A MaxMind DB file in memory. */
export interface MmdbFile {
  readonly metadata: Reader["metadata"];
  /** The record of an address; `undefined`: the file has none, or it is damaged. */
  readonly find: (address: Address) => MmdbValue;
  /** Some records, in the order of their networks. */
  readonly samples: () => Iterable<MmdbValue>;
}

/**
 * Loads the library.
 *
 * @returns Opens a file, and throws MmdbError when the bytes are no such file, or their end is missing.
 * @throws InputError when the library cannot be loaded.
 */
export async function loadMmdb(): Promise<(bytes: SharedArrayBuffer) => MmdbFile> {
  try {
    const { Reader } = await import(LIBRARY);
    const { Buffer } = globalThis.process.getBuiltinModule("node:buffer");
    return (bytes) => open(() => new Reader(Buffer.from(bytes)), bytes.byteLength);
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    throw new InputError(`Cannot load ${LIBRARY}: ${(error as Error).message.split("\n")[0]}`);
  }
}

function open(read: () => Reader, size: number): MmdbFile {
  const reader = orElse(read, () => {
    throw new MmdbError("it is no MaxMind DB file, or its metadata is damaged");
  });
  const { metadata } = reader;
  const { nodeCount, recordSize, ipVersion, searchTreeSize } = metadata;
  if (!(nodeCount > 0) || !RECORD_SIZES.includes(recordSize) || !VERSIONS.includes(ipVersion)) {
    throw new MmdbError("its metadata is damaged");
  }
  if (!(searchTreeSize + SEPARATOR < size)) throw new MmdbError("its search tree is incomplete");
  const budget = boundValues(reader);
  const look = (address: Address) =>
    orElse(() => {
      budget.left = MAX_VALUES;
      return reader.getWithPrefixLength(formatAddress(address));
    }, () => undefined);
  return {
    metadata,
    find: (address) =>
      typeof address === "bigint" && ipVersion === 4 ? undefined : look(address)?.[0] ?? undefined,
    samples: () => walk(look, ipVersion === 6),
  };
}

/** Bounds the number of values that a look-up decodes: records may contain pointers to themselves. */
function boundValues({ decoder }: Reader): { left: number } {
  const budget = { left: 0 };
  const decode = decoder.decodeByType.bind(decoder);
  decoder.decodeByType = (type, offset, size) => {
    if (--budget.left < 0 || isContainer(type) && size > budget.left) {
      throw new MmdbError("a record is too large");
    }
    return decode(type, offset, size);
  };
  return budget;
}

/** Whether a type of the format is a map or a list. */
function isContainer(type: number): boolean {
  return type === 7 || type === 11;
}

/** Number of networks of each version that are searched for records. */
const MAX_WALKED = 5000;

/** The records of the first networks of IPv4, and of IPv6. */
function* walk(
  look: (address: Address) => [record: unknown, prefix: number] | undefined,
  hasIpv6: boolean,
): Iterable<MmdbValue> {
  for (let at = 0, i = 0; at < 2 ** 32 && i < MAX_WALKED; i++) {
    const [record, prefix] = look(at) ?? [undefined, 32];
    yield record;
    at += 2 ** (32 - Math.min(prefix, 32));
  }
  if (!hasIpv6) return;
  for (let at = 1n << 32n, i = 0; at < 1n << 128n && i < MAX_WALKED; i++) {
    const [record, prefix] = look(at) ?? [undefined, 128];
    yield record;
    const size = 1n << BigInt(128 - prefix);
    at = (at / size + 1n) * size;
  }
}

/** The result of a function, or another one if it throws: the library throws errors of any kind. */
function orElse<T, U>(read: () => T, instead: () => U): T | U {
  try {
    return read();
  } catch {
    return instead();
  }
}
