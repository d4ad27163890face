/**
 * Receives what arrives at a descriptor of Linux: between batches that are sent, and in a loop that polls.
 *
 * @module
 */
import { ReceiveDrain } from "../receive_drain.ts";
import type { ReceiverCapacity } from "../socket.ts";
import { type Libc, POLLERR, POLLIN } from "./ffi/libc.ts";

/** Maximum numbers of successive deliveries: between two batches, and after a poll. */
const BETWEEN_BATCHES = 4;
const PER_POLL = 16;
/**
 * If at least this number of packets is sent between two polls, the receiver pauses instead of
 * polling. What has arrived is then received between batches. A pending poll makes each send on the
 * socket more expensive (measured: 3 %).
 */
const BUSY_SENDS = 32;
/** Longest pause of the receiver while nothing arrives, milliseconds. */
const MAX_PAUSE_MS = 16;
/** Longest poll, and the first pause, milliseconds. */
const POLL_MS = 50;
const MIN_PAUSE_MS = 1;

/** What has arrived at a descriptor. */
export interface Arrivals {
  /** Whether nothing was left after the last delivery. */
  readonly isEmpty: boolean;
  /**
   * Delivers some of it.
   *
   * @returns The number of deliveries; 0: nothing can be delivered now.
   * @throws The error of the receiver.
   */
  deliver(): number;
  /** Removes an error of the descriptor, which a poll has reported. Default: `deliver` removes it. */
  clearError?(): void;
}

/** The parts of a {@linkcode ReceiveLoop}, which their owner closes after it. */
export interface ReceiveLoopDependencies {
  readonly libc: Libc;
  /** The descriptor to poll. */
  readonly socket: number;
  /** An eventfd that ends all waits when the socket is being closed. */
  readonly closing: number;
  readonly arrivals: Arrivals;
  /** Maximum number of packets in the receive buffer. */
  readonly most: number;
}

/** Receives until it is closed. */
export class ReceiveLoop {
  #capacity: ReceiverCapacity | undefined;
  #isListening = false;
  #isClosed = false;
  /** The error that ended receiving; `undefined`: none. */
  #failure: Error | undefined;
  #receiving: Promise<void> = Promise.resolve();
  #endPause = () => {};
  /** Packets that were sent since the last poll. */
  #sends = 0;
  /** Packets that arrived since the last poll. */
  #arrived = 0;
  readonly #drain: ReceiveDrain;

  /** Creates a loop from its parts. Nothing is received before {@linkcode listen}. */
  constructor(private readonly dependencies: ReceiveLoopDependencies) {
    this.#drain = new ReceiveDrain(dependencies.most);
  }

  /**
   * Delivers everything that arrives.
   *
   * @param capacity While it returns a promise, nothing is delivered. Default: no limit.
   * @returns Resolves when the loop is closed; rejects when receiving has failed.
   */
  listen(capacity?: ReceiverCapacity): Promise<void> {
    this.#capacity = capacity;
    this.#isListening = true;
    return this.#receiving = this.#receive();
  }

  async #receive(): Promise<void> {
    let pause = MIN_PAUSE_MS;
    while (!this.#isClosed && this.#failure === undefined) {
      this.#deliver(PER_POLL);
      const full = this.#capacity?.();
      if (full !== undefined) {
        await full;
        continue;
      }
      const busy = this.#sends >= BUSY_SENDS;
      if (this.#arrived > 0) pause = MIN_PAUSE_MS;
      else pause = Math.min(MAX_PAUSE_MS, 2 * pause);
      this.#sends = this.#arrived = 0;
      await (busy ? this.#pause(pause) : this.#poll());
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Polls until something arrives, the socket is being closed, or receiving has failed. */
  async #poll(): Promise<void> {
    const { libc, socket, closing, arrivals } = this.dependencies;
    const wanted = new Int32Array(4);
    wanted[0] = socket;
    wanted[1] = POLLIN; // `events` is in the low half of the word, `revents` in the high half
    wanted[2] = closing;
    wanted[3] = POLLIN;
    await libc.call.poll(wanted, 2n, POLL_MS);
    if ((wanted[1] >>> 16 & POLLERR) !== 0) arrivals.clearError?.();
  }

  /** Pauses for `ms` milliseconds, or until the socket is being closed or receiving has failed. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #wake(): void {
    this.dependencies.libc.call.eventfd_write(this.dependencies.closing, 1n);
    this.#endPause();
  }

  /** Delivers what has arrived, at most `times` times. */
  #deliver(times: number): void {
    if (!this.#isListening || this.#failure !== undefined) return;
    const { arrivals } = this.dependencies;
    try {
      for (let left = times; left > 0 && !this.#isClosed; left--) {
        if (this.#capacity?.() !== undefined) return;
        const count = arrivals.deliver();
        this.#arrived += count;
        this.#drain.delivered(count, arrivals.isEmpty);
        if (count === 0 || arrivals.isEmpty) return;
      }
    } catch (error) {
      this.fail(error as Error);
    }
  }

  /** Ends receiving with an error. */
  fail(error: Error): void {
    this.#failure ??= error;
    this.#drain.delivered(0, true);
    this.#wake();
  }

  /** Counts packets that any sender sent for the socket, and delivers what has arrived. */
  receiveBetweenBatches(sent: number): void {
    this.#sends += sent;
    this.#deliver(BETWEEN_BATCHES);
  }

  /** Resolves when everything that has arrived so far was delivered, or the loop has ended. */
  drained(): Promise<void> {
    const ended = this.#isClosed || this.#failure !== undefined;
    return ended || !this.#isListening ? Promise.resolve() : this.#drain.wait();
  }

  /**
   * Ends receiving.
   *
   * @returns Resolves when no call to the system is pending. The caller of {@linkcode listen} gets the
   * error.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#wake();
    await Promise.allSettled([this.#receiving]);
    this.#drain.delivered(0, true);
  }
}
