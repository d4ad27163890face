/**
 * Options that several functions of the library take. They have the names of the command line's
 * options, and its defaults.
 *
 * @module
 */
import { systemNetwork } from "../app/system_network.ts";
import { InputError } from "../core/errors.ts";
import type { Network } from "../net/network.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { DEFAULTS } from "../app/settings/defaults.ts";

/** Options of every function. */
export interface CommonOptions {
  /**
   * Receives a line about what went wrong without ending the work: a record of a name that must not
   * be used, a lack of descriptors. Default: nothing is reported.
   */
  readonly onNote?: (line: string) => void;
  /** Ends the work early. */
  readonly signal?: AbortSignal;
  /** The network. Default: that of this machine. `blocksweep/testing` has a simulated one. */
  readonly network?: Network;
  /** Every protocol, in order of rank. Default: PROTOCOLS of `blocksweep/protocols`. */
  readonly allProtocols?: readonly Protocol[];
}

/** Options of functions that query servers. */
export interface InquiryOptions extends CommonOptions {
  /**
   * Names of the protocols to probe: `raknet`, `slp`, `query`, `sqp`.
   *
   * @default all but `sqp`, which is probed only when it is named
   */
  readonly protocol?: readonly string[];
  /**
   * Time limit of a reply, milliseconds, at least 1.
   *
   * @default 1500; connections over TCP take the time limits of real clients
   */
  readonly timeoutMs?: number;
  /** Whether a name that is not a local one may resolve to private addresses. Default: no. */
  readonly allowPrivate?: boolean;
}

/** The network of the options, or that of this machine. */
export function networkOf(
  { network, onNote, allProtocols }: CommonOptions,
  optOutFile?: string,
): Network {
  const note = noteOf({ onNote });
  return network ?? systemNetwork({ optOutFile, note, report: note, allProtocols });
}

/** Passes lines to `onNote`, without the program name at their start. */
export function noteOf({ onNote = () => {} }: CommonOptions): (line: string) => void {
  return (line) => onNote(line.replace(/^blocksweep: /, ""));
}

/** The signal of the options, or one that is never aborted. */
export function signalOf({ signal }: CommonOptions): AbortSignal {
  return signal ?? new AbortController().signal;
}

/** A number within bounds. */
interface Bounds {
  /** The least value that is allowed. */
  readonly least: number;
  /** The greatest value that is allowed. */
  readonly most: number;
  /** Whether fractions are allowed. Default: no. */
  readonly fractions?: boolean;
}

/**
 * Checks a number that the caller gave.
 *
 * @throws InputError that names the option.
 */
export function checked(
  name: string,
  value: number | undefined,
  bounds: Bounds,
): number | undefined {
  if (value === undefined) return undefined;
  const { least, most, fractions = false } = bounds;
  const fits = typeof value === "number" && value >= least && value <= most;
  if (fits && (fractions || Number.isInteger(value))) return value;
  const kind = fractions ? "a number" : "a whole number";
  throw new InputError(
    `Cannot use ${name} ${String(value)}: it must be ${kind} from ${least} to ${most}`,
  );
}

/** 30 days: the longest time that an option takes, milliseconds. */
const MOST_MS = 30 * 24 * 3_600_000;

/** A time of the options, milliseconds. */
export function checkedMs(name: string, value: number | undefined, least = 0): number | undefined {
  return checked(name, value, { least, most: MOST_MS, fractions: true });
}

/** The time limit of the options, if they have one. */
export function checkedTimeout({ timeoutMs }: InquiryOptions): number | undefined {
  return checkedMs("timeoutMs", timeoutMs, 1);
}

/** The repetitions of the options, or those of a command. */
export function checkedRetries(
  { retries }: { readonly retries?: number },
  command: "scan" | "query" | "watch",
): number {
  return checked("retries", retries, { least: 0, most: 3 }) ?? DEFAULTS[command].retries;
}
