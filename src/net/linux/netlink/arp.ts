/**
 * ARP on Ethernet (RFC 826): requests the MAC of an IPv4 address.
 *
 *     0   6 destination MAC  6 source MAC  2 type 0x0806
 *     14  2 hardware 1  2 protocol 0x0800  1 size 6  1 size 4  2 operation: 1 request, 2 reply
 *     22  6 sender's MAC  4 sender's address  6 target's MAC  4 target's address
 *
 * @module
 */
import { hasBytes, Truncated } from "../../../core/bytes.ts";

const SIZE = 42;
const HEAD = 14;
/** The bytes from the Ethernet type on: ARP for IPv4 on Ethernet. */
const KIND = Uint8Array.of(0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0);
const OPERATION = 20;
const REQUEST = 1;
const REPLY = 2;
const SENDER_MAC = 22;
const SENDER = 28;
const TARGET = 38;

/** An ARP reply: an IPv4 address and its MAC. */
export interface ArpReply {
  readonly address: number;
  /** The MAC of the address, 6 bytes. */
  readonly mac: Uint8Array;
}

/**
 * Encodes an ARP request for an address, as a broadcast frame.
 *
 * @param mac The local MAC, 6 bytes.
 * @param source The local IPv4 address.
 */
export function encodeArpRequest(
  mac: Uint8Array,
  source: number,
  address: number,
): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(SIZE);
  const view = new DataView(frame.buffer);
  frame.fill(0xff, 0, 6);
  frame.set(mac, 6);
  frame.set(KIND, HEAD - 2);
  view.setUint16(OPERATION, REQUEST);
  frame.set(mac, SENDER_MAC);
  view.setUint32(SENDER, source);
  view.setUint32(TARGET, address);
  return frame;
}

/**
 * Decodes an ARP reply. Padding after it is ignored, because Ethernet frames have at least 60
 * bytes.
 *
 * @returns `undefined` when the frame is not an ARP reply for IPv4 on Ethernet.
 * @throws Truncated when the frame ends inside a field.
 */
export function decodeArpReply(frame: Uint8Array): ArpReply | undefined {
  if (frame.length <= OPERATION + 1) {
    throw new Truncated("operation", OPERATION, 2, Math.max(0, frame.length - OPERATION));
  }
  if (!hasBytes(frame, KIND, HEAD - 2) || frame[OPERATION + 1] !== REPLY) return undefined;
  if (frame.length < SIZE) throw new Truncated("addresses", HEAD, SIZE - HEAD, frame.length - HEAD);
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  return { address: view.getUint32(SENDER), mac: frame.slice(SENDER_MAC, SENDER_MAC + 6) };
}
