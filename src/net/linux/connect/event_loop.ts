/**
 * Waits for the events of connections and streams, without blocking the event loop of the runtime.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { Epoll } from "./epoll.ts";
import { EFD_CLOEXEC, EFD_NONBLOCK, failure, Libc, POLLIN } from "../ffi/libc.ts";

/** Maximum number of system calls for events in one iteration: each gets up to 512 events. */
const CALLS_PER_POLL = 16;
/**
 * Longest wait while only streams wait, milliseconds. A connection that begins meanwhile can expire
 * only later than this.
 */
const STREAMS_MS = 100;

export interface EventWait {
  /** Maximum time, milliseconds. */
  readonly ms: number;
  /** Whether events that occur meanwhile end the wait. If not, waiting is cheaper. */
  readonly endsEarly: boolean;
}

/** What a ring of connections does in each iteration. */
export interface EventHandler {
  /** Something happened to the connection in a slot. */
  connection(slot: number, descriptor: number, events: number): void;
  /**
   * Called after a poll.
   *
   * @param at The time before which all events were delivered; `undefined`: there are more.
   * @returns How long to wait for events; `undefined`: it waits for none.
   */
  polled(at: number | undefined): EventWait | undefined;
  /** Called when no more events can be received. */
  failed(error: Error): void;
}

/** Polls for events while anything waits for them. It closes with its last user. */
export class EventLoop {
  readonly libc = new Libc();
  readonly epoll: Epoll;
  /** An eventfd that ends a wait. */
  readonly #waking: number;
  /** The waits of streams, by descriptor. */
  readonly #streams = new Map<number, () => void>();
  #users = 1;
  #handler: EventHandler | undefined;
  #running: Promise<void> | undefined;
  #endPause: (() => void) | undefined;

  /** Opens it with one user, the handler; throws Error with the call that failed. */
  constructor(handler: EventHandler, private readonly clock: Pick<Clock, "now">) {
    this.#handler = handler;
    try {
      this.epoll = new Epoll(this.libc);
    } catch (error) {
      this.libc[Symbol.dispose]();
      throw error;
    }
    this.#waking = this.libc.call.eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (this.#waking >= 0) return;
    const error = failure(this.libc, "open an event");
    this.libc.call.close(this.epoll.descriptor);
    this.libc[Symbol.dispose]();
    throw error;
  }

  connection(slot: number, descriptor: number, events: number): void {
    this.#handler?.connection(slot, descriptor, events);
  }

  stream(descriptor: number): void {
    this.#streams.get(descriptor)?.();
  }

  /**
   * Delivers pending events now.
   *
   * @param calls Maximum number of system calls.
   * @returns The time before which all events were delivered; `undefined`: there are more.
   */
  poll(calls: number): number | undefined {
    const now = this.clock.now();
    return this.epoll.poll(calls, this) ? now : undefined;
  }

  /** Runs iterations until nothing waits for events. */
  start(): void {
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    try {
      await Promise.resolve(); // start() has to store the promise of this call
      for (let wait = this.#iterate(); wait !== undefined; wait = this.#iterate()) {
        await (wait.endsEarly ? this.#sleep(Math.ceil(wait.ms)) : this.#pause(wait.ms));
      }
    } catch (error) {
      if (this.#handler === undefined) throw error;
      this.#handler.failed(error as Error);
    } finally {
      // No call of start() comes between the last iteration and this line.
      this.#running = undefined;
      this.#closeIfUnused();
    }
  }

  #iterate(): EventWait | undefined {
    const at = this.poll(CALLS_PER_POLL);
    const wait = this.#handler?.polled(at);
    if (this.#streams.size === 0 || wait !== undefined && wait.ms <= STREAMS_MS) return wait;
    return { ms: STREAMS_MS, endsEarly: true };
  }

  /** Waits for events, for `ms` milliseconds at most. */
  async #sleep(ms: number): Promise<void> {
    const wanted = Int32Array.of(this.epoll.descriptor, POLLIN, this.#waking, POLLIN);
    await this.libc.call.poll(wanted, 2n, ms);
    this.libc.call.read(this.#waking, new Uint8Array(8), 8n);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /**
   * Calls back for each event of a stream from now on, also for present ones.
   *
   * @param descriptor The descriptor of a former connection.
   */
  watch(descriptor: number, callback: () => void): void {
    this.#streams.set(descriptor, callback);
    this.epoll.changeToStream(descriptor);
    this.start();
  }

  /** Ends the calls of {@linkcode watch}. */
  unwatch(descriptor: number): void {
    this.#streams.delete(descriptor);
  }

  /** Registers a stream. */
  hold(): void {
    this.#users++;
  }

  /** Unregisters a stream. */
  release(): void {
    this.#users--;
    this.#closeIfUnused();
  }

  /** Unregisters the handler, which gets no more events. Resolves when no call of it is running. */
  async detach(): Promise<void> {
    this.#handler = undefined;
    this.#wake();
    this.release();
    if (this.#users === 0) await this.#running;
  }

  #wake(): void {
    if (this.#running === undefined) return;
    this.libc.call.eventfd_write(this.#waking, 1n);
    this.#endPause?.();
  }

  #closeIfUnused(): void {
    if (this.#users > 0) return;
    if (this.#running !== undefined) return this.#wake();
    this.#users = Infinity; // it closes once
    this.libc.call.close(this.epoll.descriptor);
    this.libc.call.close(this.#waking);
    this.libc[Symbol.dispose]();
  }
}
