/**
 * Reads replies to SYN packets: TCP headers in IPv4, and ICMP errors that quote a SYN.
 *
 * Offsets in bytes, from the start of each header:
 *
 *     IPv4  version and words 0  length 2 (2)  protocol 9  source 12 (4)  destination 16 (4)
 *     TCP   source port 0 (2)  destination port 2 (2)  sequence 4 (4)  acknowledgement 8 (4)
 *           words 12 (high half)  flags 13  options 20
 *     ICMP  type 0  the quoted packet 8
 *
 * @module
 */
import type { PortReply, PortState } from "../../port_socket.ts";

const LENGTH = 2;
const PROTOCOL = 9;
const SOURCE = 12;
const DESTINATION = 16;
const MIN_IPV4 = 20;
const TO_PORT = 2;
const SEQUENCE = 4;
const ACKNOWLEDGEMENT = 8;
const WORDS = 12;
const FLAGS = 13;
const OPTIONS = 20;
const QUOTED = 8;
/** Bytes of a TCP header that every ICMP error quotes. */
const QUOTED_TCP = 8;

const ICMP = 1;
const TCP = 6;
const UNREACHABLE = 3;
const SYN = 2;
const RST = 4;
const ACK = 16;
const END_OF_OPTIONS = 0;
const NO_OPERATION = 1;
const TIMESTAMPS = 8;
const TIMESTAMPS_LENGTH = 10;
const ECHO = 6;

/** A reply that was read. It is written again by each read. */
export class ReplyPacket implements PortReply {
  state: PortState = "open";
  token = 0;
  clock: number | undefined;
  readonly stream: undefined;
  /** Set by the socket: a packet alone does not show it. */
  isRepeated = false;
  /** The probed endpoint: the sender of a TCP packet, or the destination of a quoted SYN. */
  address = 0;
  port = 0;

  /**
   * Reads a packet.
   *
   * @param view The memory of the packet.
   * @param at Offset of its IPv4 header.
   * @param end Offset of its end, as far as it was received.
   * @returns Whether it is a whole reply.
   */
  read(view: DataView, at: number, end: number): boolean {
    const from = headerEnd(view, at, end);
    if (from === undefined) return false;
    const last = Math.min(end, at + view.getUint16(at + LENGTH));
    const protocol = view.getUint8(at + PROTOCOL);
    if (protocol === TCP) return this.#readTcp(view, at, from, last);
    return protocol === ICMP && this.#readIcmp(view, from, last);
  }

  #readTcp(view: DataView, ip: number, at: number, end: number): boolean {
    if (at + OPTIONS > end) return false;
    const after = at + (view.getUint8(at + WORDS) >>> 4) * 4;
    if (after < at + OPTIONS || after > end) return false;
    const flags = view.getUint8(at + FLAGS);
    if ((flags & (RST | ACK)) === (RST | ACK)) this.state = "refused";
    else if ((flags & (RST | SYN | ACK)) === (SYN | ACK)) this.state = "open";
    else return false;
    this.token = view.getUint32(at + ACKNOWLEDGEMENT) - 1 >>> 0;
    this.clock = echoedTime(view, at + OPTIONS, after);
    this.address = view.getUint32(ip + SOURCE);
    this.port = view.getUint16(at);
    return true;
  }

  #readIcmp(view: DataView, at: number, end: number): boolean {
    const quoted = at + QUOTED;
    if (quoted > end || view.getUint8(at) !== UNREACHABLE) return false;
    const tcp = headerEnd(view, quoted, end);
    if (tcp === undefined || tcp + QUOTED_TCP > end) return false;
    if (view.getUint8(quoted + PROTOCOL) !== TCP) return false;
    this.state = "unreachable";
    this.token = view.getUint32(tcp + SEQUENCE);
    this.clock = undefined;
    this.address = view.getUint32(quoted + DESTINATION);
    this.port = view.getUint16(tcp + TO_PORT);
    return true;
  }
}

/** The end of an IPv4 header; `undefined`: it is no whole header. */
function headerEnd(view: DataView, at: number, end: number): number | undefined {
  if (at + MIN_IPV4 > end) return undefined;
  const first = view.getUint8(at);
  const after = at + (first & 15) * 4;
  return first >>> 4 === 4 && after >= at + MIN_IPV4 && after <= end ? after : undefined;
}

/** The time that the timestamp option of a TCP header repeats; `undefined`: it has none. */
function echoedTime(view: DataView, at: number, end: number): number | undefined {
  while (at < end) {
    const kind = view.getUint8(at);
    if (kind === END_OF_OPTIONS) return undefined;
    if (kind === NO_OPERATION) {
      at++;
      continue;
    }
    const length = at + 1 < end ? view.getUint8(at + 1) : 0;
    if (length < 2 || at + length > end) return undefined;
    if (kind === TIMESTAMPS && length === TIMESTAMPS_LENGTH) return view.getUint32(at + ECHO);
    at += length;
  }
  return undefined;
}
