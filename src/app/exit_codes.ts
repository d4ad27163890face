/**
 * The exit codes of all commands.
 *
 * @module
 */

export const EXIT = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const;

/** What each exit code means, for help and the reference. */
export const EXIT_CODES: readonly {
  readonly code: number;
  /** The meaning, in a few words. */
  readonly meaning: string;
  /** The commands and the cases with this exit code. */
  readonly cases: string;
}[] = [
  {
    code: EXIT.done,
    meaning: "done",
    cases: "the command did its work; a `scan` that `--max-results` or `--max-runtime` ended; a " +
      "`query` to which every host replied",
  },
  {
    code: EXIT.failed,
    meaning: "failed or incomplete",
    cases: "an error after the start; results that are incomplete, for example because file " +
      "descriptors ran out, a host flooded, the network failed, or the system refused every probe; a `query` to which a host did not " +
      "reply; a `demo` or `fleet --check` that finds a wrong row; a `diff` that finds differences",
  },
  {
    code: EXIT.usage,
    meaning: "wrong usage or input",
    cases: "any command; it has sent and written nothing",
  },
  {
    code: EXIT.interrupted,
    meaning: "ended by Ctrl-C or SIGTERM",
    cases: "any command, also `watch`, `fleet` and `lan` on a terminal, which run until Ctrl-C",
  },
];
