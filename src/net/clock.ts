/**
 * The clock. It is passed as an argument, and tests replace it.
 *
 * @module
 */
/** Time, timers and the event loop, as the program uses them. */
export interface Clock {
  /** Monotonic time, milliseconds with fractions. */
  now(): number;
  /** Wall-clock time, milliseconds since 1970 UTC. */
  wall(): number;
  /**
   * Starts a timer that calls back once after `ms` milliseconds.
   *
   * @returns A function that cancels the timer.
   */
  after(ms: number, callback: () => void): () => void;
  /** Yields to pending socket events. It is quick, but may miss events on a busy machine. */
  yieldToEvents(): Promise<void>;
  /**
   * Yields until the runtime has certainly polled its sockets. It takes about ten times as long as
   * `yieldToEvents`.
   */
  pollSockets(): Promise<void>;
}

/** Longest timer of the runtime, milliseconds; a longer one fires at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * Iterations of the event loop after which the runtime has polled its sockets and delivered their
 * events. A busy runtime polls once in 61 iterations (tokio's event interval). On a busy machine
 * this may take a second. A timer of 0 ms takes two milliseconds, and does not guarantee a poll.
 */
const ITERATIONS_PER_POLL = 70;

/** Polls of the runtime's sockets, which all callers share. */
class SocketPolls {
  #current: Promise<void> | undefined;
  /** The promise of the poll after the current one. */
  #next: PromiseWithResolvers<void> | undefined;

  /** Resolves when the runtime has polled its sockets. */
  poll(): Promise<void> {
    if (this.#current === undefined) return this.#current = this.#runIterations();
    this.#next ??= Promise.withResolvers<void>();
    return this.#next.promise;
  }

  async #runIterations(): Promise<void> {
    for (let i = 0; i < ITERATIONS_PER_POLL; i++) {
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    const waiting = this.#next;
    this.#next = undefined;
    this.#current = waiting?.promise;
    if (waiting !== undefined) void this.#runIterations().then(waiting.resolve);
  }
}

const socketPolls = new SocketPolls();

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(ms, callback) {
    let timer: ReturnType<typeof setTimeout>;
    const wait = (rest: number) => {
      const delay = Math.min(rest, LONGEST_TIMER);
      timer = setTimeout(() => delay < rest ? wait(rest - delay) : callback(), delay);
    };
    wait(Math.max(0, ms)); // for a negative time, the runtime prints a warning
    return () => clearTimeout(timer);
  },
  // A digest runs on another thread. While it is pending, the runtime is usually idle and polls its
  // sockets. On a busy machine the digest may finish before the poll.
  yieldToEvents: async () => void await crypto.subtle.digest("SHA-1", NOTHING),
  pollSockets: () => socketPolls.poll(),
};

const NOTHING = new Uint8Array();

/** Waits for `ms` milliseconds, or until the signal aborts. */
export function sleep(
  clock: Pick<Clock, "after">,
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
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

/** Waits for work, at most `ms` milliseconds. */
export async function waitAtMost(
  clock: Pick<Clock, "after">,
  ms: number,
  work: Promise<unknown> | undefined,
): Promise<void> {
  const ended = new AbortController();
  try {
    await Promise.race([work, sleep(clock, ms, ended.signal)]);
  } finally {
    ended.abort();
  }
}

/**
 * Waits one after the other, which usually end early. They use the same timer, because to set one for
 * each takes longer.
 */
export class Waits implements Disposable {
  /** Ends the pending wait. */
  #end: (() => void) | undefined;
  /** When it ends, milliseconds of the clock. */
  #endsAt = 0;
  /** The timer, and when it fires. */
  #timer: { readonly at: number; readonly cancel: () => void } | undefined;

  /** Starts no timer yet. */
  constructor(private readonly clock: Pick<Clock, "now" | "after">) {}

  /** Waits for `ms` milliseconds, or until {@linkcode end}. No other wait may be pending. */
  for(ms: number): Promise<undefined> {
    return new Promise((resolve) => {
      this.#end = () => {
        this.#end = undefined;
        resolve(undefined);
      };
      this.#endsAt = this.clock.now() + ms;
      this.#setTimer();
    });
  }

  /** Ends the pending wait, if there is one. */
  end(): void {
    this.#end?.();
  }

  /** Ends the pending wait, and the timer. */
  [Symbol.dispose](): void {
    this.end();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Sets the timer for the pending wait, unless it fires earlier. */
  #setTimer(): void {
    const at = this.#endsAt;
    if (this.#timer !== undefined && this.#timer.at <= at) return;
    this.#timer?.cancel();
    const cancel = this.clock.after(at - this.clock.now(), () => {
      this.#timer = undefined;
      if (this.#end === undefined) return;
      if (at < this.#endsAt) this.#setTimer();
      else this.#end();
    });
    this.#timer = { at, cancel };
  }
}
