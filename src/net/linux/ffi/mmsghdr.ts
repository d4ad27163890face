/**
 * Memory for a batch of datagrams as `sendmmsg` and `recvmmsg` want it: one buffer, with all
 * pointers set once.
 *
 * Structures of 64-bit Linux (x86-64 and arm64), sizes and offsets in bytes:
 *
 *     mmsghdr 64      name* 0  namelen 8  iov* 16  iovlen 24  control* 32  controllen 40  flags 48  len 56
 *     iovec 16        base* 0  len 8
 *     sockaddr_in 16  family 0 (2, host order)  port 2 (2, BE)  address 4 (4)
 *     sockaddr_in6 28 family 0 (2, host order)  port 2 (2, BE)  flow 4  address 8 (16)  scope 24
 *
 * @module
 */
import type { Endpoint } from "../../../core/address.ts";
import type { Endpoints } from "../../../core/endpoints.ts";
import { AF_INET, AF_INET6, AF_UNIX, type Libc, MSG_DONTWAIT, SOCK_DGRAM } from "./libc.ts";

/** Bytes from one header to the next one. */
export const MMSGHDR = 64;
const NAMELEN = 8;
const IOV = 16;
const IOVLEN = 24;
const CONTROL = 32;
const CONTROLLEN = 40;
const LEN = 56;
const IOVEC = 16;
const IOVEC_LEN = 8;
const SOCKADDR: Readonly<Record<4 | 6, number>> = { 4: 16, 6: 28 };
/** Room for either, which keeps what follows aligned. */
const NAME = 32;
const PORT = 2;
const IPV4 = 4;
const IPV6 = 8;

/** How long a socket address of a family is. */
export function sockaddrSize(bits: 4 | 6): number {
  return SOCKADDR[bits];
}

/** Writes an endpoint of a row as a socket address; nothing is allocated for IPv4. */
export function writeSockaddr(view: DataView, at: number, endpoints: Endpoints, i: number): void {
  const address = endpoints.ipv6[i];
  view.setUint16(at + PORT, endpoints.ports[i]);
  if (address === undefined) {
    view.setUint16(at, AF_INET, true);
    view.setUint32(at + IPV4, endpoints.ipv4[i]);
  } else {
    view.setUint16(at, AF_INET6, true);
    view.setBigUint64(at + IPV6, address >> 64n);
    view.setBigUint64(at + IPV6 + 8, address & 0xffff_ffff_ffff_ffffn);
  }
}

/** Reads a socket address. */
export function readSockaddr(view: DataView, at: number): Endpoint {
  const port = view.getUint16(at + PORT);
  if (view.getUint16(at, true) === AF_INET) {
    return { address: view.getUint32(at + IPV4), port };
  }
  const high = view.getBigUint64(at + IPV6);
  return { address: high << 64n | view.getBigUint64(at + IPV6 + 8), port };
}

/** What a batch has room for. */
export interface MessageHeadersLayout {
  /** How many datagrams. */
  readonly count: number;
  /** The family of their addresses; `undefined`: they have none. */
  readonly family: 4 | 6 | undefined;
  /** Bytes from one datagram's payload to the next one's. */
  readonly payload: number;
  /** Bytes of control messages with each. Default: none. */
  readonly control?: number;
  /** Where the payloads are, if not here: the address of each. */
  readonly elsewhere?: (i: number) => bigint;
}

/** Datagrams that are sent or received at once. */
export class MessageHeaders {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly view: DataView<ArrayBuffer>;
  /** Where the memory lies. */
  readonly base: bigint;
  /** Where the payloads start. */
  readonly payloads: number;
  readonly #control: number;

  /** Reserves the memory and sets every pointer in it. */
  constructor(private readonly layout: MessageHeadersLayout) {
    const { count, family, payload, control = 0, elsewhere } = layout;
    this.#control = control;
    this.payloads = count * (MMSGHDR + IOVEC + NAME + control);
    this.bytes = new Uint8Array(this.payloads + (elsewhere === undefined ? count * payload : 0));
    this.view = new DataView(this.bytes.buffer);
    this.base = addressOf(this.bytes);
    for (let i = 0; i < count; i++) {
      const header = i * MMSGHDR;
      if (family !== undefined) this.#pointer(header, this.name(i));
      this.#pointer(header + IOV, this.#iovec(i));
      this.view.setBigUint64(header + IOVLEN, 1n, true);
      if (control > 0) this.#pointer(header + CONTROL, this.control(i));
      if (elsewhere === undefined) this.#pointer(this.#iovec(i), this.payload(i));
      else this.view.setBigUint64(this.#iovec(i), elsewhere(i), true);
      this.setLength(i, payload);
      this.reset(i);
    }
  }

  #pointer(at: number, to: number): void {
    this.view.setBigUint64(at, this.base + BigInt(to), true);
  }

  #iovec(i: number): number {
    return this.layout.count * MMSGHDR + i * IOVEC;
  }

  /** Where a datagram's address is. */
  name(i: number): number {
    return this.layout.count * (MMSGHDR + IOVEC) + i * NAME;
  }

  /** Where its control messages are. */
  control(i: number): number {
    return this.layout.count * (MMSGHDR + IOVEC + NAME) + i * this.#control;
  }

  /** Where its payload is. */
  payload(i: number): number {
    return this.payloads + i * this.layout.payload;
  }

  /** Where its header is, for a call that starts there. */
  header(i: number): bigint {
    return i === 0 ? this.base : this.base + BigInt(i * MMSGHDR);
  }

  /** Sets the lengths that receiving changes. */
  reset(i: number): void {
    const { family } = this.layout;
    const name = family === undefined ? 0 : SOCKADDR[family];
    this.view.setUint32(i * MMSGHDR + NAMELEN, name, true);
    this.view.setUint32(i * MMSGHDR + CONTROLLEN, this.#control, true);
  }

  /** Sets how long a datagram is that is to be sent, or may be that is received. */
  setLength(i: number, length: number): void {
    this.view.setUint32(this.#iovec(i) + IOVEC_LEN, length, true);
  }

  /** The datagram that was received: a view. */
  received(i: number): Uint8Array<ArrayBuffer> {
    const payload = this.payload(i);
    return this.bytes.subarray(payload, payload + this.view.getUint32(i * MMSGHDR + LEN, true));
  }
}

/** Where memory lies. Somebody has to hold it as long as its address is used. */
export function addressOf(bytes: Uint8Array<ArrayBuffer>): bigint {
  return BigInt(Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes)));
}

/**
 * Sends two datagrams to ourselves, and looks whether they arrive: the layout above is what this
 * system has.
 *
 * @throws Error when it is another.
 */
export function checkLayout(libc: Libc): void {
  const pair = new Int32Array(2);
  if (libc.call.socketpair(AF_UNIX, SOCK_DGRAM, 0, new Uint8Array(pair.buffer)) < 0) {
    throw new Error("Cannot check the layout of messages: no pair of sockets");
  }
  const layout = { count: 2, family: undefined, payload: 8 };
  const [out, back] = [new MessageHeaders(layout), new MessageHeaders(layout)];
  for (const i of [0, 1]) {
    out.setLength(i, 3 + i);
    out.bytes.fill(i + 1, out.payload(i), out.payload(i) + 3 + i);
  }
  const sent = libc.call.sendmmsg(pair[0], out.header(0), 2, MSG_DONTWAIT);
  const received = libc.call.recvmmsg(pair[1], back.header(0), 2, MSG_DONTWAIT, null);
  pair.forEach((socket) => libc.call.close(socket));
  const came = [0, 1].map((i) => back.received(i).toHex()).join();
  if (sent === 2 && received === 2 && came === "010101,02020202") return;
  throw new Error("Cannot use the system's messages: their layout is not the one we know");
}
