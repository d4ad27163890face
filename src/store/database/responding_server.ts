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
}

/** The default limits: a statement fails 15 s after the last byte of a server that is gone. */
export const SERVER_WAITS: ServerWaits = {
  silenceMs: 5000,
  connectMs: 10_000,
  clock: systemClock,
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
 * @throws Error when the server sends nothing, and accepts no connection either.
 */
export async function whileResponding<T>(
  reply: Promise<T>,
  link: CheckedLink,
  { silenceMs, clock }: Pick<ServerWaits, "silenceMs" | "clock">,
): Promise<T> {
  const { promise: silent, reject } = Promise.withResolvers<never>();
  const ended = new AbortController();
  const { signal } = ended;
  let cancel = () => {};
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
  checkLater();
  try {
    return await Promise.race([reply, silent]);
  } finally {
    ended.abort();
    cancel();
    await checking; // its connection is closed
  }
}
