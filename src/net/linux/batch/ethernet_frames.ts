/**
 * Ethernet frames with a UDP datagram, or a TCP header, to many IPv4 targets. They are copies of one
 * frame; only the differing fields are written per target.
 *
 * A slot starts with two unused bytes. The addresses then lie on whole words:
 *
 *     2   6 destination MAC  6 source MAC  2 type 0x0800
 *     16  1 version 4, 5 words  1 service 0  2 length  2 identification 0  2 flags: don't fragment
 *     24  1 lifetime 64  1 protocol  2 checksum  4 source  4 destination
 *     UDP, protocol 17:
 *     36  2 source port  2 destination port  2 length  2 checksum
 *     44  the datagram, then zeros up to a whole word
 *     TCP, protocol 6:
 *     36  the header: 2 source port  2 destination port  12 …  2 checksum  2 …  options
 *
 * A packet that is never fragmented needs no identification (RFC 6864). Checksums are 16-bit sums
 * in ones' complement (RFC 1071), so sums of parts can be added. The fields that are equal in all
 * frames, the datagram included, are summed once. Address, port, token and time are added per
 * target.
 *
 * @module
 */
import type { Endpoints } from "../../../core/endpoints.ts";
import { Stamp, type Template } from "../../socket.ts";

/** Offset of a frame in its slot. */
export const FRAME = 2;
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

/** Where a transport has its fields: its protocol number, and offsets in the slot. */
interface Transport {
  readonly protocol: number;
  readonly checksum: number;
  /** Offset of the copied datagram or TCP header. */
  readonly content: number;
}

const UDP: Transport = { protocol: 17, checksum: 42, content: 44 };
const TCP: Transport = { protocol: 6, checksum: 52, content: 36 };

function transportOf({ transport }: Template): Transport {
  return transport === "tcp" ? TCP : UDP;
}

/** The addresses that are equal in all frames of a scan. */
export interface FrameAddresses {
  /** The MAC of the local interface, 6 bytes. */
  readonly sourceMac: Uint8Array;
  /** The MAC of the gateway, 6 bytes. */
  readonly gatewayMac: Uint8Array;
  /** The local IPv4 address. */
  readonly source: number;
}

/** Size of the frame of a datagram or TCP header, bytes. */
export function frameSize(of: Template): number {
  return transportOf(of).content - FRAME + of.template.length;
}

/** Size of a slot, bytes. It is a power of two; otherwise a frame could cross a page boundary. */
function slotSize(of: Template): number {
  const end = transportOf(of).content + 4 * Math.ceil(of.template.length / 4);
  return 2 ** Math.ceil(Math.log2(end));
}

/** Frames with copies of one datagram or TCP header. */
export class EthernetFrames {
  /** The memory of all slots. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly view: DataView<ArrayBuffer>;
  /** Size of a slot, bytes. */
  readonly slot: number;
  /** Size of a frame, bytes. */
  readonly length: number;
  /** Offset of the datagram or TCP header in the slot. */
  readonly content: number;
  readonly #stamp: Stamp;
  /** Offset of the transport's checksum in the slot. */
  readonly #checksum: number;
  /** Sums of the equal fields: of the IP header, and of the fields in the transport's checksum. */
  readonly #ipSum: number;
  readonly #transportSum: number;
  /** The sum for the transport's checksum of each frame, without the source port. */
  readonly #sums: Int32Array;

  /**
   * Creates the copies.
   *
   * @param of The datagram, or the TCP header with ports and checksum zero.
   * @param capacity Number of slots.
   */
  constructor({ sourceMac, gatewayMac, source }: FrameAddresses, of: Template, capacity: number) {
    const { template } = of;
    const { protocol, checksum, content } = transportOf(of);
    this.#stamp = new Stamp(of);
    this.slot = slotSize(of);
    this.length = frameSize(of);
    this.content = content;
    this.#checksum = checksum;
    this.bytes = new Uint8Array(this.slot * capacity);
    this.view = new DataView(this.bytes.buffer);
    this.#sums = new Int32Array(capacity);
    this.bytes.set(gatewayMac, FRAME);
    this.bytes.set(sourceMac, SOURCE_MAC);
    this.bytes.set(template, content);
    const { view } = this;
    view.setUint16(TYPE, 0x0800);
    view.setUint16(IP, 0x4500);
    view.setUint16(IP_LENGTH, this.length - (IP - FRAME));
    view.setUint16(IP_FLAGS, 0x4000);
    view.setUint16(LIFETIME, 64 << 8 | protocol);
    view.setUint32(SOURCE, source);
    const end = FRAME + this.length;
    if (protocol === UDP.protocol) view.setUint16(UDP_LENGTH, end - SOURCE_PORT);
    this.#ipSum = sumOf(view, IP, SOURCE_PORT);
    this.#stamp.clear(view, content); // token and time are added when they are written
    // The checksum covers a pseudo-header too: both addresses, the protocol and the length.
    const pseudo = sumOf(view, SOURCE, DESTINATION) + protocol + end - SOURCE_PORT;
    this.#transportSum = fold(pseudo + sumOf(view, SOURCE_PORT, end + 1 & ~1));
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
    this.#stamp.write(view, at + this.content, token, clock);
    const halves = (address >>> 16) + (address & 0xffff);
    view.setUint16(at + IP_SUM, ~fold(this.#ipSum + halves));
    this.#sums[slot] = this.#transportSum + halves + port + this.#stamp.sumOf(token, clock);
  }

  /** Completes the first `count` slots: writes the source port and the transport's checksum. */
  finish(count: number, sourcePort: number): void {
    const { view, slot } = this;
    const sums = this.#sums;
    const checksum = this.#checksum;
    for (let i = 0, at = 0; i < count; i++, at += slot) {
      const sum = fold(sums[i] + sourcePort);
      view.setUint16(at + SOURCE_PORT, sourcePort);
      // A checksum of 0 means "none" in UDP; ones' complement writes it as 0xffff.
      view.setUint16(at + checksum, sum === 0xffff ? sum : ~sum);
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
