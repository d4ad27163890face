/**
 * Netlink messages of Linux, in the byte order of the processor: little endian on x86-64 and arm64.
 * Sizes and offsets in bytes:
 *
 *     nlmsghdr 16    length 0 (4)  type 4 (2)  flags 6 (2)  sequence 8 (4)  port 12 (4)
 *     rtattr 4       length 0 (2)  type 2 (2), then the value, padded to a whole word
 *
 * @module
 */
import { Malformed, Truncated } from "../../../core/bytes.ts";

/** Size of a message header, bytes. */
export const HEADER_SIZE = 16;
/** Offset of the type in a message. */
export const TYPE = 4;
const FLAGS = 6;
/** The flag that requests all entries. */
export const DUMP = 0x300;
const REQUEST = 1;
const ATTRIBUTE = 4;
/** Bits of an attribute's type that are flags. */
const TYPE_BITS = 0x3fff;

/** Encodes a request with its header. */
export function netlinkRequest(
  type: number,
  flags: number,
  body: readonly number[],
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(HEADER_SIZE + body.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, bytes.length, true);
  view.setUint16(TYPE, type, true);
  view.setUint16(FLAGS, REQUEST | flags, true);
  bytes.set(body, HEADER_SIZE);
  return bytes;
}

/**
 * Splits a received datagram into messages.
 *
 * @throws Truncated when it ends inside a message; Malformed when a length is too small.
 */
export function decodeMessages(bytes: Uint8Array): NetlinkFields[] {
  const messages: NetlinkFields[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = new NetlinkFields(bytes.subarray(at), at).u32(0, "length of a message");
    if (length < HEADER_SIZE) throw new Malformed(`a message of ${length} bytes`, at);
    if (length > bytes.length - at) {
      throw new Truncated("a message", at, length, bytes.length - at);
    }
    messages.push(new NetlinkFields(bytes.subarray(at, at + length), at));
    at += align(length);
  }
  return messages;
}

/** Reads fields of a message or of an attribute by offset. */
export class NetlinkFields {
  readonly #view: DataView;

  /**
   * Wraps the bytes of a message or attribute.
   *
   * @param at Offset of the bytes in the received datagram, for errors.
   */
  constructor(readonly bytes: Uint8Array, readonly at: number) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  #need(at: number, size: number, what: string): void {
    const left = Math.max(0, this.bytes.length - at);
    if (size > left) throw new Truncated(what, this.at + at, size, left);
  }

  /** Reads an unsigned number of one byte. */
  u8(at: number, what: string): number {
    this.#need(at, 1, what);
    return this.bytes[at];
  }

  /** Reads an unsigned number of two bytes. */
  u16(at: number, what: string): number {
    this.#need(at, 2, what);
    return this.#view.getUint16(at, true);
  }

  /** Reads an unsigned number of four bytes. */
  u32(at: number, what: string): number {
    this.#need(at, 4, what);
    return this.#view.getUint32(at, true);
  }

  /** Reads a signed number of four bytes. */
  i32(at: number, what: string): number {
    return this.u32(at, what) | 0;
  }

  /** Reads an IPv4 address: four bytes, big endian. */
  u32be(at: number, what: string): number {
    this.#need(at, 4, what);
    return this.#view.getUint32(at);
  }

  /** The attributes from an offset on, by type; of equal types the last one. */
  attributes(from: number): Map<number, NetlinkFields> {
    if (from > this.bytes.length) throw new Truncated("header", this.at, from, this.bytes.length);
    const found = new Map<number, NetlinkFields>();
    for (let at = from; at < this.bytes.length;) {
      const length = this.u16(at, "length of an attribute");
      if (length < ATTRIBUTE) throw new Malformed(`an attribute of ${length} bytes`, this.at + at);
      this.#need(at, length, "an attribute");
      const type = this.u16(at + 2, "type of an attribute") & TYPE_BITS;
      found.set(
        type,
        new NetlinkFields(this.bytes.subarray(at + 4, at + length), this.at + at + 4),
      );
      at += align(length);
    }
    return found;
  }
}

function align(length: number): number {
  return length + 3 & ~3;
}
