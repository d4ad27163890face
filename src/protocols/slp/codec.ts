/**
 * Server List Ping of Java servers since 1.7, over TCP.
 *
 *     VarInt     7 bits a byte, the lowest first; top bit: another byte follows; at most 5 bytes
 *     text       VarInt bytes  UTF-8
 *     frame      VarInt length  VarInt id  body             (length counts id and body, up to 2^21 - 1)
 *
 *     handshake  id 0  VarInt protocol  text host  port 2 BE  VarInt next state (1: status)
 *     request    id 0                                       (in one write with the handshake)
 *     response   id 0  text JSON  [text of a mod]
 *     ping, pong id 1 8 bytes of any value
 *
 * Protocol -1 is a client of unspecified version. A pong repeats the ping's bytes.
 *
 * Sources: wiki.vg and minecraft.wiki "Server List Ping"; vanilla 1.7 to 1.21
 * (StatusRequestPacket).
 *
 * @module
 */
import { concat, Malformed, Reader, Truncated } from "../../core/bytes.ts";

/** Longest frame, bytes: the greatest VarInt of three bytes. Longer frames are malformed. */
export const MAX_FRAME = 0x1fffff;
/** Ids of packets in the status state. */
const STATUS = 0;
const PING = 1;
const NEXT_IS_STATUS = 1;

/** Encodes a VarInt; negative numbers take five bytes. */
export function encodeVarInt(value: number): readonly number[] {
  const bytes: number[] = [];
  let left = value >>> 0;
  for (; left > 127; left >>>= 7) bytes.push(left & 127 | 128);
  return [...bytes, left];
}

/**
 * Reads a VarInt as a signed 32-bit number. Higher bits are ignored, as in Java.
 *
 * @throws Truncated when the message ends inside the VarInt.
 * @throws Malformed when the VarInt has more than five bytes.
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

/** Encodes a text: its length in bytes as VarInt, then UTF-8. */
export function encodeVarString(text: string | Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  return concat(encodeVarInt(bytes.length), bytes);
}

/** Reads a text as bytes. Throws the errors of {@linkcode readVarInt}. */
export function readVarString(reader: Reader, what: string): Uint8Array {
  const start = reader.offset;
  const length = readVarInt(reader, `${what} length`);
  if (length < 0) throw new Malformed(`${what} of ${length} bytes`, start);
  return reader.take(length, what);
}

/** A frame: the length-prefixed unit of a Java connection, with one packet. */
export interface SlpFrame {
  /** Id of the packet. */
  readonly id: number;
  /** A reader of the bytes after the id, up to the frame's end. */
  readonly body: Reader;
  /** Offset of the frame's end, where the next frame starts. */
  readonly end: number;
}

/** Encodes a frame with one packet. */
export function encodeFrame(
  id: number,
  ...body: readonly ArrayLike<number>[]
): Uint8Array<ArrayBuffer> {
  const packet = concat(encodeVarInt(id), ...body);
  return concat(encodeVarInt(packet.length), packet);
}

/**
 * Offset at which a frame ends. More bytes may have to arrive until then.
 *
 * @returns `undefined` while the frame's length is incomplete.
 * @throws Malformed when the frame is empty or longer than {@linkcode MAX_FRAME}.
 */
export function frameEnd(bytes: Uint8Array, start = 0): number | undefined {
  const reader = new Reader(bytes.subarray(0, start + 5), start);
  for (let at = start; at < start + 5 && !(bytes[at] < 128); at++) {
    if (at >= bytes.length) return undefined;
  }
  const length = readVarInt(reader, "frame length");
  if (length < 1 || length > MAX_FRAME) throw new Malformed(`a frame of ${length} bytes`, start);
  return reader.offset + length;
}

/** The first byte of the packet id in the first frame. The frame may be incomplete. */
export function peekId(bytes: Uint8Array): number | undefined {
  const end = bytes.findIndex((byte) => byte < 128);
  return end < 0 ? undefined : bytes.at(end + 1);
}

/**
 * Decodes the frame that starts at an offset.
 *
 * @throws Truncated when bytes of the frame are missing.
 * @throws Malformed for the reasons of {@linkcode frameEnd}.
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

/** Reads within a complete frame. A field that exceeds the frame is malformed, not truncated. */
function readInside<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Truncated)) throw error;
    throw new Malformed(`${error.what} beyond its frame`, error.offset);
  }
}

/** A handshake: the client's protocol number and the server that it requests. */
export interface Handshake {
  /** The client's protocol number; -1: unspecified. */
  readonly protocol: number;
  /** The host name or address by which the client requests the server. */
  readonly host: string;
  /** The server's port, 1 to 65535. */
  readonly port: number;
}

/** Protocol number of a client of unspecified version. */
export const ANY_PROTOCOL: number = -1;
/** Maximum number of UTF-16 units of a host name that vanilla accepts: since 26.4; before, 255. */
const MAX_HOST = 1024;

/** Encodes handshake and status request, for one write. */
export function encodeStatusRequest({ protocol, host, port }: Handshake): Uint8Array<ArrayBuffer> {
  const name = encodeVarString(host.slice(0, MAX_HOST));
  const end = [port >> 8, port & 255, NEXT_IS_STATUS];
  return concat(encodeFrame(STATUS, encodeVarInt(protocol), name, end), encodeFrame(STATUS));
}

/**
 * Decodes handshake and status request, as a server does.
 *
 * @returns `undefined` when the client requests another state.
 * @throws Truncated while a frame is incomplete.
 * @throws Malformed when a field exceeds its frame.
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
  if (host.length > MAX_HOST) throw new Malformed("a host of more than 1,024 letters", 0);
  return { protocol, host, port: body.u16("port"), next: readVarInt(body, "next state") };
}

/** A status response, with the JSON not yet parsed. */
export interface StatusResponse {
  /** The status as JSON text, UTF-8. */
  readonly json: Uint8Array;
  /**
   * The bytes after the JSON in its frame. They are empty except with mods that add a second text
   * (Better Compatibility Checker; gamedig, minecraftvanilla.js).
   */
  readonly trailing: Uint8Array;
}

/** Encodes a status response. */
export function encodeStatusResponse({ json, trailing }: StatusResponse): Uint8Array<ArrayBuffer> {
  return encodeFrame(STATUS, encodeVarString(json), trailing);
}

/**
 * Decodes a status response. Bytes after its frame are ignored.
 *
 * @returns `undefined` when the first frame contains another packet.
 * @throws Truncated while bytes of the frame are missing.
 * @throws Malformed when the frame or a field in it is malformed.
 *
 * @example
 * ```ts
 * import { slp } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * const json = new TextEncoder().encode('{"description":"Hi"}');
 * const bytes = slp.encodeStatusResponse({ json, trailing: new Uint8Array() });
 * assertEquals([bytes[0], bytes[1], bytes[2]], [22, 0, 20]);
 * assertEquals(slp.decodeStatusResponse(bytes)?.json, json);
 * ```
 */
export function decodeStatusResponse(bytes: Uint8Array): StatusResponse | undefined {
  const { id, body } = decodeFrame(bytes);
  if (id !== STATUS) return undefined;
  return { json: readInside(() => readVarString(body, "status")), trailing: body.rest() };
}

/** Encodes a ping, or the pong that repeats it. */
export function encodeSlpPing(payload: bigint): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, payload);
  return encodeFrame(PING, bytes);
}

/**
 * Decodes a ping or a pong.
 *
 * @returns Its eight bytes as a number; `undefined` when the frame contains another packet.
 * @throws Truncated, Malformed for the reasons of {@linkcode decodeStatusResponse}.
 */
export function decodeSlpPing(bytes: Uint8Array): bigint | undefined {
  const { id, body } = decodeFrame(bytes);
  return id === PING ? readInside(() => body.u64("payload")) : undefined;
}
