/**
 * The chunks of an SQP answer, in both directions.
 *
 *     ServerInfo   players 2  slots 2  name  game type  build id  map  port 2
 *     ServerRules  (name  type 1  value)...
 *     PlayerInfo   count 2  [fields 1  (name  type 1)...  (values of the fields)...]
 *     TeamInfo     the same
 *     Metrics      count 1 (at most 25)  (float 4)...
 *
 * Text stays bytes here. Sources: see codec.ts; Unity's page has ServerInfo alone, the others are
 * go-svrquery's. Metrics came without a new version.
 *
 * @module
 */
import { concat, Malformed, Reader, Truncated, u16, u32 } from "../../core/bytes.ts";
import {
  type ChunkName,
  CHUNKS,
  joinPackets,
  type SqpPacket,
  type SqpPacketFlag,
} from "./codec.ts";
import {
  encodeFloat,
  encodeString,
  encodeType,
  encodeValue,
  readFloat,
  readString,
  readType,
  readValue,
  type TypedValue,
  type ValueType,
} from "./typed_values.ts";

/** The most metrics. */
const MOST_METRICS = 25;

/** What a server says of itself; `null` is what was cut off. */
export interface ServerInfo {
  /** Players online. */
  readonly online: number | null;
  /** Player slots. */
  readonly max: number | null;
  /** The name. */
  readonly name: Uint8Array | null;
  /** The game, or its mode. */
  readonly gameType: Uint8Array | null;
  /** The build or version. */
  readonly buildId: Uint8Array | null;
  /** The map. */
  readonly map: Uint8Array | null;
  /** The port to join. */
  readonly port: number | null;
}

/** A rule of a server. */
export interface SqpRule {
  /** Its name. */
  readonly name: Uint8Array;
  /** The type of its value. */
  readonly type: ValueType;
  /** Its value. */
  readonly value: TypedValue;
}

/** Players or teams: what is told of each, and each. */
export interface SqpTable {
  /** Names and types of the fields; none where the table is empty. */
  readonly fields: readonly { readonly name: Uint8Array; readonly type: ValueType }[];
  /** A value for every field, for each player or team. */
  readonly rows: readonly (readonly TypedValue[])[];
}

/** What was odd about an answer. */
export type SqpReplyFlag =
  | SqpPacketFlag
  /** A part of it did not come. */
  | "truncated";

/** What chunks hold; those that did not come are `undefined`. */
export interface Chunks {
  /** ServerInfo. */
  readonly info?: ServerInfo;
  /** ServerRules. */
  readonly rules?: readonly SqpRule[];
  /** PlayerInfo. */
  readonly players?: SqpTable;
  /** TeamInfo. */
  readonly teams?: SqpTable;
  /** Metrics. */
  readonly metrics?: readonly number[];
}

/** An answer to a query. */
export interface SqpReply extends Chunks {
  /** The version that the server writes. */
  readonly version: number;
  /** What was odd. */
  readonly flags: readonly SqpReplyFlag[];
}

/** The bytes of chunks, in their order; in `info` nothing may be cut off. */
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
 * Reads the chunks of an answer.
 *
 * @param packets The answer's packets: at least one, each number once, in any order. Where some are
 * missing, one came shorter than it says, or one declares less than its chunks take, what is there
 * and inside the declared length is read, and flagged.
 * @param asked The chunks that were asked for, as bits: nothing in the answer says which it holds.
 * @throws Truncated when something ends before its time, though nothing was cut off.
 * @throws Malformed for unknown types, tables without fields, and too many metrics.
 *
 * @example
 * ```ts
 * import { sqp } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * const chunks = sqp.encodeChunks({ metrics: [60, 0.5] });
 * const packets = sqp.encodePackets(7, chunks, 5).map((bytes) => sqp.decodeSqpPacket(bytes, 7)!);
 * const answer = sqp.decodeReply(packets.reverse(), sqp.CHUNKS.metrics);
 * assertEquals(answer, { version: 1, metrics: [60, 0.5], flags: [] });
 * ```
 */
export function decodeReply(packets: readonly SqpPacket[], asked: number): SqpReply {
  const { reader, cut } = joinPackets(packets);
  const flags = new Set<SqpReplyFlag>(packets.flatMap((packet) => packet.flags));
  if (packets.length <= packets[0].last) flags.add("truncated");
  const chunks: { -readonly [name in ChunkName]?: unknown } = {};
  for (const name of Object.keys(CHUNKS) as ChunkName[]) {
    if ((asked & CHUNKS[name]) === 0) continue;
    if (reader.left === 0 && !cut) break; // an empty answer, or a server that has no more of them
    const chunk = openChunk(reader, cut || flags.has("trailingBytes"));
    if (chunk?.cut !== false) flags.add("truncated");
    if (chunk === undefined) break;
    chunks[name] = READERS[name](chunk);
  }
  if (reader.left > 0 && !cut) flags.add("trailingBytes");
  return { version: packets[0].version, ...chunks as Chunks, flags: [...flags] };
}

/** A chunk, and whether its end is missing. */
interface Chunk {
  readonly reader: Reader;
  readonly cut: boolean;
}

/** The next chunk; `undefined` where the message was cut before it. */
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

/** What is read, or `null` where the message was cut before its end; nothing is read after that. */
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

/** Bytes behind the port are for fields to come, and not read: so says go-svrquery. */
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

/** A table that says that it is empty ends there, whatever follows. */
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
  if (count > MOST_METRICS) {
    throw new Malformed(`more than ${MOST_METRICS} metrics`, reader.offset - 1);
  }
  return readItems(chunk, (read) => read < count, () => readFloat(reader, "metric"));
}

/** Reads while there is more, or until the message was cut. */
function readItems<T>(chunk: Chunk, more: (read: number) => boolean, read: () => T): T[] {
  const items: T[] = [];
  while (more(items.length)) {
    const item = orCut(chunk, read);
    if (item === null) break;
    items.push(item);
  }
  return items;
}
