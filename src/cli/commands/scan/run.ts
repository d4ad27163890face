/**
 * Runs a scan for the command: opens everything, scans, closes everything, and prints the result.
 *
 * @module
 */
import { systemClock } from "../../../net/clock.ts";
import { openSocket } from "../../../net/deno/udp_socket.ts";
import { denoDialer } from "../../../net/deno/tcp_dialer.ts";
import type { ScanEnd, ScanHooks, ScanSetup } from "../../../scan/scan_setup.ts";
import { runScan } from "../../../scan/scan.ts";
import type { ScanState } from "../../../scan/scan_state.ts";
import { formatConfig } from "../../../app/options/config_file.ts";
import { isDumb, reportLine, terminalSize, writeMessage } from "../../term/console.ts";
import { writeTextFile } from "../../../app/environment.ts";
import { checkWritten } from "../../../app/outputs/path_conflicts.ts";
import { closeOutputs } from "../../../app/outputs/open_outputs.ts";
import { useColor } from "../../term/server_description.ts";
import type { LatestRows } from "../../../app/outputs/latest_rows.ts";
import { clockJumpLine, Progress, statusOf } from "../../term/scan_progress.ts";
import { type ScanWork, scanWork } from "../../term/status_line.ts";
import { isClosedPipe } from "../../../app/outputs/closed_pipe.ts";
import { interviewsOf, limitsOf } from "../../../app/settings/scan_limits.ts";
import { localAddress } from "../../../app/engines/scan_sockets.ts";
import { endLines, exitCode, summary, unprobedLines } from "../../term/scan_summary.ts";
import { sendErrorLine } from "../../../app/engines/send_error_lines.ts";
import {
  openDatabases,
  type Opened,
  openScanOutputs,
  openSockets,
  type ScanJob,
  type ScanOutputs,
  Screen,
  startScan,
} from "./opening.ts";
import { serveScan } from "../../../app/metrics/serve_scan.ts";
import type { WrittenDatabase } from "../../../app/metrics/scan_metrics.ts";
import { randomBytes } from "../../../app/system_random.ts";

/** Opens everything, scans, closes everything, and reports the result. */
export async function execute(job: ScanJob): Promise<number> {
  checkWritten(job.files);
  const screen = new Screen(job);
  const sockets = await openSockets(job);
  const started = startScan(job);
  const written: WrittenDatabase[] = [];
  await using _served = serveScan(job.options.metrics, started.state, written, screen.report);
  using interrupt = screen.onInterrupt();
  await using stores = await openDatabases(job, started.scanId, screen, interrupt.signal);
  written.push(...stores.sinks);
  const opened = { ...started, ...sockets, stores, signal: interrupt.signal };
  const outputs = await openScanOutputs(job, opened, screen);
  const ended = await runAndClose(job, { ...opened, ...outputs }, screen);
  screen.checkpointPath = undefined; // the final report names the checkpoint
  return await report(job, started.state, ended, outputs);
}

/** How a scan ended, and its checkpoint, if one is left. */
interface Ended {
  readonly end: ScanEnd;
  readonly saved: boolean | undefined;
}

/** Runs the scan, and closes outputs and checkpoint. */
async function runAndClose(
  job: ScanJob,
  opened: Opened & ScanOutputs,
  screen: Screen,
): Promise<Ended> {
  const { state, stores, sinks, openedScan, since } = opened;
  using progress = showProgress(job, state, screen);
  screen.progress = progress;
  const hooks = hooksOf(job, opened, screen, progress);
  const options = scanOptions(job, { ...opened, latest: progress.latest }, hooks);
  const heartbeat = stores.keepProgress(state, () => progress.endsAt);
  const ended = await runScan(options).finally(() => heartbeat[Symbol.asyncDispose]());
  const resumed = job.resumed !== undefined;
  const closeDatabases = () => stores.end(state, ended, { since, selection: options, resumed });
  const end = await closeOutputs(sinks, ended, state, closeDatabases);
  if (end.reason === "done" || end.reason === "max-results") screen.checkpointPath = undefined;
  return { end, saved: await openedScan.writer?.end(end.marks, state) };
}

function showProgress(job: ScanJob, state: ScanState, { isQuiet }: Screen): Progress {
  const { plan, chosen, files, options } = job;
  const atTerminal = !isQuiet && Deno.stderr.isTerminal();
  return new Progress({
    state,
    limitedBy: plan.limitedBy,
    work: workOf(job),
    display: !atTerminal ? undefined : options.plain || isDumb() ? "line" : "block",
    color: useColor(options.noColor, Deno.stderr),
    everyMs: isQuiet ? 0 : chosen.statsEveryMs,
    statusFile: files.status,
    terminal: { clock: systemClock, size: terminalSize, draw: writeMessage },
  });
}

/** The callbacks of a scan: what is printed, recorded and checked while it runs. */
function hooksOf(
  { options: { verbose }, plan, optOuts }: ScanJob,
  { stores, sinks }: Opened & ScanOutputs,
  { report }: Screen,
  progress: Progress,
): ScanHooks {
  return {
    onOptOut: (address) => {
      optOuts.note(address);
      stores.optOut(address);
    },
    onPass: verbose ? (transport) => progress.reportPass(plan, transport) : undefined,
    onClockJump: (ms) => report(clockJumpLine(ms)),
    onTrouble: (code, kind) => {
      const line = sendErrorLine(code, kind);
      if (line !== undefined) report(line);
    },
    checkOutputs: async () => {
      for (const sink of sinks) await sink.check?.();
      await stores.check();
    },
  };
}

/** The amount of work of a scan, for the status line. */
function workOf({ plan, chosen, speed }: ScanJob): ScanWork {
  return scanWork(plan, {
    ...chosen,
    cooldown: speed.cooldownMs / 1000,
    connect: chosen.streamLimits.connectMs / 1000,
    maxRuntime: chosen.maxRuntimeMs / 1000,
  });
}

function scanOptions(
  { chosen, speed, selection: { targets, order } }: ScanJob,
  opened: Opened & ScanOutputs & { readonly latest: LatestRows },
  hooks: ScanHooks,
): ScanSetup {
  const { state, key, sockets, capacity, openedScan, stores, sinks, tally, latest, signal } =
    opened;
  return {
    targets: {
      ...targets,
      optedOut: [...targets.optedOut, ...stores.optedOut],
      responders: openedScan.responders,
    },
    order,
    limits: limitsOf(chosen, speed, capacity),
    interviews: { ...interviewsOf(chosen), attach: stores.sinks.length > 0 },
    io: {
      openSockets: (bits) => sockets[bits],
      threads: chosen.threads,
      openExclusive: (bits) => openSocket({ address: localAddress(chosen, bits), port: 0 }),
      dialer: denoDialer(chosen.sourceAddress),
      sinks: [...sinks, tally, latest],
      checkpoint: openedScan.writer,
      clock: systemClock,
      random: randomBytes,
      key,
      state,
    },
    hooks,
    signal,
  };
}

/** Prints the summary, and writes the metadata; returns the exit code. */
async function report(
  job: ScanJob,
  state: ScanState,
  { end, saved }: Ended,
  outputs: ScanOutputs,
): Promise<number> {
  const { options: { quiet }, place, resumed, files: { metadata } } = job;
  // The reader of the last output, for example `head`, needs no more rows.
  const readerHasClosed = isClosedPipe(end.error);
  if (!quiet && !readerHasClosed) reportSummary(job, state, end, outputs);
  if (end.error !== undefined) {
    if (end.error instanceof Deno.errors.NotCapable) throw end.error;
    if (!readerHasClosed) reportLine(`blocksweep: ${end.error.message}`);
  }
  const checkpoint = saved ? place ?? resumed : undefined;
  endLines(job, state, end, checkpoint?.path).forEach(reportLine);
  if (metadata !== undefined) await writeTextFile(metadata, metadataText(job, state, end));
  return exitCode(end.reason, state);
}

function reportSummary(
  { options: { verbose }, given: { given }, chosen, outputs, databases, resumed, plan }: ScanJob,
  state: ScanState,
  end: ScanEnd,
  { unread, tally }: ScanOutputs,
): void {
  const places = [...outputs, ...databases.places].filter((_, i) => !unread.has(i));
  const scope = {
    outputs: places,
    databases: databases.places,
    retries: chosen.retries,
    given,
    verbose,
  };
  summary(state, end, scope).forEach(reportLine);
  unprobedLines(plan).forEach(reportLine);
  // The tally also counts rows that no output accepted, and lacks those before a resume.
  if (state.lost === 0) tally.lines(resumed && "of this run", verbose).forEach(reportLine);
}

/** Options, seed, counters and marks of a scan, as JSON. */
function metadataText({ given, chosen }: ScanJob, state: ScanState, { marks }: ScanEnd): string {
  const options = JSON.parse(formatConfig("scan", given));
  const seed = chosen.seed ?? null;
  const ends = { mark: marks.udp, tcp_mark: marks.tcp };
  return `${JSON.stringify({ options, seed, ...statusOf(state), ...ends }, null, 2)}\n`;
}
