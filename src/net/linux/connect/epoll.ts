/**
 * An epoll instance of Linux, which reports events of many descriptors.
 *
 * An event has two words on x86-64, followed by the high word of its data; on arm64 the data are aligned:
 *
 *     x86-64 12 bytes  events 0 (4)  data 4 (8)
 *     arm64  16 bytes  events 0 (4)  data 8 (8)
 *
 * @module
 */
import {
  EINTR,
  EPOLL_CLOEXEC,
  EPOLL_CTL_ADD,
  EPOLL_CTL_MOD,
  EPOLLERR,
  EPOLLET,
  EPOLLHUP,
  EPOLLIN,
  EPOLLOUT,
  EPOLLRDHUP,
  failure,
  type Libc,
} from "../ffi/libc.ts";

const IS_PACKED = Deno.build.arch === "x86_64";
/** Words of an event, and index of its data. */
const WORDS = IS_PACKED ? 3 : 4;
const DATA = IS_PACKED ? 1 : 2;
/** Maximum number of events of one call. */
const EVENTS = 512;
/** The low word of the data of streams; other descriptors have the number of their slot. */
const STREAM = -1;

const OF_CONNECTION = (EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLET) >>> 0;
const OF_STREAM = (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLERR | EPOLLHUP | EPOLLET) >>> 0;

/** Receives events. An event may be late: the descriptor may have been closed and opened again. */
export interface EpollReceiver {
  /** Something happened to the connection in a slot. */
  connection(slot: number, descriptor: number, events: number): void;
  /** Something happened to a stream. */
  stream(descriptor: number): void;
}

/** An epoll instance. Events are reported once, when they happen. */
export class Epoll {
  readonly descriptor: number;
  readonly #event = new Int32Array(WORDS);
  readonly #eventBytes = new Uint8Array(this.#event.buffer);
  readonly #events = new Int32Array(EVENTS * WORDS);
  readonly #eventsBytes = new Uint8Array(this.#events.buffer);

  /** Opens it; throws Error with the call that failed. */
  constructor(private readonly libc: Libc) {
    this.descriptor = libc.call.epoll_create1(EPOLL_CLOEXEC);
    if (this.descriptor < 0) throw failure(libc, "open an epoll instance");
  }

  /** Reports the events of a connection from now on. Returns false if the system has no memory for it. */
  addConnection(descriptor: number, slot: number): boolean {
    return this.#control(EPOLL_CTL_ADD, descriptor, OF_CONNECTION, slot);
  }

  /** Reports the events of a former connection as those of a stream from now on, also present ones. */
  changeToStream(descriptor: number): void {
    if (!this.#control(EPOLL_CTL_MOD, descriptor, OF_STREAM, STREAM)) {
      throw failure(this.libc, "wait for a connection");
    }
  }

  #control(operation: number, descriptor: number, events: number, low: number): boolean {
    this.#event[0] = events | 0;
    this.#event[DATA] = low;
    this.#event[DATA + 1] = descriptor;
    const { call } = this.libc;
    return call.epoll_ctl(this.descriptor, operation, descriptor, this.#eventBytes) === 0;
  }

  /**
   * Delivers pending events, with at most `calls` system calls.
   *
   * @returns Whether all were delivered.
   */
  poll(calls: number, receiver: EpollReceiver): boolean {
    const events = this.#events;
    for (let left = calls; left > 0; left--) {
      const count = this.libc.call.epoll_wait(this.descriptor, this.#eventsBytes, EVENTS, 0);
      if (count < 0 && this.libc.errno() !== EINTR) throw failure(this.libc, "wait for events");
      for (let at = 0; at < count * WORDS; at += WORDS) {
        const slot = events[at + DATA];
        const descriptor = events[at + DATA + 1];
        if (slot === STREAM) receiver.stream(descriptor);
        else receiver.connection(slot, descriptor, events[at]);
      }
      if (count >= 0 && count < EVENTS) return true;
    }
    return false;
  }
}
