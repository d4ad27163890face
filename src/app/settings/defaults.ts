/**
 * Default values of options, for commands, help and the library. Defaults that only the command line
 * reads are in the table of options.
 *
 * @module
 */

/** The defaults that several modules read. */
export const DEFAULTS = {
  /** Timeout for a reply over UDP, milliseconds; for TCP see {@linkcode STREAM_LIMITS}. */
  timeoutMs: 1500,
  scan: { retries: 1, concurrency: 256, downAfter: 3 },
  query: { retries: 1 },
  /** Duration of a discovery that does not continue until Ctrl-C, seconds. */
  lan: { once: 3 },
  /** `concurrency` and `rate` apply unless `--interval` needs more, or all targets are loopback. */
  watch: { retries: 2, concurrency: 256, rate: 1000, intervalMs: 60_000, downAfter: 3 },
} as const;
