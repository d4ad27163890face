/**
 * Limits the wait for a server that has gone silent: packets that a network drops cause no error.
 *
 * @module
 */
import { type Clock, systemClock } from "../../net/clock.ts";

/** Limits of the waits for a server. */
export interface ServerWaits {
  /** Time without a byte from the server, during a statement, after which the server is checked, milliseconds. */
  readonly silenceMs: number;
  /** Timeout for a connection attempt, also that of the check, milliseconds. */
  readonly connectMs: number;
  readonly clock: Clock;
  /** Returns numbers from 0 to below 1, which spread the pauses of transactions that run again. */
  readonly random: () => number;
  /** Limits each statement to {@linkcode CANCELLED_MS} from then on. Default: none. */
  readonly cancelled?: AbortSignal;
}

/** Longest wait for a reply once the program is to end, milliseconds. */
export const CANCELLED_MS = 10_000;

/** The default limits: a statement fails 15 s after the last byte of a server that is gone. */
export const SERVER_WAITS: ServerWaits = {
  silenceMs: 5000,
  connectMs: 10_000,
  clock: systemClock,
  random: Math.random,
};

/** A connection on which a statement runs. */
export interface CheckedLink {
  /** Number of bytes received so far. */
  readonly received: () => number;
  /** Checks the server over a connection of its own, until the signal. */
  readonly isReachable: (signal: AbortSignal) => Promise<boolean>;
}

/**
 * Waits for the reply to a statement, however long the statement runs, while the server accepts
 * connections: PostgreSQL sends nothing during a long statement.
 *
 * @throws Error when the server sends nothing, and accepts no connection either; or when its reply is
 * late after `cancelled`: the connection may be dead, or a lock may be held for hours.
 */
export async function whileResponding<T>(
  reply: Promise<T>,
  link: CheckedLink,
  { silenceMs, clock, cancelled }: Omit<ServerWaits, "connectMs" | "random">,
): Promise<T> {
  const { promise: silent, reject } = Promise.withResolvers<never>();
  const ended = new AbortController();
  const { signal } = ended;
  let cancel = () => {};
  let cancelLimit = () => {};
  let checking = Promise.resolve();
  const check = async (before: number) => {
    const isAlive = () => signal.aborted || link.received() !== before;
    if (isAlive() || await link.isReachable(signal) || isAlive()) checkLater();
    else reject(new Error("the server does not respond"));
  };
  const checkLater = () => {
    const before = link.received();
    if (!signal.aborted) cancel = clock.after(silenceMs, () => void (checking = check(before)));
  };
  const limit = () => {
    const late = () => reject(new Error("no reply within 10 seconds of the interrupt"));
    cancelLimit = clock.after(CANCELLED_MS, late);
  };
  cancelled?.addEventListener("abort", limit, { once: true, signal });
  if (cancelled?.aborted) limit();
  checkLater();
  try {
    return await Promise.race([reply, silent]);
  } finally {
    ended.abort();
    cancel();
    cancelLimit();
    await checking; // its connection is closed
  }
}
