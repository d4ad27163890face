/**
 * A server index of a database's servers in shared memory: a typed array for each property that
 * filters, facets and the map need. One thread writes the server index, others read it.
 *
 * @module
 */
import { plainVersion } from "../../classify/version_ranges.ts";
import type { VersionedServer } from "../../store/mod.ts";
import { type DictionaryMemory, DictionaryReader, newDictionary } from "./dictionary.ts";
import { newTexts, type TextMemory, TextReader } from "./text_column.ts";

/** The properties whose values are texts in a dictionary, and where a server's value is stored. */
export const DICTIONARIES = [
  "edition",
  "software",
  /** See {@linkcode versionEntry}. */
  "version",
  /** Lists of texts as JSON. */
  "protocols",
  "flags",
  "country",
  /** The number of the autonomous system, a space, and its operator. */
  "operator",
  "alias",
] as const;

/** The name of a dictionary, and of its column. */
export type DictionaryName = typeof DICTIONARIES[number];

/**
 * The entry of the dictionary `version`: the version as the server writes it, and, if only the protocol
 * number determines the release, the edition and that number, after a zero byte each.
 */
export function versionEntry({ version, edition, protocol_version: number }: VersionedServer) {
  const isPlain = version !== null && plainVersion(version) !== undefined;
  if (isPlain || edition === null || number === null) return version;
  return `${version ?? ""}\0${edition}\0${number}`;
}

/** The server of an entry of {@linkcode versionEntry}. */
export function versionedServer(entry: string): VersionedServer {
  const [version, edition = null, number] = entry.split("\0");
  return { version, edition, protocol_version: number === undefined ? null : Number(number) };
}

/** Bits of the column `bits`. */
export const SERVER_BITS = {
  online: 1,
  /** The number of players is known. */
  players: 2,
  /** The address is an IPv6 address: `address` is its index in `v6`. */
  isV6: 4,
  /** The address is not an address: another program wrote it. */
  noAddress: 8,
  /** The server was removed from the database. */
  removed: 16,
  /** The confidence of the software in two bits: 0 unknown, 1 A, 2 B, 3 C. */
  confidence: 32,
  /** Not all of the server's texts is in the server index. */
  cut: 128,
  /** The server lists mods. */
  mods: 256,
  /** The server lists plugins. */
  plugins: 512,
  /** There are as many players as slots, or more. */
  full: 1024,
  /** There are fewer players than slots. */
  notFull: 2048,
} as const;

/** Numbers in the header. */
const HEADER = { revision: 0, count: 1, v6: 2 } as const;

/** The memory of a server index, which threads share. */
export interface ServerIndexMemory {
  /** The identity of the database, which another file in its place does not have. */
  readonly identity: string;
  readonly capacity: number;
  readonly header: SharedArrayBuffer;
  readonly newestReply: SharedArrayBuffer;
  readonly columns: Readonly<Record<ColumnName, SharedArrayBuffer>>;
  readonly v6: SharedArrayBuffer;
  readonly dictionaries: Readonly<Record<DictionaryName, DictionaryMemory>>;
  readonly texts: TextMemory;
}

/** Columns and the bytes of a value. */
const COLUMNS = {
  id: 4,
  bits: 2,
  port: 2,
  players: 4,
  address: 4,
  probedMinute: 4,
  repliedMinute: 4,
  changedAt: 8,
  edition: 2,
  software: 4,
  version: 4,
  protocols: 2,
  flags: 4,
  country: 2,
  operator: 4,
  alias: 4,
} as const;

type ColumnName = keyof typeof COLUMNS;

/** Maximum number of texts in a dictionary whose column has 16 bits. */
export const MAX_SHORT = 2 ** 16;

/** The columns of a server index. Values of servers are in the same slot of each. */
export interface IndexColumns {
  /** `servers.id`, ascending. */
  readonly id: Int32Array;
  readonly bits: Uint16Array;
  readonly port: Uint16Array;
  readonly players: Int32Array;
  readonly address: Uint32Array;
  /** When the server was last probed, minutes since 1970. */
  readonly probedMinute: Uint32Array;
  /** When the server last replied, minutes since 1970; of one that never did, its last probe. */
  readonly repliedMinute: Uint32Array;
  /** When the server last changed, Unix milliseconds. */
  readonly changedAt: Float64Array;
  readonly edition: Uint16Array;
  readonly software: Uint32Array;
  readonly version: Uint32Array;
  readonly protocols: Uint16Array;
  readonly flags: Uint32Array;
  readonly country: Uint16Array;
  readonly operator: Uint32Array;
  readonly alias: Uint32Array;
}

/** Makes the memory of a server index for up to `capacity` servers. */
export function newServerIndex(identity: string, capacity: number): ServerIndexMemory {
  const dictionaries = DICTIONARIES.map((name) => [name, newDictionary()]);
  const columns = Object.entries(COLUMNS).map(
    ([name, bytes]) => [name, new SharedArrayBuffer(bytes * capacity)],
  );
  return {
    identity,
    capacity,
    header: new SharedArrayBuffer(4 * Object.keys(HEADER).length),
    newestReply: new SharedArrayBuffer(8),
    columns: Object.fromEntries(columns),
    v6: new SharedArrayBuffer(16 * capacity),
    dictionaries: Object.fromEntries(dictionaries),
    texts: newTexts(capacity),
  };
}

export class ServerIndexViews {
  readonly columns: IndexColumns;
  /** The first and the last 64 bits of IPv6 addresses. */
  readonly v6: BigUint64Array;
  protected readonly header: Int32Array;
  protected readonly newest: Float64Array;

  constructor(readonly memory: ServerIndexMemory) {
    const { columns } = memory;
    this.header = new Int32Array(memory.header);
    this.newest = new Float64Array(memory.newestReply);
    this.v6 = new BigUint64Array(memory.v6);
    this.columns = {
      id: new Int32Array(columns.id),
      bits: new Uint16Array(columns.bits),
      port: new Uint16Array(columns.port),
      players: new Int32Array(columns.players),
      address: new Uint32Array(columns.address),
      probedMinute: new Uint32Array(columns.probedMinute),
      repliedMinute: new Uint32Array(columns.repliedMinute),
      changedAt: new Float64Array(columns.changedAt),
      edition: new Uint16Array(columns.edition),
      software: new Uint32Array(columns.software),
      version: new Uint32Array(columns.version),
      protocols: new Uint16Array(columns.protocols),
      flags: new Uint32Array(columns.flags),
      country: new Uint16Array(columns.country),
      operator: new Uint32Array(columns.operator),
      alias: new Uint32Array(columns.alias),
    };
  }

  /** Number of slots that are in use, including those of removed servers. */
  get count(): number {
    return Atomics.load(this.header, HEADER.count);
  }

  protected set count(count: number) {
    Atomics.store(this.header, HEADER.count, count);
  }

  /** Number of IPv6 addresses in {@linkcode v6}. */
  protected get v6Count(): number {
    return this.header[HEADER.v6];
  }

  protected set v6Count(count: number) {
    this.header[HEADER.v6] = count;
  }

  /** A number that differs after each change. It is odd while the server index is written. */
  get revision(): number {
    return Atomics.load(this.header, HEADER.revision);
  }

  protected set revision(revision: number) {
    Atomics.store(this.header, HEADER.revision, revision);
  }

  /** When the newest reply arrived, Unix milliseconds; null: none did. */
  get newestReplyAt(): number | null {
    return this.newest[0] === 0 ? null : this.newest[0];
  }

  /** The slot of a server, or the slot where it would be inserted. */
  insertionSlot(id: number): number {
    const ids = this.columns.id;
    let [low, high] = [0, this.count];
    if (high > 0 && ids[high - 1] < id) return high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ids[middle] < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The slot of a server; -1: it is not in the server index. */
  slotOf(id: number): number {
    const slot = this.insertionSlot(id);
    return slot < this.count && this.columns.id[slot] === id ? slot : -1;
  }
}

export class ServerIndexReader extends ServerIndexViews {
  readonly dictionaries: Readonly<Record<DictionaryName, DictionaryReader>>;
  readonly texts: TextReader;

  constructor(memory: ServerIndexMemory) {
    super(memory);
    this.dictionaries = Object.fromEntries(
      DICTIONARIES.map((name) => [name, new DictionaryReader(memory.dictionaries[name])]),
    ) as Record<DictionaryName, DictionaryReader>;
    this.texts = new TextReader(memory.texts);
  }
}
