/**
 * A TCP stream over a connection of a ring.
 *
 * @module
 */
import {
  EAGAIN,
  EINTR,
  ETIMEDOUT,
  int32,
  IPPROTO_TCP,
  MSG_DONTWAIT,
  MSG_NOSIGNAL,
  TCP_USER_TIMEOUT,
} from "../ffi/libc.ts";
import type { ConnectionEnd, Stream } from "../../stream.ts";
import type { EventLoop } from "./event_loop.ts";

/** Memory for one read, which all streams share: a read copies what it has got. */
const BUFFER = new Uint8Array(16 * 1024);
/**
 * Time in which the peer's system has to acknowledge a request, milliseconds. Networks that accept
 * connections to all addresses often acknowledge nothing.
 */
const ACKNOWLEDGED_MS = 1500;

/** An open connection. It owns the socket. */
export class ConnectedStream implements Stream {
  #isOpen = true;
  #hasWritten = false;
  #isWatched = false;
  /** The calls that wait for an event. */
  #waiting: (() => void)[] = [];

  /** Takes ownership of a connected, non-blocking socket, whose events the loop gets. */
  constructor(private readonly loop: EventLoop, private readonly socket: number) {
    loop.hold();
  }

  async read(): Promise<Uint8Array | ConnectionEnd> {
    const { libc } = this.loop;
    while (this.#isOpen) {
      const size = Number(
        libc.call.recv(this.socket, BUFFER, BigInt(BUFFER.length), MSG_DONTWAIT),
      );
      if (size > 0) return BUFFER.slice(0, size);
      if (size === 0) return "closed";
      const errno = libc.errno();
      if (!await this.#canRetry(errno)) return errno === ETIMEDOUT ? "slow" : "reset";
    }
    return "closed";
  }

  async write(bytes: Uint8Array): Promise<boolean> {
    const { libc } = this.loop;
    if (!this.#hasWritten) this.#limitAcknowledgement();
    for (let rest = bytes as Uint8Array<ArrayBuffer>; rest.length > 0;) {
      if (!this.#isOpen) return false;
      const flags = MSG_DONTWAIT | MSG_NOSIGNAL;
      const size = Number(
        libc.call.sendto(this.socket, rest, BigInt(rest.length), flags, null, 0),
      );
      if (size >= 0) rest = rest.subarray(size);
      else if (!await this.#canRetry(libc.errno())) return false;
    }
    return this.#isOpen;
  }

  #limitAcknowledgement(): void {
    this.#hasWritten = true;
    if (!this.#isOpen) return;
    const { call } = this.loop.libc;
    call.setsockopt(this.socket, IPPROTO_TCP, TCP_USER_TIMEOUT, int32(ACKNOWLEDGED_MS), 4);
  }

  /** After a failed call: waits for an event if the call would have blocked. Returns whether to retry. */
  async #canRetry(errno: number): Promise<boolean> {
    if (errno !== EAGAIN) return errno === EINTR;
    const event = new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (!this.#isWatched) {
      this.#isWatched = true;
      this.loop.watch(this.socket, () => this.#wake());
    }
    await event;
    return true;
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting = [];
  }

  /** Closes the connection, as clients do after a reply. */
  [Symbol.dispose](): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    if (this.#isWatched) this.loop.unwatch(this.socket);
    this.loop.libc.call.close(this.socket);
    this.#wake();
    this.loop.release();
  }
}
