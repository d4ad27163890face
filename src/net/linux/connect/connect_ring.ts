/**
 * A ring of non-blocking TCP sockets that connect. One epoll instance reports the replies. A socket whose
 * connection was refused, or got no reply, connects again to another target: this takes half the time
 * of a new socket.
 *
 * @module
 */
import type { Address, Endpoint } from "../../../core/address.ts";
import { Endpoints } from "../../../core/endpoints.ts";
import { type PortWait, SWEEP_WAIT_MS } from "../../port_socket.ts";
import {
  AF_INET,
  AF_INET6,
  EADDRNOTAVAIL,
  ECONNREFUSED,
  EINPROGRESS,
  EPOLLERR,
  EPOLLHUP,
  EPOLLOUT,
  failure,
  int32,
  IP_BIND_ADDRESS_NO_PORT,
  IPPROTO_IP,
  IPPROTO_TCP,
  type Libc,
  MSG_DONTWAIT,
  MSG_ERRQUEUE,
  SO_ERROR,
  SOCK_CLOEXEC,
  SOCK_DGRAM,
  SOCK_NONBLOCK,
  SOCK_STREAM,
  SOL_SOCKET,
  TCP_USER_TIMEOUT,
} from "../ffi/libc.ts";
import { sockaddrSize, writeSockaddr } from "../ffi/mmsghdr.ts";
import type { TargetBatch } from "../batch/target_batch.ts";
import { ADDRESS_WORDS } from "../batch/target_batch.ts";
import { ConnectSlots } from "./connect_slots.ts";
import type { Epoll } from "./epoll.ts";

/** The result of {@linkcode ConnectRing.connect} while every socket is in use. */
export const RING_FULL = -1;
/** A socket address without a family: connecting to it disconnects. */
const NOWHERE = new Uint8Array(16);
const PORT = 2; // offset of the port in a socket address
/** Offset of the address in a socket address. */
const ADDRESS: Readonly<Record<4 | 6, number>> = { 4: 4, 6: 8 };
/** How many of its sockets a ring keeps when no descriptor is free: others need some too. */
const KEPT = 7 / 8;
/** The growth of a smaller ring in each time of {@linkcode RETRY_MS}. */
const GROWTH = 1 + 1 / 64;
/** Pause between attempts to open a socket after a shortage, milliseconds. */
export const RETRY_MS = 100;

/** What a {@linkcode ConnectRing} uses. It owns none of it. */
export interface ConnectRingDependencies {
  readonly libc: Libc;
  readonly epoll: Epoll;
  readonly family: 4 | 6;
  /** The local address. Default: the system's choice. */
  readonly from?: Address;
  /** Maximum number of sockets. */
  readonly capacity: number;
  /** The time for replies. */
  readonly wait: PortWait;
}

/** Sockets that connect. All times are milliseconds of one clock, which the caller reads. */
export class ConnectRing {
  readonly slots: ConnectSlots;
  readonly #dependencies: ConnectRingDependencies;
  /** The address of the target, and the local one. */
  readonly #name: Uint8Array<ArrayBuffer>;
  readonly #nameView: DataView;
  readonly #local: Uint8Array<ArrayBuffer> | undefined;
  readonly #option = new Int32Array(1);
  readonly #optionSize = new Uint32Array(1);
  readonly #byte = new Uint8Array(1);
  /** The words of an address that is looked up. */
  readonly #words: Int32Array;
  /** Number of sockets that may be open. It is below the capacity after a shortage. */
  #limit: number;
  /** The time from which on another socket may be opened. */
  #openFrom = -Infinity;
  /** The error number of the last shortage. */
  #shortage = 0;
  /** The time from which on a smaller ring grows again. */
  #growFrom = -Infinity;
  /** The time of the last poll that delivered all events. Later events may be undelivered. */
  #polledAt = -Infinity;

  /** Creates a ring without sockets. */
  constructor(dependencies: ConnectRingDependencies) {
    const { family, from, capacity } = this.#dependencies = dependencies;
    this.slots = new ConnectSlots(capacity, ADDRESS_WORDS[family] as 1 | 4);
    this.#words = new Int32Array(this.slots.words);
    this.#limit = capacity;
    this.#name = new Uint8Array(sockaddrSize(family));
    this.#nameView = new DataView(this.#name.buffer);
    this.#nameView.setUint16(0, family === 4 ? AF_INET : AF_INET6, true);
    if (from === undefined) return;
    this.#local = new Uint8Array(this.#name.length);
    const local = Endpoints.of({ address: from, port: 0 });
    writeSockaddr(new DataView(this.#local.buffer), 0, local, 0);
  }

  /** Whether a shortage of descriptors has made the ring smaller. */
  get #isShrunk(): boolean {
    return this.#limit < this.slots.capacity;
  }

  /**
   * Tests whether a socket can be opened, and whether epoll reports its events as Linux does.
   *
   * @throws Error with the call that failed.
   */
  test(): void {
    const { libc, epoll } = this.#dependencies;
    const socket = this.#openSocket();
    if (socket < 0) throw failure(libc, "open a socket");
    try {
      if (!epoll.addConnection(socket, 0)) throw failure(libc, "wait for a connection");
      let isReported = false;
      const connection = (slot: number, descriptor: number, events: number) => {
        isReported ||= slot === 0 && descriptor === socket && (events & EPOLLHUP) !== 0;
      };
      epoll.poll(1, { connection, stream() {} });
      if (!isReported) {
        throw new Error("Cannot wait for connections: epoll does not report an unconnected socket");
      }
    } finally {
      libc.call.close(socket);
    }
  }

  /**
   * Begins to connect to a target of a batch.
   *
   * @param i Index of the target.
   * @param delay Microseconds to add to the stamp of the target.
   * @returns 0: begun; {@linkcode RING_FULL}; or the error number of the call that failed.
   */
  connect({ words, size }: TargetBatch, i: number, delay: number, now: number): number {
    const slot = this.#takeSlot(now);
    if (slot < 0) return slot === RING_FULL ? RING_FULL : -1 - slot;
    const { slots } = this;
    const at = i * size;
    const addressWords = slots.words;
    this.#writeName(words, at, addressWords);
    for (let k = 0; k < addressWords; k++) slots.addresses[slot * addressWords + k] = words[at + k];
    slots.ports[slot] = words[at + addressWords];
    slots.tokens[slot] = words[at + addressWords + 1];
    slots.stamps[slot] = words[at + addressWords + 2] + delay;
    return this.#begin(slot, now);
  }

  /** Connects the socket in a slot to the address in memory. */
  #begin(slot: number, now: number): number {
    const { libc } = this.#dependencies;
    const { slots } = this;
    slots.used[slot] = 1;
    const isOpen = libc.call.connect(slots.sockets[slot], this.#name, this.#name.length) === 0;
    const errno = isOpen ? 0 : libc.errno();
    if (isOpen) slots.addSettled(slot, 0, now);
    else if (errno === EINPROGRESS) slots.addPending(slot, now);
    else slots.addIdle(slot);
    return errno === EINPROGRESS ? 0 : errno;
  }

  #writeName(words: Int32Array, at: number, count: number): void {
    const view = this.#nameView;
    const address = ADDRESS[this.#dependencies.family];
    view.setUint16(PORT, words[at + count]);
    for (let k = 0; k < count; k++) view.setInt32(address + 4 * k, words[at + k]);
  }

  /**
   * A slot in no list whose socket is not connected.
   *
   * @returns {@linkcode RING_FULL}, or -1 minus the error number of the call that failed.
   */
  #takeSlot(now: number): number {
    const { slots } = this;
    for (;;) {
      const slot = this.#isExpired(slots.oldestPending) ? slots.takePending() : slots.takeIdle();
      if (slot === undefined) return this.#openSlot(now);
      if (slots.count > this.#limit) this.#close(slot);
      else if (this.#disconnect(slot)) return slot;
    }
  }

  #isExpired(slot: number | undefined, grace = 0): boolean {
    return slot !== undefined &&
      this.slots.times[slot] + this.#dependencies.wait.ms + grace <= this.#polledAt;
  }

  /** Ends the connection of the socket in a slot. Closes the socket and returns false if that fails. */
  #disconnect(slot: number): boolean {
    const { slots } = this;
    if (slots.used[slot] === 0) return true;
    const { call } = this.#dependencies.libc;
    slots.used[slot] = 0;
    if (call.connect(slots.sockets[slot], NOWHERE, NOWHERE.length) === 0) return true;
    this.#close(slot);
    return false;
  }

  #close(slot: number): void {
    this.#dependencies.libc.call.close(this.slots.empty(slot));
  }

  /** Opens a socket into a slot. Returns the slot, or as {@linkcode #takeSlot}. */
  #openSlot(now: number): number {
    const { slots } = this;
    const { libc, epoll } = this.#dependencies;
    if (now < this.#openFrom) return slots.count > 0 ? RING_FULL : -1 - this.#shortage;
    if (this.#isShrunk) this.#grow(now);
    if (slots.count >= this.#limit) return RING_FULL;
    const socket = this.#openSocket();
    if (socket < 0) return -1 - this.#shrink(libc.errno(), now);
    const slot = slots.fill(socket);
    if (epoll.addConnection(socket, slot)) return slot;
    const errno = libc.errno();
    this.#close(slot);
    return -1 - this.#shrink(errno, now);
  }

  #openSocket(): number {
    const { libc: { call }, family } = this.#dependencies;
    const domain = family === 4 ? AF_INET : AF_INET6;
    const socket = call.socket(domain, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket < 0) return socket;
    // The system repeats at most one SYN packet if this process is stopped.
    call.setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, int32(SWEEP_WAIT_MS), 4);
    if (this.#local === undefined || this.#bind(socket)) return socket;
    call.close(socket); // keeps the error number
    return -1;
  }

  /** Binds a socket to the local address, without a port: connecting chooses it. */
  #bind(socket: number): boolean {
    const { call } = this.#dependencies.libc;
    return call.setsockopt(socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, int32(1), 4) === 0 &&
      call.bind(socket, this.#local!, this.#local!.length) === 0;
  }

  /** Lets a ring without a free socket grow again after a shortage. */
  #grow(now: number): void {
    if (this.slots.count < this.#limit || now < this.#growFrom) return;
    this.#limit = Math.min(this.slots.capacity, Math.ceil(this.#limit * GROWTH));
    this.#growFrom = now + RETRY_MS;
  }

  /** Makes the ring smaller after a shortage. Returns the error number. */
  #shrink(errno: number, now: number): number {
    this.#limit = Math.max(1, Math.floor(this.slots.count * KEPT));
    this.#openFrom = this.#growFrom = now + RETRY_MS;
    return this.#shortage = errno;
  }

  /**
   * Settles the slot of a connection after an event. Events of earlier connections are ignored.
   *
   * @param socket The socket of the event.
   */
  receive(slot: number, socket: number, events: number, now: number): void {
    const { slots } = this;
    if (!slots.isPending(slot, socket)) return;
    if ((events & (EPOLLERR | EPOLLHUP)) === 0) return slots.settle(slot, 0, now);
    const error = this.#errorOf(socket);
    if (error !== 0) return slots.settle(slot, error, now);
    // The error of an earlier connection has cleared the one of this.
    if ((events & EPOLLHUP) !== 0) return slots.settle(slot, ECONNREFUSED, now);
    this.#clearErrors(socket);
    if ((events & EPOLLOUT) !== 0) slots.settle(slot, 0, now);
  }

  #errorOf(socket: number): number {
    const { libc } = this.#dependencies;
    this.#optionSize[0] = 4;
    if (libc.call.getsockopt(socket, SOL_SOCKET, SO_ERROR, this.#option, this.#optionSize) < 0) {
      throw failure(libc, "read the error of a connection");
    }
    return this.#option[0];
  }

  /** Clears ICMP errors of earlier connections, which the system keeps with the socket. */
  #clearErrors(socket: number): void {
    const { call } = this.#dependencies.libc;
    while (call.recv(socket, this.#byte, 1n, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0);
  }

  /**
   * Records that all events before a time were received. Probes without a reply in time are forgotten:
   * the next connections may reuse their sockets.
   *
   * @param grace How long such a probe may stay pending if nothing reuses its socket, milliseconds.
   */
  expire(at: number, grace: number): void {
    this.#polledAt = at;
    const { slots } = this;
    while (this.#isExpired(slots.oldestPending, grace)) {
      const slot = slots.takePending();
      if (slots.count > this.#limit) this.#close(slot);
      else if (this.#disconnect(slot)) slots.addIdle(slot);
    }
  }

  /** Whether a connection to an endpoint of the family of the ring is pending. */
  hasPending({ address, port }: Endpoint): boolean {
    const words = this.#words;
    let rest = BigInt(address);
    for (let k = words.length - 1; k >= 0; k--, rest >>= 32n) words[k] = Number(rest & 0xffffffffn);
    return this.slots.hasPending(words, port);
  }

  /** The target of a slot. */
  endpointOf(slot: number): Endpoint {
    const { addresses, ports, words } = this.slots;
    const port = ports[slot];
    if (words === 1) return { address: addresses[slot] >>> 0, port };
    let address = 0n;
    for (let k = 0; k < words; k++) {
      address = address << 32n | BigInt(addresses[slot * words + k] >>> 0);
    }
    return { address, port };
  }

  /**
   * Takes the oldest settled slot, whose values the caller has read. Returns its open connection, which
   * then belongs to the caller; `undefined`: it was not accepted.
   */
  take(): number | undefined {
    const { slots } = this;
    const slot = slots.takeSettled();
    if (slots.errors[slot] === 0) return slots.empty(slot);
    if (slots.errors[slot] === ECONNREFUSED && slots.count <= this.#limit) slots.addIdle(slot);
    else this.#close(slot); // after an ICMP error, the system keeps more of it
    return undefined;
  }

  /**
   * Whether this machine has an address from which the target of a batch is reachable. Without one,
   * connecting fails with the same error as without a free port. Nothing is sent.
   */
  hasSource({ words, size }: TargetBatch, i: number): boolean {
    const { libc, family } = this.#dependencies;
    this.#writeName(words, i * size, this.slots.words);
    const socket = libc.call.socket(
      family === 4 ? AF_INET : AF_INET6,
      SOCK_DGRAM | SOCK_CLOEXEC,
      0,
    );
    if (socket < 0) return true;
    const isReachable = libc.call.connect(socket, this.#name, this.#name.length) === 0;
    const errno = libc.errno();
    libc.call.close(socket);
    return isReachable || errno !== EADDRNOTAVAIL;
  }

  /** Closes all sockets. Nothing is sent for pending connections. */
  close(): void {
    const { call } = this.#dependencies.libc;
    const { sockets } = this.slots;
    sockets.forEach((socket, slot) => {
      if (socket >= 0) call.close(socket);
      sockets[slot] = -1;
    });
  }
}
