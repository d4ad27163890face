/**
 * What commands do where an option is not given: read by the commands, and shown by their help.
 *
 * @module
 */

/** The defaults that differ between commands, or that several modules read. */
export const DEFAULTS = {
  /** How long a reply is awaited, milliseconds. */
  timeoutMs: 1500,
  scan: { retries: 1, concurrency: 256 },
  query: { retries: 1 },
  /** How long discovery takes where it does not go on until Ctrl-C, seconds. */
  lan: { once: 3 },
  watch: { retries: 2, concurrency: 256, rate: 1000, intervalMs: 60_000, downAfter: 3 },
  servers: { limit: 100, sort: "players" },
  history: { limit: 50 },
  fleet: { servers: 100 },
  demo: { servers: 500 },
} as const;
