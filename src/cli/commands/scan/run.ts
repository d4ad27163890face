/**
 * Runs a prepared scan for the command: shows its progress, and prints the result.
 *
 * @module
 */
import { Interrupted, onInterrupt } from "../../../app/mod.ts";
import { outageLine, sendErrorLine } from "../../../app/engines/mod.ts";
import { isClosedPipe } from "../../../app/outputs/mod.ts";
import {
  type PreparedScan,
  runPreparedScan,
  type ScanMonitor,
  type ScanResult,
  type WritePlan,
} from "../../../app/scan/mod.ts";
import {
  isDumb,
  logsJson,
  reportFigures,
  reportLine,
  terminalSize,
  writeMessage,
} from "../../term/console.ts";
import { resumeLines } from "../../term/scan_continuation.ts";
import { clockJumpLine, Progress } from "../../term/scan_progress.ts";
import { endLines, exitCode, summary, unprobedLines } from "../../term/scan_summary.ts";
import { countFigures } from "../../term/status_line.ts";
import { useColor } from "../../term/server_description.ts";

/** The code for the kept contact, which few scans need. */
export const keptContacts = () => import("../../../app/targets/mod.ts");

/** Runs a scan, and reports its result; returns the exit code. */
export async function execute(scan: PreparedScan, writes: WritePlan): Promise<number> {
  const { options: { verbose, contact }, plan, report, resumed } = scan;
  const contacts = contact === undefined ? undefined : await keptContacts();
  let progress: Progress | undefined;
  let checkpoint = resumed?.path;
  const printResume = () => {
    progress?.[Symbol.dispose]();
    if (checkpoint !== undefined) resumeLines(checkpoint, writes.databases).forEach(reportLine);
  };
  const first = () => {
    if (progress === undefined) return; // the scan has not begun
    report("blocksweep: finishing pending rows; press Ctrl-C again to stop at once");
  };
  using interrupt = onInterrupt(first, undefined, printResume);
  try {
    const { end, state } = await runPreparedScan(scan, writes, {
      signal: interrupt.signal,
      begin: (monitor) => {
        contacts?.keepContact(contact, report);
        progress = showProgress(scan, monitor);
        return [progress.latest];
      },
      onCheckpoint: (path) => checkpoint = path,
      onPass: verbose ? (transport) => progress?.reportPass(plan, transport) : undefined,
      onClockJump: (ms) => report(clockJumpLine(ms)),
      onOutage: (outage, until) =>
        report(outageLine(outage, until !== undefined, until ?? scan.network.clock.wall())),
      onTrouble: (code, kind) => {
        const line = sendErrorLine(code, kind);
        if (line !== undefined) report(line);
      },
      onEnd: (result) => {
        progress?.[Symbol.dispose]();
        reportResult(scan, writes, result);
      },
    });
    return exitCode(end.reason, state);
  } catch (error) {
    if (error instanceof Interrupted) printResume();
    throw error;
  } finally {
    progress?.[Symbol.dispose]();
  }
}

function showProgress({ plan, options, network }: PreparedScan, monitor: ScanMonitor): Progress {
  const atTerminal = !options.quiet && !logsJson() && Deno.stderr.isTerminal();
  return new Progress({
    monitor,
    limitedBy: plan.limitedBy,
    display: !atTerminal ? undefined : options.plain || isDumb() ? "line" : "block",
    color: useColor(options.noColor, Deno.stderr),
    everyMs: options.quiet ? 0 : options.statsEvery ?? 0,
    terminal: {
      clock: network.clock,
      size: terminalSize,
      draw: writeMessage,
      isDumb: isDumb(),
    },
  });
}

/** Prints the summary, and how to continue. */
function reportResult(scan: PreparedScan, writes: WritePlan, result: ScanResult): void {
  const { end, state, checkpoint } = result;
  // The reader of the last output, for example `head`, needs no more rows.
  const readerHasClosed = isClosedPipe(end.error);
  if (!scan.options.quiet && !readerHasClosed) reportSummary(scan, writes, result);
  if (end.error !== undefined) {
    if (end.error instanceof Deno.errors.NotCapable) throw end.error;
    if (!readerHasClosed) reportLine(`blocksweep: ${end.error.message}`);
  }
  endLines({ ...scan, ...writes }, state, end, checkpoint, scan.network.clock.wall()).forEach(
    reportLine,
  );
}

function reportSummary(
  { options: { verbose, retries }, given: { given }, network: { clock }, resumed, plan }:
    PreparedScan,
  { outputs, databases }: WritePlan,
  { state, end, unread, waiting, tally, delivery }: ScanResult,
): void {
  const stores = databases.locations.map((location, i) => ({ ...location, waiting: waiting[i] }));
  const written = [...outputs, ...stores].filter((_, i) => !unread.has(i));
  const scope = {
    outputs: written,
    databases: databases.locations,
    retries,
    given,
    clock,
    verbose,
  };
  const [counts, ...others] = summary(state, end, scope);
  reportFigures(counts, countFigures(state));
  others.forEach(reportLine);
  unprobedLines(plan).forEach(reportLine);
  if (delivery !== undefined) reportLine(delivery);
  // The tally also counts rows that no output accepted, and lacks those before a resume.
  if (state.lost === 0) tally.lines(resumed && "of this run", verbose).forEach(reportLine);
}
