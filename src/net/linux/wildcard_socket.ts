/**
 * One UDP socket of Linux that replies from many local addresses, through FFI. It is loaded on demand.
 * Only its users therefore have to grant `--allow-ffi`.
 *
 * The control message of a datagram, sizes and offsets in bytes:
 *
 *     cmsghdr 16     len 0 (8)  level 8 (4)  type 12 (4), then in_pktinfo: ifindex 4  spec_dst 4  addr 4
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import { Endpoints } from "../../core/endpoints.ts";
import {
  AF_INET,
  EADDRINUSE,
  EAGAIN,
  EINTR,
  errorName,
  int32,
  IP_PKTINFO,
  IPPROTO_IP,
  Libc,
  MSG_DONTWAIT,
  POLLIN,
  SO_BINDTODEVICE,
  SO_RCVBUF,
  SO_RCVBUFFORCE,
  SOCK_CLOEXEC,
  SOCK_DGRAM,
  SOL_SOCKET,
} from "./ffi/libc.ts";
import { MessageHeaders, readSockaddr, sockaddrSize, writeSockaddr } from "./ffi/mmsghdr.ts";

const CONTROL = 32;
const CONTROL_LENGTH = 28;
const PKTINFO = 16; // offset of in_pktinfo in the control message

/** Datagrams per system call, and the largest of them. */
const BATCH = 128;
const LARGEST = 2048;
const LAYOUT = { count: BATCH, family: 4, payload: LARGEST, control: CONTROL } as const;
const RECEIVE_BUFFER = 16 * 1024 * 1024;
/** Longest poll for datagrams, and so the longest delay of closing, milliseconds. */
const POLL_MS = 100;

/**
 * Called for each datagram.
 *
 * @param datagram A view that is valid until the call returns.
 * @param from The sender.
 * @param to The destination address.
 */
export type WildcardReceiver = (datagram: Uint8Array, from: Endpoint, to: number) => void;

/** A UDP socket on one port of all loopback addresses. Replies leave from the probed address. */
export class WildcardSocket implements AsyncDisposable {
  readonly #libc = new Libc();
  readonly #socket: number;
  readonly #in = new MessageHeaders(LAYOUT);
  readonly #out = new MessageHeaders(LAYOUT);
  readonly #to = new Endpoints(1);
  #queued = 0;
  #closing = false;
  #receiving: Promise<void> = Promise.resolve();

  /**
   * Opens the socket.
   *
   * @throws Error with the call that failed.
   */
  constructor(readonly port: number) {
    const { call } = this.#libc;
    this.#socket = call.socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (this.#socket < 0) throw this.#error("socket");
    const size = int32(RECEIVE_BUFFER);
    if (call.setsockopt(this.#socket, SOL_SOCKET, SO_RCVBUFFORCE, size, 4) < 0) {
      call.setsockopt(this.#socket, SOL_SOCKET, SO_RCVBUF, size, 4);
    }
    this.#set(SOL_SOCKET, SO_BINDTODEVICE, new TextEncoder().encode("lo\0"), "bind to loopback");
    this.#set(IPPROTO_IP, IP_PKTINFO, int32(1), "enable destination addresses");
    const address = new Uint8Array(sockaddrSize(4));
    writeSockaddr(new DataView(address.buffer), 0, Endpoints.of({ address: 0, port }), 0);
    if (call.bind(this.#socket, address, address.length) < 0) throw this.#error("bind");
  }

  #set(level: number, option: number, value: Uint8Array<ArrayBuffer>, what: string): void {
    if (this.#libc.call.setsockopt(this.#socket, level, option, value, value.length) < 0) {
      throw this.#error(what);
    }
  }

  #error(what: string): Error {
    const errno = this.#libc.errno();
    const reason = errno === EADDRINUSE ? "it is in use" : errorName(errno);
    return new Error(`Cannot ${what} on port ${this.port}: ${reason}`);
  }

  /** Delivers every datagram to the receiver until the socket is disposed of. */
  listen(receiver: WildcardReceiver): Promise<void> {
    return this.#receiving = this.#receive(receiver);
  }

  async #receive(receiver: WildcardReceiver): Promise<void> {
    const { call } = this.#libc;
    const wanted = new Uint8Array(8);
    new DataView(wanted.buffer).setInt32(0, this.#socket, true);
    new DataView(wanted.buffer).setInt16(4, POLLIN, true);
    while (!this.#closing) {
      const count = call.recvmmsg(this.#socket, this.#in.header(0), BATCH, MSG_DONTWAIT, null);
      if (count > 0) {
        this.#deliver(count, receiver);
        continue;
      }
      const errno = this.#libc.errno();
      if (errno !== EAGAIN && errno !== EINTR) throw this.#error("receive");
      await call.poll(wanted, 1n, POLL_MS);
    }
  }

  #deliver(count: number, receiver: WildcardReceiver): void {
    const { view } = this.#in;
    for (let i = 0; i < count; i++) {
      const from = readSockaddr(view, this.#in.name(i));
      const to = view.getUint32(this.#in.control(i) + PKTINFO + 8);
      const datagram = this.#in.received(i);
      this.#in.reset(i);
      receiver(datagram, from, to);
    }
    this.flush();
  }

  /** Queues a datagram, which is sent when the batch is full or flushed. */
  send(datagram: Uint8Array, from: number, to: Endpoint): void {
    const { bytes, view } = this.#out;
    const i = this.#queued++;
    this.#to.set(0, to);
    writeSockaddr(view, this.#out.name(i), this.#to, 0);
    const control = this.#out.control(i);
    view.setBigUint64(control, BigInt(CONTROL_LENGTH), true);
    view.setInt32(control + 8, IPPROTO_IP, true);
    view.setInt32(control + 12, IP_PKTINFO, true);
    view.setUint32(control + PKTINFO + 4, from);
    const cut = datagram.subarray(0, LARGEST);
    bytes.set(cut, this.#out.payload(i));
    this.#out.setLength(i, cut.length);
    if (this.#queued === BATCH) this.flush();
  }

  /** Sends the queued datagrams. Those that the kernel refuses are dropped. */
  flush(): void {
    for (let at = 0; at < this.#queued;) {
      const sent = this.#libc.call.sendmmsg(
        this.#socket,
        this.#out.header(at),
        this.#queued - at,
        0,
      );
      at += Math.max(1, sent);
    }
    this.#queued = 0;
  }

  /** Closes the socket after the pending poll. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing = true;
    await this.#receiving;
    this.#libc.call.close(this.#socket);
    this.#libc[Symbol.dispose]();
  }
}
