/**
 * Sends batches, by system calls of this thread or through a sender thread.
 *
 * @module
 */
import {
  countError,
  EAGAIN,
  EINTR,
  ENETDOWN,
  interfaceError,
  isFull,
  isLost,
  type Libc,
  POLLIN,
  POLLOUT,
} from "./ffi/libc.ts";
import type { SendJob } from "./thread/job_memory.ts";
import type { PreparedBatch, Transmit } from "./batch/transmit.ts";
import type { SendThread } from "./thread/send_thread.ts";
import { type SendGate, untilOpen } from "../send_gate.ts";
import type { SocketErrors } from "../socket.ts";

/**
 * Maximum number of waits for send buffer space in one batch, and the length of each. Later
 * datagrams are refused.
 */
const MAX_WAITS = 1000;
const WAIT_MS = 1;
/** Pause between attempts to send on an interface that is down, milliseconds. */
const DOWN_MS = 100;

/** The parts of a {@linkcode BatchSender}, which their owner closes after it. */
export interface BatchSenderDependencies {
  readonly libc: Libc;
  /** An eventfd that ends all waits when the socket is being closed. */
  readonly closing: number;
  /** The sender thread that writes and sends batches. Default: this thread. */
  readonly thread?: SendThread;
  /** Passes prepared batches to the system on this thread. */
  readonly transmit: Transmit;
  /** The error counts to add to. */
  readonly errors: SocketErrors;
  /** The gate of what this thread sends. Default: none. */
  readonly gate?: SendGate;
}

/** Sends batches, and waits if the system accepts none. It does not own its parts. */
export class BatchSender {
  /** Number of pending sends; the socket may be closed when there are none. */
  #busy = 0;
  #idle: (() => void) | undefined;
  #closed = false;
  /** The last batch that the system did not accept at once, while it is being sent. */
  #last: Promise<number> | undefined;

  constructor(private readonly dependencies: BatchSenderDependencies) {}

  /**
   * Sends a whole batch on this thread, after all earlier ones: sockets may share a ring, which contains
   * frames of one batch until all are sent.
   *
   * @param signal Cancels waiting for an interface that is down.
   * @returns Number of datagrams that the system accepted; a promise if it did not accept all at
   * once. The promise rejects when the interface is gone, or is down after the signal has aborted.
   */
  flush(batch: PreparedBatch, signal?: AbortSignal): number | Promise<number> {
    const sent = this.#last === undefined
      ? this.#flush(batch, signal)
      : this.#flushAfter(this.#last, batch, signal);
    if (typeof sent === "number") return sent;
    this.#last = sent;
    const forget = () => {
      if (this.#last === sent) this.#last = undefined;
    };
    sent.then(forget, forget); // the caller gets the error
    return sent;
  }

  /** Sends a batch after another one. */
  async #flushAfter(
    before: Promise<number>,
    batch: PreparedBatch,
    signal?: AbortSignal,
  ): Promise<number> {
    this.#busy++;
    try {
      await Promise.allSettled([before]);
      return await this.#flush(batch, signal);
    } finally {
      this.#release();
    }
  }

  #flush(batch: PreparedBatch, signal?: AbortSignal): number | Promise<number> {
    const { gate } = this.dependencies;
    if (this.#closed) return 0;
    if (gate?.isOpen() === false) {
      gate.keptBack += batch.count;
      return 0;
    }
    const accepted = this.#transmit(batch, 0);
    if (accepted === batch.count) return accepted;
    return this.#sendRest(batch, Math.max(0, accepted), signal);
  }

  /**
   * Passes datagrams to the system, from an index on. Those that a gate may keep back are passed one by
   * one, because the process may be stopped between a check and the call.
   *
   * @returns Number of datagrams that the system accepted; the negative error number if none.
   */
  #transmit(batch: PreparedBatch, from: number): number {
    const { transmit, gate } = this.dependencies;
    if (gate === undefined) return transmit(batch, from);
    for (let at = from; at < batch.count; at++) {
      if (at > from && !gate.isOpen()) return at - from;
      const accepted = transmit({ ...batch, count: at + 1 }, at);
      if (accepted <= 0) return at > from ? at - from : accepted;
    }
    return batch.count - from;
  }

  /**
   * Sends a whole batch of targets through the sender thread. The result and the errors are those
   * of {@linkcode flush}.
   */
  async send(job: SendJob, signal?: AbortSignal): Promise<number> {
    if (this.#closed) return 0;
    this.#busy++;
    try {
      return await this.dependencies.thread!.send(job, this.dependencies.errors, signal);
    } finally {
      this.#release();
    }
  }

  #release(): void {
    if (--this.#busy === 0) this.#idle?.();
  }

  /** Sends the rest of a batch after the system accepted its first datagrams. */
  async #sendRest(batch: PreparedBatch, accepted: number, signal?: AbortSignal): Promise<number> {
    this.#busy++;
    try {
      return await this.#sendFrom(batch, accepted, signal);
    } finally {
      this.#release();
    }
  }

  async #sendFrom(batch: PreparedBatch, from: number, signal?: AbortSignal): Promise<number> {
    const { errors, gate } = this.dependencies;
    let sent = from;
    let waits = 0;
    for (let at = from; at < batch.count && !this.#closed;) {
      if (gate?.isOpen() === false) {
        gate.keptBack += batch.count - at;
        // A frame in the ring of an XDP socket cannot be removed: its batch continues.
        if (batch.length === 0 || !await untilOpen(gate, signal)) break;
        continue;
      }
      const accepted = this.#transmit(batch, at);
      if (accepted > 0) {
        at += accepted;
        sent += accepted;
        continue;
      }
      // A call that sends a part of a batch returns no error; the next call returns it.
      const errno = -accepted;
      if (isFull(errno) && waits++ < MAX_WAITS) await this.wait(errno, batch.socket);
      else if (isLost(errno) || batch.waitsForSpace && isFull(errno)) {
        await this.#waitForInterface(errno, signal);
      } else if (errno !== EINTR) {
        countError(errors.send, errno);
        at++;
      }
    }
    return sent;
  }

  /**
   * Waits for an interface that is down or full; rejects when it is gone. No datagram is dropped.
   */
  async #waitForInterface(errno: number, signal?: AbortSignal): Promise<void> {
    const { errors } = this.dependencies;
    const canReturn = errno === ENETDOWN || isFull(errno);
    if (!canReturn || signal?.aborted) throw interfaceError(errno);
    countError(errors.waits, errno);
    await this.#sleep(-1, 0, DOWN_MS);
  }

  /**
   * Waits for send buffer space, at most 1 ms. After EAGAIN, the socket reports when it has space.
   * The queue of a network card does not report it, so other errors wait the full time.
   */
  async wait(errno: number, socket: number): Promise<void> {
    countError(this.dependencies.errors.waits, errno);
    const wait = errno === EAGAIN
      ? this.#sleep(socket, POLLOUT, WAIT_MS)
      : this.#sleep(-1, 0, WAIT_MS);
    this.#busy++;
    await wait;
    this.#release();
  }

  #sleep(socket: number, events: number, ms: number): Promise<number> {
    const { libc, closing } = this.dependencies;
    return libc.call.poll(Int32Array.of(socket, events, closing, POLLIN), 2n, ms);
  }

  /** Stops sending, and resolves when no send is pending. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#busy > 0) this.dependencies.thread?.cancelWaits();
    if (this.#busy > 0) await new Promise<void>((resolve) => this.#idle = resolve);
  }
}
