/**
 * The exit codes of all commands.
 *
 * @module
 */

/** The exit codes by name. */
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
    cases: "`scan` also after `--max-results` and `--max-runtime`; `query` when every host replied",
  },
  {
    code: EXIT.failed,
    meaning: "failed or incomplete",
    cases: "an error while running, or results that are incomplete, for example because file " +
      "descriptors ran out or the system refused every probe; `query` when a host did not " +
      "reply; `demo` and `fleet --check` when a row is wrong",
  },
  {
    code: EXIT.usage,
    meaning: "wrong usage or input",
    cases: "any command, before it sends or writes anything",
  },
  {
    code: EXIT.interrupted,
    meaning: "ended by Ctrl-C or SIGTERM",
    cases: "any command; also those that run until then: `watch`, `fleet`, `lan` on a terminal",
  },
];
