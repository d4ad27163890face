/**
 * Time as an argument, so that tests can make their own.
 *
 * @module
 */
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
  /** Lets what has arrived be handled: quick, and nearly sure. A timer of 0 ms is slow, and sure. */
  turn(): Promise<void>;
}

/** What a timer of the runtime can wait, milliseconds: one of more fires at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(ms, callback) {
    let timer: ReturnType<typeof setTimeout>;
    const wait = (rest: number) => {
      const part = Math.min(rest, LONGEST_TIMER);
      timer = setTimeout(() => part < rest ? wait(rest - part) : callback(), part);
    };
    wait(Math.max(0, ms)); // of less than nothing the runtime warns on the terminal
    return () => clearTimeout(timer);
  },
  // While there is always something to do, the runtime looks at its sockets only now and then
  // (measured with setImmediate: every 12 ms, and full buffers), and a timer costs a millisecond.
  // A digest is made on another thread: waiting for it, the runtime mostly has nothing to do, and
  // looks.
  turn: async () => void await crypto.subtle.digest("SHA-1", NOTHING),
};

const NOTHING = new Uint8Array();

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
