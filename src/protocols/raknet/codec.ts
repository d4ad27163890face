/**
 * RakNet's offline messages: the ping that finds Bedrock servers, and its possible replies.
 *
 * All integers are big endian. M is the 16-byte magic 00ffff00fefefefefdfdfdfd12345678.
 *
 *     unconnected ping   01|02  time 8  M 16  client GUID 8                        33 (2012: 25, no GUID)
 *     unconnected pong   1c|1d  time 8  server GUID 8  M 16  [length 2  text]      33, 35 + n
 *     refusal            11|12|14|17|1a  M 16  server GUID 8                       25
 *     refusal            19  RakNet protocol 1  M 16  server GUID 8                26
 *     out of band        0d  sender GUID 8  M 16  data (1d ...: advertise system)  25 + n
 *
 * Sources: RakNet 4.081 (MessageIdentifiers.h, RakPeer.cpp), RakLib (protocol/*.php),
 * go-raknet (internal/message), and the Pocket Minecraft protocol page of 2012.
 *
 * @module
 */
import {
  bytesOfHex,
  concat,
  hasBytes,
  Malformed,
  Reader,
  Truncated,
  u32At,
  u64,
} from "../../core/bytes.ts";

/** The 16 bytes that mark every offline message of RakNet. */
export const MAGIC: Uint8Array = bytesOfHex("00ffff00fefefefefdfdfdfd12345678");

/**
 * Advances the reader past the magic.
 *
 * @returns Whether the magic is at the reader's position; if not, it is another message.
 * @throws Truncated when the message ends inside the magic.
 */
export function skipMagic(reader: Reader): boolean {
  const expected = MAGIC.subarray(0, Math.min(MAGIC.length, reader.left));
  if (!hasBytes(reader.bytes, expected, reader.offset)) return false;
  reader.take(MAGIC.length, "magic");
  return true;
}

const PING = { any: 0x01, open: 0x02 } as const;
const PONG = { pong: 0x1c, advertise: 0x1d } as const;
const OUT_OF_BAND = 0x0d;

/** Why a server refuses a connection, by the first byte of its message. */
export const REFUSAL_REASONS = {
  0x11: "connectionAttemptFailed",
  0x12: "alreadyConnected",
  0x14: "noFreeConnections",
  0x17: "banned",
  0x19: "incompatibleProtocol",
  0x1a: "recentlyConnected",
} as const satisfies Readonly<Record<number, RefusalReason>>;

/** Offset of the magic in a pong: 17, or 13 if RakNet was built with 32-bit times. */
const PONG_MAGIC = 17;
const PONG_MAGIC_TIME32 = 13;
/** Size of a pong without an advertisement, bytes. */
const PONG_SIZE = 33;

const EDITIONS = ["MCPE;", "MCEE;", "MCCPP;"].map((text) => new TextEncoder().encode(text));

/** An unconnected ping: the probe to which RakNet servers reply with a pong. */
export interface Ping {
  /** Whether only servers with a free player slot may reply (id 0x02 instead of 0x01). */
  readonly openOnly: boolean;
  /** 64 bits that the pong repeats. */
  readonly time: bigint;
  /**
   * The client's GUID; `undefined` in the 25-byte form of 2012. Modern servers block the sender of
   * that form.
   */
  readonly guid: bigint | undefined;
}

/** Encodes a ping: 33 bytes, or 25 without a GUID. */
export function encodePing({ openOnly, time, guid }: Ping): Uint8Array<ArrayBuffer> {
  const bytes = concat([openOnly ? PING.open : PING.any], u64(time), MAGIC);
  return guid === undefined ? bytes : concat(bytes, u64(guid));
}

/**
 * Decodes a ping, as a server does.
 *
 * @throws Truncated when the message ends inside the time, the magic or the GUID.
 */
export function decodePing(bytes: Uint8Array): Ping | undefined {
  if (bytes[0] !== PING.any && bytes[0] !== PING.open) return undefined;
  const reader = new Reader(bytes, 1);
  const time = reader.u64("ping time");
  if (!magicAt(bytes, 9)) return undefined;
  reader.offset = 25;
  const guid = reader.left === 0 ? undefined : reader.u64("client GUID");
  return { openOnly: bytes[0] === PING.open, time, guid };
}

/** An unconnected pong: the reply to a ping. */
export interface Pong {
  /** Whether its id is 0x1d instead of 0x1c, as on the page of 2012. */
  readonly advertise: boolean;
  /** The time of the ping; some servers write their own clock instead. */
  readonly time: bigint;
  /** The server's GUID, 64 bits. */
  readonly guid: bigint;
  /** The advertisement without its length; `undefined` when nothing follows the magic. */
  readonly text: Uint8Array | undefined;
  /** Anomalies that the decoder found. */
  readonly flags: readonly (
    /** The pong contains no advertisement: the magic is followed by nothing or an empty text. */
    | "noAdvertisement"
    /** The length field differs from the length of the text. All remaining bytes are the text. */
    | "lengthMismatch"
    /** The text is longer than its length field; the rest is ignored. */
    | "trailingBytes"
    /** The server's RakNet has 32-bit times: the magic starts four bytes earlier. */
    | "time32"
  )[];
}

/** An anomaly of a pong. */
export type PongFlag = Pong["flags"][number];

/** Encodes a well-formed pong. */
export function encodePong(
  { advertise, time, guid, text }: Omit<Pong, "flags">,
): Uint8Array<ArrayBuffer> {
  const fixed = concat([advertise ? PONG.advertise : PONG.pong], u64(time), u64(guid), MAGIC);
  return text === undefined ? fixed : concat(fixed, [text.length >> 8, text.length & 255], text);
}

/**
 * Decodes a pong.
 *
 * @returns `undefined` for another message.
 * @throws Truncated when the message ends before the end of the magic.
 * @throws Malformed when the magic is wrong.
 *
 * @example A pong without an advertisement
 * ```ts
 * import { raknet } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * const bytes = raknet.encodePong({ advertise: false, time: 1n, guid: 2n, text: undefined });
 * assertEquals(raknet.decodePong(bytes)?.flags, ["noAdvertisement"]);
 * ```
 */
export function decodePong(bytes: Uint8Array): Pong | undefined {
  const timeSize = pongTimeSize(bytes);
  if (timeSize === undefined) return undefined;
  const reader = new Reader(bytes, 1);
  const time = timeSize === 4 ? BigInt(reader.u32("pong time")) : reader.u64("pong time");
  const guid = reader.u64("server GUID");
  const { text, flags } = readText(bytes.subarray(reader.offset + MAGIC.length));
  const advertise = bytes[0] === PONG.advertise;
  return { advertise, time, guid, text, flags: timeSize === 4 ? ["time32", ...flags] : flags };
}

/**
 * Reads the halves of the time of a pong, and nothing after the magic. It allows the same messages
 * as {@linkcode decodePong}.
 */
export function readPongTime(
  bytes: Uint8Array,
): { readonly high: number; readonly low: number } | undefined {
  const timeSize = pongTimeSize(bytes);
  if (timeSize === undefined) return undefined;
  return timeSize === 4
    ? { high: 0, low: u32At(bytes, 1) }
    : { high: u32At(bytes, 1), low: u32At(bytes, 5) };
}

/** The size of the time in a pong, bytes; `undefined` for another message. */
function pongTimeSize(bytes: Uint8Array): 4 | 8 | undefined {
  if (bytes[0] !== PONG.pong && bytes[0] !== PONG.advertise) return undefined;
  if (magicAt(bytes, PONG_MAGIC_TIME32)) return 4;
  if (bytes.length < PONG_SIZE) throw new Truncated("pong", 0, PONG_SIZE, bytes.length);
  if (magicAt(bytes, PONG_MAGIC)) return 8;
  // RakLib writes 0x1d with a text and without the magic. That is a message of another type.
  if (bytes[0] === PONG.advertise) return undefined;
  throw new Malformed("pong with a wrong magic", PONG_MAGIC);
}

/**
 * Reads the bytes after the magic: a length and a text, or another game's bytes without a length.
 */
function readText(payload: Uint8Array): Pick<Pong, "text" | "flags"> {
  if (payload.length === 0) return { text: undefined, flags: ["noAdvertisement"] };
  if (payload.length === 1) return { text: payload, flags: ["lengthMismatch"] };
  const length = payload[0] << 8 | payload[1];
  const text = payload.subarray(2);
  if (length === text.length) return { text, flags: length === 0 ? ["noAdvertisement"] : [] };
  // Lenient on purpose: the length is wrong, but the text is an advertisement.
  if (!EDITIONS.some((edition) => hasBytes(text, edition, 0))) {
    return { text: payload, flags: ["lengthMismatch"] };
  }
  return length < text.length
    ? { text: text.subarray(0, length), flags: ["trailingBytes"] }
    : { text, flags: ["lengthMismatch"] };
}

/** A refusal. It proves that the server speaks RakNet, and contains no status. */
export interface Refusal {
  /** Why the server refuses. */
  readonly reason:
    | "connectionAttemptFailed"
    | "alreadyConnected"
    | "noFreeConnections"
    | "banned"
    | "incompatibleProtocol"
    | "recentlyConnected";
  /** The server's GUID, 64 bits. */
  readonly guid: bigint;
  /** The server's RakNet protocol number; only `incompatibleProtocol` contains one. */
  readonly protocol: number | undefined;
}

/** Why a server refuses a connection. */
export type RefusalReason = Refusal["reason"];

/** Encodes a refusal, as a server does. */
export function encodeRefusal({ reason, guid, protocol }: Refusal): Uint8Array<ArrayBuffer> {
  const id = Object.entries(REFUSAL_REASONS).find(([, name]) => name === reason)![0];
  return concat([Number(id)], protocol === undefined ? [] : [protocol], MAGIC, u64(guid));
}

/**
 * Decodes a refusal.
 *
 * @returns `undefined` for another message.
 * @throws Truncated when the message ends inside the magic or the GUID.
 */
export function decodeRefusal(bytes: Uint8Array): Refusal | undefined {
  const reason = REFUSAL_REASONS[bytes[0] as keyof typeof REFUSAL_REASONS];
  if (reason === undefined) return undefined;
  const reader = new Reader(bytes, 1);
  const protocol = reason === "incompatibleProtocol" ? reader.u8("RakNet protocol") : undefined;
  if (!skipMagic(reader)) return undefined;
  return { reason, guid: reader.u64("server GUID"), protocol }; // bytes after the GUID are ignored
}

/** An out-of-band advertisement: RakNet wraps message 0x1d in message 0x0d. */
export interface Advertisement {
  /** The sender's GUID, 64 bits. */
  readonly guid: bigint;
  /** The advertised bytes, chosen by the application. */
  readonly data: Uint8Array;
}

/** Encodes an out-of-band advertisement. */
export function encodeAdvertiseSystem({ guid, data }: Advertisement): Uint8Array<ArrayBuffer> {
  return concat([OUT_OF_BAND], u64(guid), MAGIC, [PONG.advertise], data);
}

/**
 * Decodes an out-of-band advertisement.
 *
 * @returns `undefined` for another message and for other out-of-band data.
 * @throws Truncated when the message ends before the wrapped id.
 */
export function decodeAdvertiseSystem(bytes: Uint8Array): Advertisement | undefined {
  if (bytes[0] !== OUT_OF_BAND) return undefined;
  const reader = new Reader(bytes, 1);
  const guid = reader.u64("sender GUID");
  reader.take(MAGIC.length, "magic");
  if (!magicAt(bytes, 9) || reader.u8("wrapped id") !== PONG.advertise) return undefined;
  return { guid, data: reader.rest() };
}

function magicAt(bytes: Uint8Array, at: number): boolean {
  return hasBytes(bytes, MAGIC, at);
}
