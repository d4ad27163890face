/**
 * Options of several functions of the library. They have the names and defaults of the options of
 * the command line.
 *
 * @module
 */
import type { CallContext } from "../app/network/call_context.ts";
import type { Command } from "../app/options/mod.ts";
import type { Network } from "../net/mod.ts";
import { PROTOCOLS } from "../protocols/list.ts";
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
}

/** Options of functions that query servers. */
export interface InquiryOptions extends CommonOptions {
  /**
   * Names of the protocols to use: `raknet`, `nethernet`, `slp`, `query`, `sqp`.
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

/** Options of functions that probe for long. */
export interface ScanOrWatchOptions extends InquiryOptions {
  /** Files with targets, one address or name per line (for a scan also ranges), or with rows. */
  readonly inputFile?: readonly string[];
  /** Whether targets with a name that cannot be found are refused. Default: such names are left out. */
  readonly strict?: boolean;
  /** The opt-out file. Default: `blocksweep/opt-out.txt` in the user's configuration folder. */
  readonly optOutFile?: string;
  /**
   * The e-mail address or web page of who answers complaints. Databases, checkpoints and metadata contain
   * it. A scan of public addresses needs it; no file keeps it. Default: none.
   */
  readonly contact?: string;
  /** Age up to which databases keep all observations, milliseconds. Default: for ever. */
  readonly keepMs?: number;
  /** Whether databases get the index for searches in texts. Default: no. */
  readonly textIndex?: boolean;
  /** Whether a new PostgreSQL database partitions observations by month. Default: no. */
  readonly partitionByMonth?: boolean;
  /** The port, or `ADDRESS:PORT`, on which metrics for Prometheus are served. Default: none. */
  readonly metrics?: string | number;
}

/** What a function uses besides the options of its command. */
export function callContext(command: Command, options: CommonOptions): CallContext {
  const note = noteOf(options);
  return {
    allProtocols: PROTOCOLS,
    network: options.network,
    warn: note,
    note,
    nameOf: programNameOf(command),
  };
}

/** Returns a function that passes lines to `onNote`, without the program name at their start. */
function noteOf({ onNote = () => {} }: CommonOptions): (line: string) => void {
  return (line) => onNote(line.replace(/^blocksweep: /, ""));
}

/** The signal in the options, or a signal that is never aborted. */
export function signalOf({ signal }: CommonOptions): AbortSignal {
  return signal ?? new AbortController().signal;
}
