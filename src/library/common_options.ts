/**
 * Options of several functions of the library. They have the names and defaults of the options of
 * the command line.
 *
 * @module
 */
import type { CallContext } from "../app/call_context.ts";
import type { Command } from "../app/options/commands.ts";
import { systemNetwork } from "../app/system_network.ts";
import { InputError } from "../core/errors.ts";
import type { Network } from "../net/network.ts";
import { PROTOCOLS } from "../protocols/list.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { chosenProtocols, type ProtocolChoice } from "../app/settings/chosen_protocols.ts";
import { DEFAULTS } from "../app/settings/defaults.ts";
import { programNameOf } from "./given_options.ts";

/** Options of every function. */
export interface CommonOptions {
  /**
   * Called with a line about each problem that does not end the work, for example an address of a
   * name that must not be probed, or a lack of descriptors. Default: nothing is reported.
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
   * Names of the protocols to use: `raknet`, `slp`, `query`, `sqp`.
   *
   * @default all except `sqp`, which is used only if it is named
   */
  readonly protocol?: readonly string[];
  /**
   * Timeout for a reply, milliseconds, at least 1.
   *
   * @default 1500; TCP connections have the timeouts of real clients
   */
  readonly timeoutMs?: number;
  /** Whether names that are not local may resolve to private addresses. Default: no. */
  readonly allowPrivate?: boolean;
}

/** Every protocol of the program, and the protocols that the options name. */
export function protocolChoice(
  { allProtocols = PROTOCOLS, protocol }: InquiryOptions,
): ProtocolChoice {
  return { allProtocols, protocol: protocol && chosenProtocols(protocol, allProtocols) };
}

/** The network in the options, or that of this machine. */
export function networkOf(
  { network, onNote, allProtocols = PROTOCOLS }: CommonOptions,
  optOutFile?: string,
): Network {
  const note = noteOf({ onNote });
  return network ?? systemNetwork({ optOutFile, note, report: note, allProtocols });
}

/** What a function uses besides the options of its command. */
export function contextOf(command: Command, options: CommonOptions): CallContext {
  const { network, allProtocols = PROTOCOLS } = options;
  const note = noteOf(options);
  return { allProtocols, network, warn: note, note, nameOf: programNameOf(command) };
}

/** Returns a function that passes lines to `onNote`, without the program name at their start. */
export function noteOf({ onNote = () => {} }: CommonOptions): (line: string) => void {
  return (line) => onNote(line.replace(/^blocksweep: /, ""));
}

/** The signal in the options, or a signal that is never aborted. */
export function signalOf({ signal }: CommonOptions): AbortSignal {
  return signal ?? new AbortController().signal;
}

/** A number within bounds. */
interface Bounds {
  /** The minimum value. */
  readonly least: number;
  /** The maximum value. */
  readonly most: number;
  /** Whether fractions are allowed. Default: no. */
  readonly fractions?: boolean;
}

/**
 * Checks a number in the options.
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

/** Maximum time in an option, milliseconds: 30 days. */
const MOST_MS = 30 * 24 * 3_600_000;

/** Checks a time in the options, milliseconds. */
export function checkedMs(name: string, value: number | undefined, least = 0): number | undefined {
  return checked(name, value, { least, most: MOST_MS, fractions: true });
}

/** Checks the timeout in the options. */
export function checkedTimeout({ timeoutMs }: InquiryOptions): number | undefined {
  return checkedMs("timeoutMs", timeoutMs, 1);
}

/** The number of repetitions in the options, or the default of a command. */
export function checkedRetries(
  { retries }: { readonly retries?: number },
  command: "scan" | "query" | "watch",
): number {
  return checked("retries", retries, { least: 0, most: 3 }) ?? DEFAULTS[command].retries;
}
