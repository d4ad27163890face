/**
 * The numbers and the end of a scan, as its databases record them.
 *
 * @module
 */
import {
  coverageOf,
  type CoverageOptions,
  type ScanCoverage,
  type ScanEnd,
  type ScanSelection,
  type ScanState,
} from "../../scan/mod.ts";
import type { ScanEndRow, ScanNumbers } from "../../store/mod.ts";
import { estimateLoss } from "../../sweep/mod.ts";
import { lossCounters } from "./scan_status.ts";

/** What a scan, or its last run, has probed. */
export interface ScanPart {
  /** When the scan began, Unix milliseconds. For a resumed scan: when its first run began. */
  readonly since: number;
  /** The targets and the order of the scan. */
  readonly selection: ScanSelection & Pick<CoverageOptions, "adaptive">;
  /** Whether the scan was resumed from a checkpoint. */
  readonly resumed: boolean;
  /** Whether known servers that do not reply are counted. Default: they are, if the scan is complete. */
  readonly countsMissing?: boolean;
}

/** The values that all databases record at the end of a scan. */
export function endRow(
  state: ScanState,
  end: ScanEnd,
  part: ScanPart,
): Omit<ScanEndRow, "at" | "downAfter" | "optOuts"> {
  const isWhole = end.reason === "done";
  return {
    id: state.scanId,
    since: part.since,
    state: stateOf(end),
    isComplete: isWhole,
    ...progressNumbers(state),
    coverage: isWhole && part.countsMissing !== false ? wholeCoverage(state, part) : undefined,
  };
}

/** The numbers of a scan, as databases record them. */
export function progressNumbers(state: ScanState): ScanNumbers {
  const { sent, tcp, replies, written, visited, total, lost, canaries, rate } = state;
  return {
    probesSent: sent + tcp.sent,
    replies: Object.values(replies).reduce((sum, one) => sum + one, 0) + tcp.counts.valid,
    found: written,
    position: visited,
    total,
    packetLoss: estimateLoss(canaries)?.share,
    rowsLost: lost,
    rate,
    counters: lossCounters(state),
  };
}

/** The coverage of a complete scan. With `--from`, the start of its earlier run is unknown. */
function wholeCoverage(
  { replies, floods }: ScanState,
  { selection, resumed }: ScanPart,
): ScanCoverage | undefined {
  const { targets, order } = selection;
  if (!resumed && ([...targets.responders].length > 0 || !isFirst(order))) return undefined;
  return coverageOf({
    ...selection,
    flooding: floods.addresses,
    disturbed: floods.disturbed,
    interviewsDisturbed: floods.passes.disturbed.length > 0,
    omitted: replies.omitted > 0,
  });
}

/** The state that a database records at the end: an incomplete scan may be resumed. */
function stateOf({ reason }: ScanEnd): "finished" | "interrupted" | "failed" {
  if (reason === "failed") return reason;
  return reason === "interrupted" || reason === "incomplete" ? "interrupted" : "finished";
}

function isFirst({ from: { udp, tcp } }: ScanSelection["order"]): boolean {
  return [udp, tcp].every(({ pass, position }) => pass === 1 && position === 0);
}
