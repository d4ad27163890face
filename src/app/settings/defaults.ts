/**
 * What commands, and the functions of the library, do where an option is not given: shown by help.
 * Defaults that nothing else reads stand in the table of options.
 *
 * @module
 */

/** The defaults that several modules read. */
export const DEFAULTS = {
  /** How long a reply is awaited, milliseconds; over TCP see {@linkcode STREAM_LIMITS}. */
  timeoutMs: 1500,
  scan: { retries: 1, concurrency: 256, downAfter: 3 },
  query: { retries: 1 },
  /** How long discovery takes where it does not go on until Ctrl-C, seconds. */
  lan: { once: 3 },
  /** `concurrency` and `rate` hold unless `--interval` needs more, or all targets are loopback. */
  watch: { retries: 2, concurrency: 256, rate: 1000, intervalMs: 60_000, downAfter: 3 },
} as const;
