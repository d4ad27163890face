/**
 * Memory for a batch of datagrams in the layout of `sendmmsg` and `recvmmsg`: one buffer, in which
 * all pointers are set once.
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

/** Bytes from one header to the next. */
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
/** Space for a socket address of either family, which keeps the next one aligned. */
const NAME = 32;
const PORT = 2;
const IPV4 = 4;
const IPV6 = 8;

/** Size of a socket address of a family, bytes. */
export function sockaddrSize(bits: 4 | 6): number {
  return SOCKADDR[bits];
}

/** Writes `endpoints[i]` as a socket address, without an allocation for IPv4. */
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

/** Reads a socket address of either family. */
export function readSockaddr(view: DataView, at: number): Endpoint {
  const port = view.getUint16(at + PORT);
  if (view.getUint16(at, true) === AF_INET) {
    return { address: view.getUint32(at + IPV4), port };
  }
  const high = view.getBigUint64(at + IPV6);
  return { address: high << 64n | view.getBigUint64(at + IPV6 + 8), port };
}

/** The dimensions of a batch. */
export interface MessageHeadersLayout {
  /** Number of datagrams in the batch. */
  readonly count: number;
  /** The address family of the datagrams; `undefined`: they have no address. */
  readonly family: 4 | 6 | undefined;
  /** Bytes from the start of one payload to the next. */
  readonly payload: number;
  /** Bytes of control messages per datagram. Default: none. */
  readonly control?: number;
  /** The memory address of each payload. Default: the payloads are in this memory. */
  readonly elsewhere?: (i: number) => bigint;
}

/** The message headers of a batch, with addresses, control messages and payloads. */
export class MessageHeaders {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly view: DataView<ArrayBuffer>;
  /** The memory address of the first header. */
  readonly base: bigint;
  /** Offset of the first payload, bytes. */
  readonly payloads: number;
  readonly #control: number;

  /** Allocates the memory and sets every pointer in it. */
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

  /** Offset of a datagram's socket address. */
  name(i: number): number {
    return this.layout.count * (MMSGHDR + IOVEC) + i * NAME;
  }

  /** Offset of a datagram's control messages. */
  control(i: number): number {
    return this.layout.count * (MMSGHDR + IOVEC + NAME) + i * this.#control;
  }

  /** Offset of a datagram's payload. */
  payload(i: number): number {
    return this.payloads + i * this.layout.payload;
  }

  /** Memory address of a datagram's header, for a call that starts there. */
  header(i: number): bigint {
    return i === 0 ? this.base : this.base + BigInt(i * MMSGHDR);
  }

  /** Restores the lengths that receiving changes. */
  reset(i: number): void {
    const { family } = this.layout;
    const name = family === undefined ? 0 : SOCKADDR[family];
    this.view.setUint32(i * MMSGHDR + NAMELEN, name, true);
    this.view.setUint32(i * MMSGHDR + CONTROLLEN, this.#control, true);
  }

  /** Sets the size of a datagram to send, or the largest size to receive. */
  setLength(i: number, length: number): void {
    this.view.setUint32(this.#iovec(i) + IOVEC_LEN, length, true);
  }

  /** A view of a received datagram. */
  received(i: number): Uint8Array<ArrayBuffer> {
    const payload = this.payload(i);
    return this.bytes.subarray(payload, payload + this.view.getUint32(i * MMSGHDR + LEN, true));
  }
}

/**
 * The memory address of an array. The caller must keep the array alive while the address is used.
 */
export function addressOf(bytes: Uint8Array<ArrayBuffer>): bigint {
  return BigInt(Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes)));
}

/**
 * Checks that this system has the layout above, by sending two datagrams over a socket pair.
 *
 * @throws Error when the layout differs.
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
  const arrived = [0, 1].map((i) => back.received(i).toHex()).join();
  if (sent === 2 && received === 2 && arrived === "010101,02020202") return;
  throw new Error("Cannot use the system's message headers: their layout is unknown");
}
