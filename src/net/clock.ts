/**
 * Time as an argument, so that tests can make their own.
 *
 * @module
 */
import { setImmediate } from "node:timers";

/** A clock. */
export interface Clock {
  /** Milliseconds, with fractions, that never step back. */
  now(): number;
  /** Milliseconds since 1970. */
  wall(): number;
  /**
   * Calls back once, after so many milliseconds.
   *
   * @returns Cancels the call.
   */
  after(ms: number, callback: () => void): () => void;
  /** Lets everything that has already arrived be handled: one turn of the event loop. */
  turn(): Promise<void>;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
  turn: () => new Promise((resolve) => setImmediate(resolve)),
};

/** Waits so many milliseconds, or until the signal says that nobody waits any longer. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    signal?.addEventListener("abort", done);
  });
}
