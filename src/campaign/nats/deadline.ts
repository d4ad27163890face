/**
 * A deadline for requests to NATS.
 *
 * @module
 */

import { type Clock, systemClock } from "../../net/clock.ts";

/** Maximum time for several replies of NATS, milliseconds. */
const DEADLINE_MS = 30_000;

/**
 * Waits for work with NATS. The client would wait for ever for replies of a server that was killed.
 *
 * @throws Error after `deadlineMs`. Default: 30 s.
 */
export async function withDeadline<T>(
  work: Promise<T>,
  deadlineMs = DEADLINE_MS,
  clock: Pick<Clock, "after"> = systemClock,
): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const cancel = clock.after(deadlineMs, () => reject(new Error("timeout: NATS does not reply")));
  try {
    return await Promise.race([work, promise]);
  } finally {
    cancel();
  }
}
