/**
 * What a scan is doing: plain numbers that it counts up, and that anybody may read meanwhile.
 *
 * @module
 */
import { type FloodReport, noFloods } from "../sweep/flooding_hosts.ts";
import { type CanaryCounts, noCanaries } from "../sweep/canaries/loss_estimate.ts";
import type { RateReport } from "../sweep/rate/rate_search.ts";
import { noReplies, type ReplyCounts } from "../sweep/receiver.ts";

/** Hosts of one kind that are named, at the most. */
export const MOST_NAMED = 16;

/**
 * Why a scan ended. `"incomplete"`: all passes ran, but targets were not probed, or servers not
 * inspected, for lack of descriptors.
 */
export type EndReason =
  | "done"
  | "incomplete"
  | "interrupted"
  | "max-results"
  | "max-runtime"
  | "failed";

/** What came of connecting. */
export interface StreamCounts {
  /** Connections that opened. */
  open: number;
  /** Those that the peer refused. */
  refused: number;
  /** Those to which a router, or our own system, said no. */
  unreachable: number;
  /** Those to which nobody said anything. */
  silent: number;
  /** Those for which our system had no descriptor or port left. */
  failed: number;
  /** Open ones that answered in a protocol that was asked for. */
  answered: number;
  /** Open ones that answered something else. */
  other: number;
  /** Open ones that said nothing, or closed. */
  mute: number;
}

/** The half of a scan that goes over TCP. */
export interface StreamState {
  /** The pass that runs, from 1. */
  pass: number;
  /** How many passes there are. */
  passes: number;
  /** Targets that the pass has left behind. */
  position: number;
  /** Targets of the pass. */
  size: number;
  /** Connections that were begun. */
  sent: number;
  /** Targets for which no descriptor could be had in any pass so far. */
  unprobed: number;
  /** What came of them. */
  readonly counts: StreamCounts;
}

/** The numbers of a scan. */
export interface ScanState {
  /** The scan, UUIDv7. */
  scanId: string;
  /** When it started, milliseconds of its clock. */
  startedAt: number;
  /** When the first probe left, Unix milliseconds. */
  firstProbeAt?: number;
  /** When every output had accepted the last row, Unix milliseconds. */
  lastRowAt?: number;
  /** The pass that runs, from 1. */
  pass: number;
  /** How many passes there are. */
  passes: number;
  /** Targets that the pass has left behind. */
  position: number;
  /** Targets of the pass. */
  size: number;
  /** Positions of all passes, as far as they are known. */
  total: number;
  /** Positions left behind in all passes. */
  visited: number;
  /** The half over TCP. */
  readonly tcp: StreamState;
  /** Which engine sends and receives datagrams. */
  engine: string;
  /** Threads that only send; 0: the program's own does. */
  threads: number;
  /** What its sockets hold that has arrived and not been read, bytes, all together. */
  receiveBuffer: number;
  /** Probes that left. */
  sent: number;
  /** Probes that the system refused to send. */
  refused: number;
  /** Datagrams that the system refused to send, by error code; those of conversations too. */
  errors: Readonly<Record<string, number>>;
  /** Times that sending had to wait, by error code. */
  waits: Readonly<Record<string, number>>;
  /** Datagrams that came back and found no room, as far as the system tells. */
  dropped: number;
  /** Datagrams that came back. */
  replies: ReplyCounts;
  /** Addresses of hosts with omitted replies, the first 16. */
  readonly omittedAt: string[];
  /** What came of asking servers again, to measure what is lost on the way. */
  canaries: CanaryCounts;
  /** Hosts that sent far more datagrams than they were sent probes. */
  readonly floods: FloodReport;
  /** What the search for the highest rate has come to, where there is one. */
  rate?: RateReport;
  /** Inspections that have not ended. */
  inspecting: number;
  /** Rows that every output has accepted. */
  written: number;
  /** Rows that describe a server which another row has described. */
  aliases: number;
  /** Rows that could not be written. */
  lost: number;
  /** Servers that answered a probe, and then no question. */
  fellSilent: number;
  /** Servers that asked to be left alone. */
  optedOut: number;
  /** Servers of which there is no row, for no descriptor could be had to inspect them. */
  uninspected: number;
  /** Servers whose row lacks what no descriptor could be had for. */
  inspectedInPart: number;
  /** Why it ended; `undefined` while it runs. */
  ended?: EndReason;
}

/** Nothing was connected yet. */
export function noStreams(): StreamCounts {
  return {
    ...{ open: 0, refused: 0, unreachable: 0, silent: 0, failed: 0 },
    ...{ answered: 0, other: 0, mute: 0 },
  };
}

/** The state of a scan that has not begun. */
export function newState(scanId: string, startedAt: number): ScanState {
  return {
    scanId,
    startedAt,
    ...{ pass: 0, passes: 0, position: 0, size: 0, total: 0, visited: 0, sent: 0 },
    ...{ engine: "portable", threads: 0, receiveBuffer: 0, refused: 0, dropped: 0 },
    ...{ errors: {}, waits: {} },
    tcp: { pass: 0, passes: 0, position: 0, size: 0, sent: 0, unprobed: 0, counts: noStreams() },
    replies: noReplies(),
    omittedAt: [],
    canaries: noCanaries(),
    floods: noFloods(),
    ...{ inspecting: 0, written: 0, aliases: 0, lost: 0, fellSilent: 0, optedOut: 0 },
    ...{ uninspected: 0, inspectedInPart: 0 },
  };
}
