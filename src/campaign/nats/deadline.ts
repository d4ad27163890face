/**
 * A deadline for requests to NATS.
 *
 * @module
 */

/** Maximum time for several replies of NATS, milliseconds. */
const DEADLINE_MS = 30_000;

/**
 * Waits for work with NATS. The client would wait for ever for replies of a server that was killed.
 *
 * @throws Error after 30 s.
 */
export async function withDeadline<T>(work: Promise<T>, deadlineMs = DEADLINE_MS): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("timeout: NATS does not reply")), deadlineMs);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
