/**
 * What a scan is doing: plain numbers that it counts up, and that anybody may read meanwhile.
 *
 * @module
 */
import { noReplies, type ReplyCounts } from "../sweep/receiver.ts";

/** Why a scan ended. */
export type EndReason = "done" | "interrupted" | "max-results" | "max-runtime" | "failed";

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
  /** Probes that left. */
  sent: number;
  /** Probes that the system refused to send. */
  refused: number;
  /** Datagrams that came back. */
  replies: ReplyCounts;
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
  /** Why it ended; `undefined` while it runs. */
  ended?: EndReason;
}

/** The state of a scan that has not begun. */
export function newState(scanId: string, startedAt: number): ScanState {
  return {
    scanId,
    startedAt,
    ...{ pass: 0, passes: 0, position: 0, size: 0, total: 0, visited: 0, sent: 0, refused: 0 },
    replies: noReplies(),
    ...{ inspecting: 0, written: 0, aliases: 0, lost: 0, fellSilent: 0, optedOut: 0 },
  };
}
