// The part of @std/cli that blocksweep uses, no wider than upstream's types.

/** The parsed arguments: positionals in `_`, flags by name. */
export interface Args {
  [name: string]: unknown;
  _: (string | number)[];
  "--"?: string[];
}

/** Options of {@linkcode parseArgs}. */
export interface ParseOptions {
  string?: readonly string[];
  boolean?: readonly string[];
  negatable?: readonly string[];
  collect?: readonly string[];
  alias?: Record<string, string | readonly string[]>;
  stopEarly?: boolean;
  "--"?: boolean;
  unknown?: (arg: string, key?: string, value?: unknown) => unknown;
}

/** Splits a command line into flags and positionals. */
export function parseArgs(args: string[], options?: ParseOptions): Args;
