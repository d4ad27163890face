/**
 * Ethernet frames with a UDP datagram to many IPv4 targets. They are copies of one frame; only the
 * differing fields are written per target.
 *
 * A slot starts with two unused bytes. The addresses then lie on whole words:
 *
 *     2   6 destination MAC  6 source MAC  2 type 0x0800
 *     16  1 version 4, 5 words  1 service 0  2 length  2 identification 0  2 flags: don't fragment
 *     24  1 lifetime 64  1 protocol 17  2 checksum  4 source  4 destination
 *     36  2 source port  2 destination port  2 length  2 checksum
 *     44  payload, then zeros up to a whole word
 *
 * A datagram that is never fragmented needs no identification (RFC 6864). Checksums are 16-bit sums
 * in ones' complement (RFC 1071), so sums of parts can be added. The fields that are equal in all
 * frames, the payload included, are summed once. Address, port, token and time are added per
 * target.
 *
 * @module
 */
import type { Endpoints } from "../../../core/endpoints.ts";
import { Stamp, type Template } from "../../socket.ts";

/** Offset of a frame in its slot. */
export const FRAME = 2;
/** Offset of the payload in the slot. */
export const PAYLOAD = 44;
/** Size of a frame before its payload, bytes. */
export const HEADERS = PAYLOAD - FRAME;
const SOURCE_MAC = 8;
const TYPE = 14;
const IP = 16;
const IP_LENGTH = 18;
const IP_FLAGS = 22;
const LIFETIME = 24;
const IP_SUM = 26;
const SOURCE = 28;
const DESTINATION = 32;
const SOURCE_PORT = 36;
const PORT = 38;
const UDP_LENGTH = 40;
const UDP_SUM = 42;
const UDP = 17;

/** The addresses that are equal in all frames of a scan. */
export interface FrameAddresses {
  /** The MAC of the local interface, 6 bytes. */
  readonly sourceMac: Uint8Array;
  /** The MAC of the gateway, 6 bytes. */
  readonly gatewayMac: Uint8Array;
  /** The local IPv4 address. */
  readonly source: number;
}

/** Size of a slot, bytes. It is a power of two; otherwise a frame could cross a page boundary. */
export function slotSize(payload: number): number {
  return 2 ** Math.ceil(Math.log2(PAYLOAD + 4 * Math.ceil(payload / 4)));
}

/** Frames with copies of one datagram. */
export class EthernetFrames {
  /** The memory of all slots. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly view: DataView<ArrayBuffer>;
  /** Size of a slot, bytes. */
  readonly slot: number;
  /** Size of a frame, bytes. */
  readonly length: number;
  readonly #stamp: Stamp;
  /** Sums of the equal fields: of the IP header, and of the fields in UDP's checksum. */
  readonly #ipSum: number;
  readonly #udpSum: number;
  /** The sum for UDP's checksum of each frame, without the source port. */
  readonly #sums: Int32Array;

  /**
   * Creates the copies.
   *
   * @param of The datagram.
   * @param capacity Number of slots.
   */
  constructor({ sourceMac, gatewayMac, source }: FrameAddresses, of: Template, capacity: number) {
    const payload = of.template;
    this.#stamp = new Stamp(of);
    this.slot = slotSize(payload.length);
    this.length = HEADERS + payload.length;
    this.bytes = new Uint8Array(this.slot * capacity);
    this.view = new DataView(this.bytes.buffer);
    this.#sums = new Int32Array(capacity);
    this.bytes.set(gatewayMac, FRAME);
    this.bytes.set(sourceMac, SOURCE_MAC);
    this.bytes.set(payload, PAYLOAD);
    const { view } = this;
    view.setUint16(TYPE, 0x0800);
    view.setUint16(IP, 0x4500);
    view.setUint16(IP_LENGTH, this.length - (IP - FRAME));
    view.setUint16(IP_FLAGS, 0x4000);
    view.setUint16(LIFETIME, 64 << 8 | UDP);
    view.setUint32(SOURCE, source);
    const length = 8 + payload.length;
    view.setUint16(UDP_LENGTH, length);
    this.#ipSum = sumOf(view, IP, SOURCE_PORT);
    // UDP's checksum covers both addresses, the protocol and the length, and the length field
    // again.
    this.#stamp.clear(view, PAYLOAD); // token and time are added when they are written
    const header = sumOf(view, SOURCE, DESTINATION) + UDP + 2 * length;
    this.#udpSum = fold(header + sumOf(view, PAYLOAD, PAYLOAD + payload.length + 1 & ~1));
    for (let i = 1; i < capacity; i++) this.bytes.copyWithin(i * this.slot, 0, this.slot);
  }

  /** Writes address, port, token, time and IP checksum into a slot. */
  write(slot: number, targets: Endpoints, i: number, token: number, clock: number): void {
    const { view } = this;
    const at = slot * this.slot;
    const address = targets.ipv4[i];
    const port = targets.ports[i];
    view.setUint32(at + DESTINATION, address);
    view.setUint16(at + PORT, port);
    this.#stamp.write(view, at + PAYLOAD, token, clock);
    const halves = (address >>> 16) + (address & 0xffff);
    view.setUint16(at + IP_SUM, ~fold(this.#ipSum + halves));
    this.#sums[slot] = this.#udpSum + halves + port + this.#stamp.sumOf(token, clock);
  }

  /** Completes the first `count` slots: writes the source port and UDP's checksum. */
  finish(count: number, sourcePort: number): void {
    const { view, slot } = this;
    const sums = this.#sums;
    for (let i = 0, at = 0; i < count; i++, at += slot) {
      const sum = fold(sums[i] + sourcePort);
      view.setUint16(at + SOURCE_PORT, sourcePort);
      // A checksum of 0 means "none"; ones' complement writes it as 0xffff.
      view.setUint16(at + UDP_SUM, sum === 0xffff ? sum : ~sum);
    }
  }
}

/** Folds a sum to 16 bits in ones' complement. */
function fold(sum: number): number {
  sum = (sum & 0xffff) + (sum >>> 16);
  return (sum & 0xffff) + (sum >>> 16);
}

function sumOf(view: DataView, from: number, to: number): number {
  let sum = 0;
  for (let at = from; at < to; at += 2) sum += view.getUint16(at);
  return fold(sum);
}
