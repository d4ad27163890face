/**
 * Encoder and decoder of the chunks of an SQP reply.
 *
 *     ServerInfo   players 2  slots 2  name  game type  build id  map  port 2
 *     ServerRules  (name  type 1  value)...
 *     PlayerInfo   count 2  [fields 1  (name  type 1)...  (values of the fields)...]
 *     TeamInfo     as PlayerInfo
 *     Metrics      count 1 (at most 25)  (float 4)...
 *
 * Text stays bytes here. Sources: see codec.ts. Unity's page describes only ServerInfo; the other
 * chunks follow go-svrquery. Metrics were added without a new version.
 *
 * @module
 */
import { concat, Malformed, Reader, Truncated, u16, u32 } from "../../core/bytes.ts";
import { type ChunkName, CHUNKS, joinPackets, type SqpPacket } from "./codec.ts";
import {
  encodeFloat,
  encodeString,
  encodeType,
  encodeValue,
  readFloat,
  readString,
  readType,
  readValue,
  type SqpValueType,
  type TypedValue,
} from "./typed_values.ts";

/** Maximum number of metrics in a chunk, as in go-svrquery. */
const MAX_METRICS = 25;

/** The ServerInfo chunk. A field is `null` when the message ends before that field. */
export interface ServerInfo {
  /** Number of players online. */
  readonly online: number | null;
  /** Number of player slots. */
  readonly max: number | null;
  /** The server's name, UTF-8. */
  readonly name: Uint8Array | null;
  /** The game or its mode, UTF-8. */
  readonly gameType: Uint8Array | null;
  /** The build or version, UTF-8. */
  readonly buildId: Uint8Array | null;
  /** The map's name, UTF-8. */
  readonly map: Uint8Array | null;
  /** The port to join; 0: none. */
  readonly port: number | null;
}

/** A rule of a server: one of its settings. */
export interface SqpRule {
  /** The rule's name, UTF-8. */
  readonly name: Uint8Array;
  /** The type of the rule's value. */
  readonly type: SqpValueType;
  /** The value, as its type requires. */
  readonly value: TypedValue;
}

/** A table of players or teams. */
export interface SqpTable {
  /** Names and types of the fields; none in an empty table. */
  readonly fields: readonly { readonly name: Uint8Array; readonly type: SqpValueType }[];
  /** For each player or team, one value per field. */
  readonly rows: readonly (readonly TypedValue[])[];
}

/** The decoded chunks of a reply; missing ones are `undefined`. */
export interface Chunks {
  /** ServerInfo: name, game, map and player counts. */
  readonly info?: ServerInfo;
  /** ServerRules: the server's settings. */
  readonly rules?: readonly SqpRule[];
  /** PlayerInfo: a table with one row per player. */
  readonly players?: SqpTable;
  /** TeamInfo: a table with one row per team. */
  readonly teams?: SqpTable;
  /** Metrics: numbers without names, at most 25. */
  readonly metrics?: readonly number[];
}

/** A decoded reply to a query. */
export interface SqpReply extends Chunks {
  /** The server's protocol version. */
  readonly version: number;
  /** Anomalies that the decoder found. */
  readonly flags: readonly (
    | SqpPacket["flags"][number]
    /** A part of the reply is missing. */
    | "truncated"
  )[];
}

/** Encodes chunks in their order; no field of `info` may be `null`. */
export function encodeChunks(chunks: Chunks): Uint8Array<ArrayBuffer> {
  const { info, rules, players, teams, metrics } = chunks;
  const bodies = [
    info && encodeInfo(info),
    rules && concat(...rules.flatMap(encodeRule)),
    players && encodeTable(players),
    teams && encodeTable(teams),
    metrics && concat([metrics.length], ...metrics.map(encodeFloat)),
  ];
  return concat(
    ...bodies.flatMap((body) => body === undefined ? [] : [u32(body.length), body]),
  );
}

function encodeInfo({ online, max, name, gameType, buildId, map, port }: ServerInfo): Uint8Array {
  const texts = [name!, gameType!, buildId!, map!].map(encodeString);
  return concat(u16(online!), u16(max!), ...texts, u16(port!));
}

function encodeRule({ name, type, value }: SqpRule): ArrayLike<number>[] {
  return [encodeString(name), encodeType(type), encodeValue(type, value)];
}

function encodeTable({ fields, rows }: SqpTable): Uint8Array {
  if (rows.length === 0) return concat(u16(0));
  const head = fields.flatMap(({ name, type }) => [encodeString(name), encodeType(type)]);
  const values = rows.flatMap((row) => row.map((value, i) => encodeValue(fields[i].type, value)));
  return concat(u16(rows.length), [fields.length], ...head, ...values);
}

/**
 * Decodes the chunks of a reply. If packets are missing, or a length field is wrong, the available
 * bytes within the declared length are decoded, and a flag reports the anomaly.
 *
 * @param packets The reply's packets in any order: at least one, each number once.
 * @param requested Bits of the requested chunks. The reply does not state which chunks it contains.
 * @throws Truncated when a field ends too early in a complete reply.
 * @throws Malformed for unknown types, tables without fields, and too many metrics.
 *
 * @example
 * ```ts
 * import { sqp } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * const chunks = sqp.encodeChunks({ metrics: [60, 0.5] });
 * const packets = sqp.encodePackets(7, chunks, 5).map((bytes) => sqp.decodeSqpPacket(bytes, 7)!);
 * const reply = sqp.decodeReply(packets.reverse(), sqp.CHUNKS.metrics);
 * assertEquals(reply, { version: 1, metrics: [60, 0.5], flags: [] });
 * ```
 */
export function decodeReply(packets: readonly SqpPacket[], requested: number): SqpReply {
  const { reader, cut } = joinPackets(packets);
  const flags = new Set<SqpReply["flags"][number]>(packets.flatMap((packet) => packet.flags));
  if (packets.length <= packets[0].last) flags.add("truncated");
  const chunks: { -readonly [name in ChunkName]?: unknown } = {};
  for (const name of Object.keys(CHUNKS) as ChunkName[]) {
    if ((requested & CHUNKS[name]) === 0) continue;
    if (reader.left === 0 && !cut) break; // the server has no further chunk
    const chunk = openChunk(reader, cut || flags.has("trailingBytes"));
    if (chunk?.cut !== false) flags.add("truncated");
    if (chunk === undefined) break;
    chunks[name] = READERS[name](chunk);
  }
  if (reader.left > 0 && !cut) flags.add("trailingBytes");
  return { version: packets[0].version, ...chunks as Chunks, flags: [...flags] };
}

/** One chunk: a reader, and whether the end of the chunk is missing. */
interface Chunk {
  readonly reader: Reader;
  readonly cut: boolean;
}

/** Opens the next chunk; `undefined` if the message ends before that chunk. */
function openChunk(reader: Reader, cut: boolean): Chunk | undefined {
  const size = orCut({ reader, cut }, () => reader.u32("chunk length"));
  if (size === null) return undefined;
  const start = reader.offset;
  const missing = size > reader.left;
  if (missing && !cut) throw new Truncated("chunk", start, size, reader.left);
  reader.take(Math.min(size, reader.left), "chunk");
  const inside = reader.bytes.subarray(0, reader.offset);
  return { reader: new Reader(inside, start), cut: missing };
}

/**
 * Reads a value; `null` if an incomplete message ends inside the value. No further value is read
 * then.
 */
function orCut<T>({ reader, cut }: Chunk, read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (!(cut && error instanceof Truncated)) throw error;
    reader.offset = reader.bytes.length;
    return null;
  }
}

const READERS: Record<ChunkName, (chunk: Chunk) => unknown> = {
  info: readInfo,
  rules: readSqpRules,
  players: (chunk) => readTable(chunk, "player"),
  teams: (chunk) => readTable(chunk, "team"),
  metrics: readSqpMetrics,
};

/**
 * Reads ServerInfo. Bytes after the port belong to later versions and are ignored, as in
 * go-svrquery.
 */
function readInfo(chunk: Chunk): ServerInfo {
  const { reader } = chunk;
  const number = (what: string) => orCut(chunk, () => reader.u16(what));
  const text = (what: string) => orCut(chunk, () => readString(reader, what));
  return {
    online: number("players"),
    max: number("slots"),
    name: text("name"),
    gameType: text("game type"),
    buildId: text("build id"),
    map: text("map"),
    port: number("port"),
  };
}

function readSqpRules(chunk: Chunk): SqpRule[] {
  const { reader } = chunk;
  return readItems(chunk, () => reader.left > 0, () => {
    const name = readString(reader, "rule");
    const type = readType(reader);
    return { name, type, value: readValue(reader, type, "value") };
  });
}

/** Reads a table. A table with count 0 ends after the count; later bytes are ignored. */
function readTable(chunk: Chunk, what: string): SqpTable {
  const { reader } = chunk;
  const count = orCut(chunk, () => reader.u16(`${what} count`)) ?? 0;
  if (count === 0) return { fields: [], rows: [] };
  const width = orCut(chunk, () => reader.u8("field count"));
  if (width === 0) throw new Malformed(`${count} ${what}s without fields`, reader.offset - 1);
  const fields = readItems(chunk, (read) => read < (width ?? 0), () => {
    const name = readString(reader, "field");
    return { name, type: readType(reader) };
  });
  const rows = readItems(
    chunk,
    (read) => read < count && fields.length === width,
    () => fields.map(({ type }) => readValue(reader, type, what)),
  );
  return { fields, rows };
}

function readSqpMetrics(chunk: Chunk): number[] {
  const { reader } = chunk;
  const count = orCut(chunk, () => reader.u8("metric count")) ?? 0;
  if (count > MAX_METRICS) {
    throw new Malformed(`more than ${MAX_METRICS} metrics`, reader.offset - 1);
  }
  return readItems(chunk, (read) => read < count, () => readFloat(reader, "metric"));
}

/** Reads items while `more` returns true, or until an incomplete message ends. */
function readItems<T>(chunk: Chunk, more: (read: number) => boolean, read: () => T): T[] {
  const items: T[] = [];
  while (more(items.length)) {
    const item = orCut(chunk, read);
    if (item === null) break;
    items.push(item);
  }
  return items;
}
