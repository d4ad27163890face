/**
 * Server List Ping of Java servers since 1.7, over TCP.
 *
 *     VarInt     7 bits a byte, the lowest first, the top bit of a byte: more follow; at most 5 bytes
 *     text       VarInt bytes  UTF-8
 *     frame      VarInt length  VarInt id  body             (length counts id and body, up to 2^21 - 1)
 *
 *     handshake  id 0  VarInt protocol  text host  port 2 BE  VarInt next state (1: status)
 *     request    id 0                                       (in one write with the handshake)
 *     response   id 0  text JSON  [text of a mod]
 *     ping, pong id 1  8 bytes, any
 *
 * Protocol -1 asks without saying who asks. A pong repeats the ping's bytes.
 *
 * Sources: wiki.vg and minecraft.wiki "Server List Ping"; vanilla 1.7 to 1.21 (StatusRequestPacket).
 *
 * @module
 */
import { concat, Malformed, Reader, Truncated } from "../../core/bytes.ts";

/** The longest frame: what a VarInt of three bytes holds. Nothing is awaited beyond. */
export const MOST_FRAME = 0x1fffff;
/** Ids of packets while a status is asked for. */
const STATUS = 0;
const PING = 1;
const NEXT_IS_STATUS = 1;

/** The bytes of a VarInt; negative numbers take five. */
export function encodeVarInt(value: number): readonly number[] {
  const bytes: number[] = [];
  let left = value >>> 0;
  for (; left > 127; left >>>= 7) bytes.push(left & 127 | 128);
  return [...bytes, left];
}

/**
 * Reads a VarInt as a signed number of 32 bits. Bits beyond them are ignored, as Java does.
 *
 * @throws Truncated when it ends too early.
 * @throws Malformed when it has more than five bytes.
 */
export function readVarInt(reader: Reader, what: string): number {
  const start = reader.offset;
  let value = 0;
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = reader.u8(what);
    value |= (byte & 127) << shift;
    if (byte < 128) return value;
  }
  throw new Malformed(`${what} of more than 5 bytes`, start);
}

/** The bytes of a text. */
export function encodeVarString(text: string | Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  return concat(encodeVarInt(bytes.length), bytes);
}

/** Reads a text as bytes. Throws as {@linkcode readVarInt} does. */
export function readVarString(reader: Reader, what: string): Uint8Array {
  const start = reader.offset;
  const length = readVarInt(reader, `${what} length`);
  if (length < 0) throw new Malformed(`${what} of ${length} bytes`, start);
  return reader.take(length, what);
}

/** A frame. */
export interface SlpFrame {
  /** The packet's id. */
  readonly id: number;
  /** What follows it, to the frame's end. */
  readonly body: Reader;
  /** Where the frame ends: bytes behind it are the next one's. */
  readonly end: number;
}

/** The bytes of a frame. */
export function encodeFrame(
  id: number,
  ...body: readonly ArrayLike<number>[]
): Uint8Array<ArrayBuffer> {
  const packet = concat(encodeVarInt(id), ...body);
  return concat(encodeVarInt(packet.length), packet);
}

/**
 * Where a frame will end, so that its bytes can be awaited.
 *
 * @returns `undefined` while its length has not come in whole.
 * @throws Malformed when it is longer than any may be, or empty.
 */
export function frameEnd(bytes: Uint8Array, start = 0): number | undefined {
  const reader = new Reader(bytes.subarray(0, start + 5), start);
  for (let at = start; at < start + 5 && !(bytes[at] < 128); at++) {
    if (at >= bytes.length) return undefined;
  }
  const length = readVarInt(reader, "frame length");
  if (length < 1 || length > MOST_FRAME) throw new Malformed(`a frame of ${length} bytes`, start);
  return reader.offset + length;
}

/** The first byte of the packet's id in the first frame, before the rest of it has come in. */
export function peekId(bytes: Uint8Array): number | undefined {
  const end = bytes.findIndex((byte) => byte < 128);
  return end < 0 ? undefined : bytes.at(end + 1);
}

/**
 * Reads the frame that starts at an offset.
 *
 * @throws Truncated when bytes of it are missing.
 * @throws Malformed as {@linkcode frameEnd}.
 */
export function decodeFrame(bytes: Uint8Array, start = 0): SlpFrame {
  const end = frameEnd(bytes, start);
  const { length } = bytes;
  if (end === undefined) {
    throw new Truncated("frame length", start, length - start + 1, length - start);
  }
  if (end > length) throw new Truncated("frame", start, end - start, length - start);
  const body = new Reader(bytes.subarray(0, end), start);
  readVarInt(body, "frame length");
  return { id: readInside(() => readVarInt(body, "packet id")), body, end };
}

/** What is cut off inside a frame that is whole will not come: that frame is broken. */
function readInside<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Truncated)) throw error;
    throw new Malformed(`${error.what} beyond its frame`, error.offset);
  }
}

/** Who asks, and for what. */
export interface Handshake {
  /** The client's protocol number; -1: it does not say. */
  readonly protocol: number;
  /** The name or address by which the server is asked for. */
  readonly host: string;
  /** Its port. */
  readonly port: number;
}

/** The protocol number of a client that does not say which. */
export const ANY_PROTOCOL: number = -1;
/** UTF-16 units of a host that vanilla accepts. */
const MOST_HOST = 255;

/** The bytes that ask for a status: handshake and request, for one write. */
export function encodeStatusRequest({ protocol, host, port }: Handshake): Uint8Array<ArrayBuffer> {
  const name = encodeVarString(host.slice(0, MOST_HOST));
  const end = [port >> 8, port & 255, NEXT_IS_STATUS];
  return concat(encodeFrame(STATUS, encodeVarInt(protocol), name, end), encodeFrame(STATUS));
}

/**
 * Reads what asks for a status.
 *
 * @returns `undefined` when it asks for something else.
 * @throws Truncated while something is missing.
 * @throws Malformed when a frame does not hold what it must.
 */
export function decodeStatusRequest(bytes: Uint8Array): Handshake | undefined {
  const { id, body, end } = decodeFrame(bytes);
  if (id !== STATUS) return undefined;
  const { next, ...handshake } = readInside(() => readHandshake(body));
  if (next !== NEXT_IS_STATUS) return undefined;
  return decodeFrame(bytes, end).id === STATUS ? handshake : undefined;
}

function readHandshake(body: Reader): Handshake & { next: number } {
  const protocol = readVarInt(body, "protocol");
  const host = new TextDecoder().decode(readVarString(body, "host"));
  return { protocol, host, port: body.u16("port"), next: readVarInt(body, "next state") };
}

/** A status as it comes. */
export interface StatusResponse {
  /** The JSON, as UTF-8. */
  readonly json: Uint8Array;
  /**
   * What follows it in its frame: empty, but for servers with mods that put a second text there
   * (Better Compatibility Checker; gamedig, minecraftvanilla.js).
   */
  readonly more: Uint8Array;
}

/** The bytes of a status. */
export function encodeStatusResponse({ json, more }: StatusResponse): Uint8Array<ArrayBuffer> {
  return encodeFrame(STATUS, encodeVarString(json), more);
}

/**
 * Reads a status; what follows its frame is not looked at.
 *
 * @returns `undefined` when the first frame is another packet.
 * @throws Truncated while bytes of the frame are missing.
 * @throws Malformed when the frame is none that a server sends.
 *
 * @example
 * ```ts
 * import { slp } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * const json = new TextEncoder().encode('{"description":"Hi"}');
 * const bytes = slp.encodeStatusResponse({ json, more: new Uint8Array() });
 * assertEquals([bytes[0], bytes[1], bytes[2]], [22, 0, 20]);
 * assertEquals(slp.decodeStatusResponse(bytes)?.json, json);
 * ```
 */
export function decodeStatusResponse(bytes: Uint8Array): StatusResponse | undefined {
  const { id, body } = decodeFrame(bytes);
  if (id !== STATUS) return undefined;
  return { json: readInside(() => readVarString(body, "status")), more: body.rest() };
}

/** The bytes of a ping, and of the pong that repeats it. */
export function encodeSlpPing(payload: bigint): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, payload);
  return encodeFrame(PING, bytes);
}

/**
 * Reads a ping or a pong.
 *
 * @returns Its eight bytes as a number; `undefined` when the frame is another packet.
 * @throws Truncated, Malformed as {@linkcode decodeStatusResponse}.
 */
export function decodeSlpPing(bytes: Uint8Array): bigint | undefined {
  const { id, body } = decodeFrame(bytes);
  return id === PING ? readInside(() => body.u64("payload")) : undefined;
}
