/**
 * Linux through FFI: one UDP socket that answers for many addresses. The only file that touches
 * pointers; it is loaded when it is needed, so that nobody else has to grant `--allow-ffi`.
 *
 * Structures of 64-bit Linux (x86-64 and arm64), sizes and offsets in bytes:
 *
 *     mmsghdr 64     name* 0  namelen 8  iov* 16  iovlen 24  control* 32  controllen 40  flags 48  len 56
 *     iovec 16       base* 0  len 8
 *     sockaddr_in 16 family 0 (2, host order)  port 2 (2, BE)  address 4 (4)
 *     cmsghdr 16     len 0 (8)  level 8 (4)  type 12 (4), then in_pktinfo: ifindex 4  spec_dst 4  addr 4
 *
 * @module
 */
import type { Endpoint } from "../address.ts";

const MMSGHDR = 64;
const IOVEC = 16;
const SOCKADDR = 16;
const CONTROL = 32;
const CONTROL_LENGTH = 28;
const PKTINFO = 16; // where in_pktinfo starts in the control bytes
const AF_INET = 2;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0x80000;
const SOL_SOCKET = 1;
const SO_RCVBUF = 8;
const SO_BINDTODEVICE = 25;
const SO_RCVBUFFORCE = 33;
const IPPROTO_IP = 0;
const IP_PKTINFO = 8;
const MSG_DONTWAIT = 0x40;
const POLLIN = 1;
const EAGAIN = 11;
const EINTR = 4;
const EADDRINUSE = 98;

/** Datagrams per system call, and the largest of them. */
const BATCH = 128;
const LARGEST = 2048;
const RECEIVE_BUFFER = 16 * 1024 * 1024;
/** How long one wait for datagrams lasts: closing takes so long at the most. */
const POLL_MS = 100;

const SYMBOLS = {
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  setsockopt: { parameters: ["i32", "i32", "i32", "buffer", "u32"], result: "i32" },
  bind: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  recvmmsg: { parameters: ["i32", "buffer", "u32", "i32", "pointer"], result: "i32" },
  sendmmsg: { parameters: ["i32", "pointer", "u32", "i32"], result: "i32" },
  poll: { parameters: ["buffer", "u64", "i32"], result: "i32", nonblocking: true },
  close: { parameters: ["i32"], result: "i32" },
  __errno_location: { parameters: [], result: "pointer" },
} as const;

/** What libc offers us. */
type Libc = Deno.DynamicLibrary<typeof SYMBOLS>;

/** Memory for a batch of messages, with all pointers set. */
class Messages {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly view: DataView;
  readonly base: bigint;

  constructor() {
    const size = BATCH * (MMSGHDR + IOVEC + SOCKADDR + CONTROL + LARGEST);
    this.bytes = new Uint8Array(size);
    this.view = new DataView(this.bytes.buffer);
    this.base = BigInt(Deno.UnsafePointer.value(Deno.UnsafePointer.of(this.bytes)));
    for (let i = 0; i < BATCH; i++) {
      const header = i * MMSGHDR;
      this.#pointer(header, this.name(i));
      this.#pointer(header + 16, this.#iovec(i));
      this.view.setBigUint64(header + 24, 1n, true);
      this.#pointer(header + 32, this.control(i));
      this.#pointer(this.#iovec(i), this.payload(i));
      this.reset(i);
    }
  }

  #pointer(at: number, to: number): void {
    this.view.setBigUint64(at, this.base + BigInt(to), true);
  }

  #iovec(i: number): number {
    return BATCH * MMSGHDR + i * IOVEC;
  }

  name(i: number): number {
    return BATCH * (MMSGHDR + IOVEC) + i * SOCKADDR;
  }

  control(i: number): number {
    return BATCH * (MMSGHDR + IOVEC + SOCKADDR) + i * CONTROL;
  }

  payload(i: number): number {
    return BATCH * (MMSGHDR + IOVEC + SOCKADDR + CONTROL) + i * LARGEST;
  }

  /** Sets the lengths that the kernel changes. */
  reset(i: number): void {
    this.view.setUint32(i * MMSGHDR + 8, SOCKADDR, true);
    this.view.setBigUint64(i * MMSGHDR + 40, BigInt(CONTROL), true);
    this.view.setBigUint64(this.#iovec(i) + 8, BigInt(LARGEST), true);
  }

  /** Sets the length of a message that is to be sent. */
  setLength(i: number, length: number): void {
    this.view.setBigUint64(this.#iovec(i) + 8, BigInt(length), true);
  }

  /** How long a received message is. */
  length(i: number): number {
    return this.view.getUint32(i * MMSGHDR + 56, true);
  }
}

/**
 * Called for each datagram.
 *
 * @param datagram A view that is gone when the call returns.
 * @param from Who sent it.
 * @param to The address that it was sent to.
 */
export type WildcardReceiver = (datagram: Uint8Array, from: Endpoint, to: number) => void;

/** A UDP socket on one port of all loopback addresses, which answers from the one that was asked. */
export class WildcardSocket implements AsyncDisposable {
  readonly #libc: Libc;
  readonly #socket: number;
  readonly #in = new Messages();
  readonly #out = new Messages();
  #queued = 0;
  #closing = false;
  #receiving: Promise<void> = Promise.resolve();

  /**
   * Opens it.
   *
   * @throws Error with the call that failed.
   */
  constructor(readonly port: number) {
    this.#libc = Deno.dlopen("libc.so.6", SYMBOLS);
    this.#socket = this.#libc.symbols.socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (this.#socket < 0) throw this.#error("socket");
    const size = int32(RECEIVE_BUFFER);
    if (this.#libc.symbols.setsockopt(this.#socket, SOL_SOCKET, SO_RCVBUFFORCE, size, 4) < 0) {
      this.#libc.symbols.setsockopt(this.#socket, SOL_SOCKET, SO_RCVBUF, size, 4);
    }
    this.#set(SOL_SOCKET, SO_BINDTODEVICE, new TextEncoder().encode("lo\0"), "bind to loopback");
    this.#set(IPPROTO_IP, IP_PKTINFO, int32(1), "ask for addresses");
    const address = new Uint8Array(SOCKADDR);
    const view = new DataView(address.buffer);
    view.setUint16(0, AF_INET, true);
    view.setUint16(2, port);
    if (this.#libc.symbols.bind(this.#socket, address, SOCKADDR) < 0) throw this.#error("bind");
  }

  #set(level: number, option: number, value: Uint8Array<ArrayBuffer>, what: string): void {
    if (this.#libc.symbols.setsockopt(this.#socket, level, option, value, value.length) < 0) {
      throw this.#error(what);
    }
  }

  #errno(): number {
    return new Deno.UnsafePointerView(this.#libc.symbols.__errno_location()!).getInt32();
  }

  #error(what: string): Error {
    const errno = this.#errno();
    const reason = errno === EADDRINUSE ? "it is in use" : `errno ${errno}`;
    return new Error(`Cannot ${what} on port ${this.port}: ${reason}`);
  }

  /** Hands every datagram to the receiver until the socket is disposed of. */
  listen(receiver: WildcardReceiver): Promise<void> {
    return this.#receiving = this.#receive(receiver);
  }

  async #receive(receiver: WildcardReceiver): Promise<void> {
    const messages = this.#in;
    const wanted = new Uint8Array(8);
    new DataView(wanted.buffer).setInt32(0, this.#socket, true);
    new DataView(wanted.buffer).setInt16(4, POLLIN, true);
    while (!this.#closing) {
      const count = this.#libc.symbols.recvmmsg(
        this.#socket,
        messages.bytes,
        BATCH,
        MSG_DONTWAIT,
        null,
      );
      if (count > 0) {
        this.#handOn(count, receiver);
        continue;
      }
      const errno = this.#errno();
      if (errno !== EAGAIN && errno !== EINTR) throw this.#error("receive");
      await this.#libc.symbols.poll(wanted, 1n, POLL_MS);
    }
  }

  #handOn(count: number, receiver: WildcardReceiver): void {
    const { bytes, view } = this.#in;
    for (let i = 0; i < count; i++) {
      const name = this.#in.name(i);
      const from = { address: view.getUint32(name + 4), port: view.getUint16(name + 2) };
      const to = view.getUint32(this.#in.control(i) + PKTINFO + 8);
      const payload = this.#in.payload(i);
      const datagram = bytes.subarray(payload, payload + this.#in.length(i));
      this.#in.reset(i);
      receiver(datagram, from, to);
    }
    this.flush();
  }

  /** Queues a datagram; it leaves with the batch, or at the next flush. */
  send(datagram: Uint8Array, from: number, to: Endpoint): void {
    const { bytes, view } = this.#out;
    const i = this.#queued++;
    const name = this.#out.name(i);
    view.setUint16(name, AF_INET, true);
    view.setUint16(name + 2, to.port);
    view.setUint32(name + 4, to.address as number);
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

  /** Sends what is queued. What the kernel does not take is lost, as datagrams are. */
  flush(): void {
    for (let at = 0; at < this.#queued;) {
      const pointer = Deno.UnsafePointer.create(this.#out.base + BigInt(at * MMSGHDR));
      const sent = this.#libc.symbols.sendmmsg(this.#socket, pointer, this.#queued - at, 0);
      at += Math.max(1, sent);
    }
    this.#queued = 0;
  }

  /** Closes it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing = true;
    await this.#receiving;
    this.#libc.symbols.close(this.#socket);
    this.#libc.close();
  }
}

function int32(value: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Int32Array.of(value).buffer);
}
