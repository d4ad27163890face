/**
 * How batches leave: by calls of our own, or of a thread that only sends.
 *
 * @module
 */
import {
  EAGAIN,
  EINTR,
  ENETDOWN,
  errorName,
  isFull,
  isLost,
  type Libc,
  POLLIN,
  POLLOUT,
} from "./ffi/libc.ts";
import type { SendJob } from "./thread/shared_job_queue.ts";
import type { PreparedBatch, Transmit } from "./batch/transmit.ts";
import type { SendThread } from "./thread/send_thread.ts";
import type { SocketErrors } from "../socket.ts";

/** How long the system may have no room for what we send before it counts as refused. */
const MOST_WAITS = 1000;
const WAIT_MS = 1;
/** How often an interface that is down is tried. */
const DOWN_MS = 100;

/** What an outlet is made of. */
export interface BatchSenderParts {
  readonly libc: Libc;
  /** An event that wakes up whoever waits, when all is to be closed. */
  readonly closing: number;
  /** Writes and sends, where this thread is not to. */
  readonly thread?: SendThread;
  /** Hands loads to the system, where this thread is to. */
  readonly transmit: Transmit;
  /** What went wrong. */
  readonly errors: SocketErrors;
}

/** An outlet: it owns nothing, and is to be {@linkcode close}d before what it was given. */
export class BatchSender {
  /** How much is being sent: all must have ended before the socket is closed. */
  #busy = 0;
  #idle: (() => void) | undefined;
  #closed = false;

  /** Takes its parts. */
  constructor(private readonly parts: BatchSenderParts) {}

  /**
   * Sends a load to its end, on this thread.
   *
   * @param signal Ends waiting for an interface that is down.
   * @returns How many the system took; a promise where it did not take them at once. It rejects
   * when the network is gone for good, or is down when nobody waits any longer.
   */
  flush(load: PreparedBatch, signal?: AbortSignal): number | Promise<number> {
    const { transmit } = this.parts;
    if (this.#closed) return 0;
    const taken = transmit(load, 0);
    if (taken === load.count) return taken;
    return this.#sendRest(load, Math.max(0, taken), signal);
  }

  readonly #refuse = (errno: number, times: number) =>
    countError(this.parts.errors.send, errno, times);

  /** The same of rows, on the other thread. */
  async send(job: SendJob, signal?: AbortSignal): Promise<number> {
    if (this.#closed) return 0;
    const thread = this.parts.thread!;
    this.#busy++;
    try {
      let { taken, tried, errno } = await thread.send(job, 0, this.#refuse);
      while (tried < job.targets.length) {
        await this.#outlast(errno, signal);
        if (this.#closed) break;
        const rest = await thread.send(job, tried, this.#refuse);
        taken += rest.taken;
        tried += rest.tried;
        errno = rest.errno;
      }
      return taken;
    } finally {
      this.#release();
    }
  }

  #release(): void {
    if (--this.#busy === 0) this.#idle?.();
  }

  /** Sends what is left of a load that broke off. */
  async #sendRest(load: PreparedBatch, begun: number, signal?: AbortSignal): Promise<number> {
    this.#busy++;
    try {
      return await this.#sendFrom(load, begun, signal);
    } finally {
      this.#release();
    }
  }

  async #sendFrom(load: PreparedBatch, begun: number, signal?: AbortSignal): Promise<number> {
    const { transmit, errors } = this.parts;
    let sent = begun;
    let waits = 0;
    for (let at = begun; at < load.count && !this.#closed;) {
      const taken = transmit(load, at);
      if (taken > 0) {
        at += taken;
        sent += taken;
        continue;
      }
      // Of a batch that breaks off, the error is told by the call that begins with its cause.
      const errno = -taken;
      if (isFull(errno) && waits++ < MOST_WAITS) await this.wait(errno, load.socket);
      else if (isLost(errno) || load.waitsForSpace && isFull(errno)) {
        await this.#outlast(errno, signal);
      } else if (errno !== EINTR) {
        countError(errors.send, errno);
        at++;
      }
    }
    return sent;
  }

  /** Waits until an interface may be up again, or has room; what was not sent is not lost. */
  async #outlast(errno: number, signal?: AbortSignal): Promise<void> {
    const { errors } = this.parts;
    const is = errno === ENETDOWN ? "is down" : isFull(errno) ? "takes nothing" : "is gone";
    const end = `the interface ${is} (${errorName(errno)})`;
    if (is === "is gone" || signal?.aborted) throw new Error(end);
    countError(errors.waits, errno);
    await this.#sleep(-1, 0, DOWN_MS);
  }

  /** Waits until there may be room to send: a socket tells when, a network card does not. */
  async wait(errno: number, socket: number): Promise<void> {
    countError(this.parts.errors.waits, errno);
    const wait = errno === EAGAIN
      ? this.#sleep(socket, POLLOUT, WAIT_MS)
      : this.#sleep(-1, 0, WAIT_MS);
    this.#busy++;
    await wait;
    this.#release();
  }

  #sleep(socket: number, events: number, ms: number): Promise<number> {
    const { libc, closing } = this.parts;
    return libc.call.poll(Int32Array.of(socket, events, closing, POLLIN), 2n, ms);
  }

  /** Sends no more, once what is being sent has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#busy > 0) await new Promise<void>((resolve) => this.#idle = resolve);
  }
}

/** Counts errors by name. */
export function countError(errors: Map<string, number>, errno: number, times = 1): void {
  const name = errorName(errno);
  errors.set(name, (errors.get(name) ?? 0) + times);
}
