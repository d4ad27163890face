/**
 * Frame sets: the datagrams of an open RakNet connection. The Pocket Minecraft protocol page of
 * 2012 calls one of them "unknown 0x84".
 *
 * Integers are big endian, except those of three bytes (LE), which are little endian.
 *
 *     frame set   10pc b000  sequence 3 (LE)  frame, frame, ...
 *                   p packet pair, c continuous send, b needs bandwidth and AS: usually 84 or 80
 *     frame       reliability << 5 | split << 4   length in bits 2
 *                 [message index 3 (LE)]                 reliability 2, 3, 4, 6, 7
 *                 [sequence index 3 (LE)]                reliability 1, 4
 *                 [order index 3 (LE)  channel 1]        reliability 1, 3, 4, 7
 *                 [split: count 4  id 2  index 4]
 *                 body
 *
 * Reliability: 0 unreliable, 1 unreliable sequenced, 2 reliable, 3 reliable ordered, 4 reliable
 * sequenced; 5, 6 and 7 are 0, 2 and 3 with a receipt.
 *
 * Sources: RakNet 4.081 (ReliabilityLayer.cpp), RakLib (protocol/Datagram.php,
 * EncapsulatedPacket.php), go-raknet (packet.go).
 *
 * @module
 */
import { concat, Malformed, Reader, readU24le, u16, u24le, u32 } from "../../core/bytes.ts";

const VALID = 0x80;
/** The three bits that distinguish frame sets, ACKs and NAKs. */
const KIND = 0xe0;
const PACKET_PAIR = 0x10;
const CONTINUOUS_SEND = 0x08;
const NEEDS_BANDWIDTH = 0x04;
const SPLIT = 0x10;

/** Maximum number of frames in one set. A datagram within an MTU contains fewer. */
const MAX_FRAMES = 4096;

const RELIABLE: readonly number[] = [2, 3, 4, 6, 7];
const SEQUENCED: readonly number[] = [1, 4];
const ORDERED: readonly number[] = [1, 3, 4, 7];

/**
 * The place of a frame in a split message. The count is untrusted: the size of allocated memory
 * must not depend on it.
 */
export interface Split {
  /** Number of parts of the message. */
  readonly count: number;
  /** Id of the split message. */
  readonly id: number;
  /** Index of this part, from 0 to `count` - 1. */
  readonly index: number;
}

/** One frame: a message, or a part of one, with its reliability. */
export interface RaknetFrame {
  /** Reliability, 0 to 7: see the top of this file. */
  readonly reliability: number;
  /** Its number among reliable messages; `undefined`: not reliable. */
  readonly messageIndex: number | undefined;
  /** Its number among sequenced messages; `undefined`: not sequenced. */
  readonly sequenceIndex: number | undefined;
  /** Its number among ordered messages of the channel; `undefined`: not ordered. */
  readonly orderIndex: number | undefined;
  /** The ordering channel, 0 to 31; `undefined`: not ordered. */
  readonly channel: number | undefined;
  /** Its place in a split message; `undefined`: the message is whole. */
  readonly split: Split | undefined;
  /** The bytes of the message, or of its part. */
  readonly body: Uint8Array;
}

/** A frame set: one datagram of an open connection. */
export interface FrameSet {
  /** Whether the datagram is one of a pair that measures bandwidth. */
  readonly packetPair: boolean;
  /** Whether the sender sends continuously. */
  readonly continuousSend: boolean;
  /** Whether the receiver has to report its bandwidth; true in most datagrams. */
  readonly needsBandwidth: boolean;
  /** Sequence number of the datagram, modulo 2^24. */
  readonly sequence: number;
  /** The frames, at least one. */
  readonly frames: readonly RaknetFrame[];
}

/** Encodes a frame set. */
export function encodeFrameSet(set: FrameSet): Uint8Array<ArrayBuffer> {
  const header = VALID | (set.packetPair ? PACKET_PAIR : 0) |
    (set.continuousSend ? CONTINUOUS_SEND : 0) | (set.needsBandwidth ? NEEDS_BANDWIDTH : 0);
  return concat([header], u24le(set.sequence), ...set.frames.map(encodeFrame));
}

function encodeFrame({ reliability, body, split, ...frame }: RaknetFrame): Uint8Array {
  const has = (list: readonly number[]) => list.includes(reliability);
  return concat(
    [reliability << 5 | (split === undefined ? 0 : SPLIT)],
    u16(body.length * 8),
    has(RELIABLE) ? u24le(frame.messageIndex ?? 0) : [],
    has(SEQUENCED) ? u24le(frame.sequenceIndex ?? 0) : [],
    has(ORDERED) ? [...u24le(frame.orderIndex ?? 0), frame.channel ?? 0] : [],
    split === undefined ? [] : [...u32(split.count), ...u16(split.id), ...u32(split.index)],
    body,
  );
}

/**
 * Decodes a frame set. Its frames are views into the datagram. Parts of split messages are not
 * joined.
 *
 * @returns `undefined` for another message: an ACK, a NAK or an offline message.
 * @throws Truncated when the message ends inside a frame, or contains no frame.
 * @throws Malformed when a frame is empty, a split index is too high, or there are too many frames.
 *
 * @example The "unknown" message of the page of 2012: a frame with a connection request
 * ```ts
 * import { raknet } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * const hex = "84000000400090000000090000000000000002001122334455667700";
 * const { sequence, frames } = raknet.decodeFrameSet(Uint8Array.fromHex(hex))!;
 * assertEquals([sequence, frames[0].reliability], [0, 2]);
 * assertEquals(raknet.decodeConnected(frames[0].body)?.type, "connectionRequest");
 * ```
 */
export function decodeFrameSet(bytes: Uint8Array): FrameSet | undefined {
  const header = bytes[0];
  if ((header & KIND) !== VALID) return undefined;
  const reader = new Reader(bytes, 1);
  const sequence = readU24le(reader, "sequence");
  const frames: RaknetFrame[] = [];
  do {
    if (frames.length === MAX_FRAMES) throw new Malformed("too many frames", reader.offset);
    frames.push(readFrame(reader));
  } while (reader.left > 0);
  return {
    packetPair: (header & PACKET_PAIR) !== 0,
    continuousSend: (header & CONTINUOUS_SEND) !== 0,
    needsBandwidth: (header & NEEDS_BANDWIDTH) !== 0,
    sequence,
    frames,
  };
}

function readFrame(reader: Reader): RaknetFrame {
  const start = reader.offset;
  const flags = reader.u8("frame");
  const reliability = flags >> 5;
  const size = reader.u16("frame length") + 7 >> 3;
  if (size === 0) throw new Malformed("an empty frame", start);
  const has = (list: readonly number[]) => list.includes(reliability);
  const messageIndex = has(RELIABLE) ? readU24le(reader, "message index") : undefined;
  const sequenceIndex = has(SEQUENCED) ? readU24le(reader, "sequence index") : undefined;
  const orderIndex = has(ORDERED) ? readU24le(reader, "order index") : undefined;
  const channel = has(ORDERED) ? reader.u8("channel") : undefined;
  const split = (flags & SPLIT) === 0 ? undefined : readSplit(reader);
  const body = reader.take(size, "frame body");
  return { reliability, messageIndex, sequenceIndex, orderIndex, channel, split, body };
}

function readSplit(reader: Reader): Split {
  const start = reader.offset;
  const split = {
    count: reader.u32("split count"),
    id: reader.u16("split id"),
    index: reader.u32("split index"),
  };
  if (split.index < split.count) return split;
  throw new Malformed(`part ${split.index} of ${split.count}`, start);
}
