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
  /** Lets what has arrived be handled: quick, and nearly sure where the machine is not busy. */
  yieldToEvents(): Promise<void>;
  /** The same, for sure: takes as long as a dozen turns. */
  pollSockets(): Promise<void>;
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
  // A digest is made on another thread: waiting for it, the runtime mostly has nothing to do, and
  // looks at its sockets. Where others use the processor too, it is ready too soon.
  yieldToEvents: async () => void await crypto.subtle.digest("SHA-1", NOTHING),
  pollSockets,
};

const NOTHING = new Uint8Array();

/**
 * Turns of the event loop after which the runtime has looked at its sockets, and handed on what it saw
 * there. While there is always something to do, it looks once in 61 turns (tokio's event interval),
 * which may take a second where they are long and others use the processor too. A timer of 0 ms takes
 * two milliseconds, and is not sure either.
 */
const ITERATIONS_PER_POLL = 70;

/** The look that is under way, and who waits for the one that begins when it ends: all share them. */
let currentPoll: Promise<void> | undefined;
let nextPoll: PromiseWithResolvers<void> | undefined;

/** Looks at the sockets. */
function pollSockets(): Promise<void> {
  if (currentPoll === undefined) return currentPoll = runIterations();
  nextPoll ??= Promise.withResolvers<void>();
  return nextPoll.promise;
}

async function runIterations(): Promise<void> {
  for (let i = 0; i < ITERATIONS_PER_POLL; i++) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  const waiting = nextPoll;
  nextPoll = undefined;
  currentPoll = waiting?.promise;
  if (waiting !== undefined) void runIterations().then(waiting.resolve);
}

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
