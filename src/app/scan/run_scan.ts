/**
 * Runs a prepared scan: opens everything, scans, and closes everything.
 *
 * @module
 */
import { denoDialer } from "../../net/deno/mod.ts";
import {
  type Checkpointer,
  type Counters,
  countFrom,
  RowThread,
  runSetup,
  type ScanControls,
  type ScanEnd,
  type ScanHooks,
  type ScanIo,
  type ScanSetup,
  type ScanState,
} from "../../scan/mod.ts";
import type { Sink } from "../../sinks/sink.ts";
import type { ScanDatabases } from "./scan_databases.ts";
import { localAddress, openPortSockets } from "../engines/scan_sockets.ts";
import { writeTextFile } from "../environment.ts";
import type { WrittenDatabase } from "../metrics/scan_metrics.ts";
import { otlpMeter } from "../metrics/otlp_meter.ts";
import { formatConfig } from "../options/config_file.ts";
import { closeOutputs } from "../outputs/open_outputs.ts";
import { checkWritten } from "../options/path_conflicts.ts";
import type { OutputPlan } from "../outputs/plan_outputs.ts";
import { SoftwareTally } from "../outputs/software_tally.ts";
import { randomBytes } from "../system_random.ts";
import {
  openDatabases,
  type OpenedSockets,
  openScanOutputs,
  openSockets,
  recordStart,
  type ScanIdentity,
  type ScanOutputs,
  type StartedScan,
  startScan,
} from "./open_scan.ts";
import type { PreparedScan } from "./prepare_scan.ts";
import type { WritePlan } from "./read_scan.ts";
import { adaptiveWork, type ScanWork, scanWork } from "./progress_meter.ts";
import { scanInterviews } from "./scan_choice.ts";
import { endRow, progressNumbers } from "./scan_rows.ts";
import { ScanMonitor } from "./scan_monitor.ts";
import { closeLoadedWebhook, openLoadedWebhook } from "../webhooks/load_scan_webhook.ts";
import { scanStatus } from "./scan_status.ts";

/** What follows a running scan: the terminal of a command, or a program. */
export interface RunOptions extends
  Pick<
    ScanHooks,
    "onStart" | "onPass" | "beforePass" | "onClockJump" | "onOutage" | "onTrouble"
  >,
  Pick<ScanIo, "throttle" | "gate"> {
  /** Ends the sweep. Interviews that have begun are finished, and their rows are written. */
  readonly signal: AbortSignal;
  /** Cancels also the interviews that have begun. Default: they are never cancelled. */
  readonly abandon?: AbortSignal;
  /** The id and the key of the scan of which this is a part. Default: new ones. */
  readonly identity?: ScanIdentity;
  /** The counters of earlier runs of the scan, and the number of rows that they wrote. */
  readonly earlier?: { readonly counters: Counters; readonly rows: number };
  /** Saves the progress in place of the checkpoint file. */
  readonly checkpointer?: Checkpointer;
  /**
   * Whether the scan runs beside polls of the same servers, which decide which are offline: databases
   * count no servers that do not reply to it, and have an event for each new one. Default: no.
   */
  readonly isBesidePolls?: boolean;
  /** Whether rows have attachments. Default: only if databases are among the outputs. */
  readonly attach?: boolean;
  /**
   * Called when everything is open, before the first probe. Returns further outputs of the rows,
   * which the scan does not close.
   */
  readonly begin?: (monitor: ScanMonitor) => readonly Sink[];
  /**
   * Called with the path of the checkpoint from which an interrupted scan can be resumed from now on;
   * `undefined`: it has ended.
   */
  readonly onCheckpoint?: (path: string | undefined) => void;
  /** Called when the outputs are closed, before the metadata file is written. */
  readonly onEnd?: (result: ScanResult) => void;
}

export interface ScanResult {
  readonly end: ScanEnd;
  readonly state: ScanState;
  /** The path of the checkpoint from which the scan can be resumed; `undefined`: none is left. */
  readonly checkpoint: string | undefined;
  /** The outputs whose readers closed the pipe. */
  readonly unread: ReadonlySet<number>;
  /** Number of rows that each database lacks, because they are in its spill file. */
  readonly waiting: readonly number[];
  /** The servers of this run by software. */
  readonly tally: SoftwareTally;
  /** The numbers of the webhook's events, in words; `undefined`: there was no webhook. */
  readonly delivery: string | undefined;
}

/**
 * Runs a scan to its end. An error that ended the scan is a part of the result.
 *
 * @throws InputError or WriteError for outputs, databases and files that cannot be opened; ShortageError
 * without descriptors; Interrupted if the signal ends the wait for the reader of a pipe.
 */
export async function runPreparedScan(
  scan: PreparedScan,
  writes: WritePlan,
  options: RunOptions,
): Promise<ScanResult> {
  await using closing = new AsyncDisposableStack();
  checkWritten(writes.files);
  const sockets = await openSockets(scan, writes, closing, options.gate);
  const started = startScan(scan, options.identity);
  const { state } = started;
  const { earlier } = options;
  if (earlier !== undefined) {
    countFrom(state, earlier.counters, { rows: earlier.rows, optOuts: 0 });
  }
  const written: WrittenDatabase[] = [];
  await using _served = await serveMetrics(scan, state, written);
  const { signal, isBesidePolls } = options;
  await using stores = await openDatabases(scan, writes, started.scanId, { signal, isBesidePolls });
  written.push(...stores?.sinks ?? []);
  const outputs = await openScanOutputs(scan, writes, started, stores, closing, options.signal);
  const { path } = outputs.openedScan;
  if (outputs.openedScan.writer !== undefined) options.onCheckpoint?.(path);
  await recordStart(scan, started, stores);
  await using hook = await openLoadedWebhook(writes.webhook, {
    scanId: started.scanId,
    locations: writes.databases.locations,
    allProtocols: scan.options.allProtocols,
    warn: scan.context.warn,
  });
  const tally = new SoftwareTally();
  const { end, saved } = await runAndClose(
    scan,
    writes,
    { ...started, ...sockets, ...outputs, stores, tally, closing },
    options,
  );
  options.onCheckpoint?.(undefined);
  const delivery = await closeLoadedWebhook(hook);
  const { unread } = outputs;
  const waiting = written.map((sink) => sink.waiting);
  const checkpoint = saved ? path : undefined;
  const result = { end, state, checkpoint, unread, waiting, tally, delivery };
  options.onEnd?.(result);
  const { metadata } = writes.files;
  if (metadata !== undefined) await writeTextFile(metadata, metadataText(scan, state, end));
  return result;
}

/** Serves and exports the metrics, which are loaded only if the user wants them. */
async function serveMetrics(
  { options: { metrics }, report }: PreparedScan,
  state: ScanState,
  databases: readonly WrittenDatabase[],
): Promise<AsyncDisposable | undefined> {
  if (metrics === undefined && otlpMeter() === undefined) return undefined;
  const { serveScan } = await import("../metrics/serve_scan.ts");
  return serveScan(metrics, state, databases, report);
}

/** A started scan with everything open. */
interface Opened extends StartedScan, OpenedSockets, ScanOutputs {
  readonly stores: ScanDatabases | undefined;
  readonly tally: SoftwareTally;
  /** Closes sockets and outputs, if the scan does not begin. */
  readonly closing: AsyncDisposableStack;
}

/** Runs the scan, and closes outputs and checkpoint. */
async function runAndClose(
  scan: PreparedScan,
  { files, outputs }: WritePlan,
  opened: Opened,
  options: RunOptions,
) {
  const { state, stores, sinks, openedScan, since, tally } = opened;
  using monitor = new ScanMonitor({
    state,
    work: workOf(scan),
    statusFile: files.status,
    clock: scan.network.clock,
    warn: scan.context.warn,
  });
  const further = options.begin?.(monitor) ?? [];
  await using followed = new AsyncDisposableStack();
  const { readChangedOptOuts } = await import("../opt_outs/changed_opt_outs.ts");
  const onStart = (controls: ScanControls) => {
    options.onStart?.(controls);
    const report = (line: string) => scan.context.warn(`blocksweep: ${line}`);
    const { network, optOutVersion } = scan;
    followed.use(readChangedOptOuts(network, report, controls.optOutRanges, optOutVersion));
  };
  const allSinks = [...sinks, tally, ...further];
  const setup = setupOf(scan, opened, { ...options, onStart }, allSinks, outputs);
  const heartbeat = stores?.keepProgress(() => ({
    id: state.scanId,
    ...progressNumbers(state),
    endsAt: monitor.endsAt,
  }));
  opened.closing.move(); // from here on the scan closes everything
  const running = runSetup(setup).finally(() => heartbeat?.[Symbol.asyncDispose]());
  monitor.start(); // after the first probe, because the runtime's first timer takes 7 ms
  const ended = await running;
  const resumed = scan.resumed !== undefined;
  const countsMissing = !options.isBesidePolls;
  const closeDatabases = async () =>
    await stores?.end(endRow(state, ended, { since, selection: setup, resumed, countsMissing }));
  const end = await closeOutputs(sinks, ended, state, closeDatabases);
  if (end.reason === "done" || end.reason === "max-results") options.onCheckpoint?.(undefined);
  return { end, saved: await openedScan.writer?.end(end.marks, state) };
}

function workOf({ plan, limits, adaptive, selection: { order } }: PreparedScan): ScanWork {
  const { cooldownMs, maxRuntimeMs, portWaitMs } = limits;
  const budgetMs = adaptive !== undefined && "ms" in adaptive.budget
    ? adaptive.budget.ms
    : Infinity;
  const times = {
    cooldown: cooldownMs / 1000,
    connect: portWaitMs / 1000,
    maxRuntime: Math.min(maxRuntimeMs, budgetMs) / 1000,
  };
  return plan.adaptive === undefined
    ? scanWork(plan, order.from, times)
    : adaptiveWork(plan.adaptive, times);
}

/** The setup of the scan itself, with what was opened. */
function setupOf(
  scan: PreparedScan,
  { state, key, sockets, capacity, openedScan, stores, sinks: outputs }: Opened,
  given: RunOptions,
  sinks: readonly Sink[],
  planned: readonly OutputPlan[],
): ScanSetup {
  const { options, selection: { targets, order }, limits, network, context } = scan;
  const { signal, abandon, gate, throttle, checkpointer } = given;
  const { onStart, onPass, beforePass, onClockJump, onOutage, onTrouble } = given;
  const { attach = stores !== undefined } = given;
  const { engine: { openPorts, route } } = scan;
  return {
    targets: {
      ...targets,
      optedOut: [...targets.optedOut, ...stores?.optedOut ?? []],
      responders: openedScan.responders,
    },
    order,
    adaptive: scan.adaptive,
    limits: { ...limits, ...capacity },
    interviews: { ...scanInterviews(options), attach },
    io: {
      openSockets: (bits) => sockets[bits],
      threads: scan.threads,
      openExclusive: (bits) =>
        network.openSocket({ address: localAddress(options, bits), port: 0 }, gate),
      openPorts: openPorts &&
        ((bits, shared) =>
          openPortSockets({ openPorts, route }, bits, options, sockets[bits], shared)),
      dialer: context.network === undefined ? denoDialer(options.sourceIp) : network.dialer,
      sinks,
      startRowThread: rowThreadStart(planned, outputs, sinks),
      checkpoint: checkpointer ?? openedScan.writer,
      throttle,
      gate,
      clock: network.clock,
      random: randomBytes,
      key,
      state,
    },
    hooks: {
      onStart,
      onPass,
      beforePass,
      onClockJump,
      onOutage,
      onTrouble,
      onOptOut: (address) => {
        network.optOuts.note(address);
        stores?.optOut(address);
      },
      checkOutputs: async () => {
        for (const sink of outputs) await sink.check?.();
        await stores?.check();
      },
    },
    signal,
    abandon,
  };
}

/**
 * Returns the function that starts a thread for rows; `undefined` if a thread cannot make the rows of
 * an output: a database, a table, or a sink of a program.
 */
function rowThreadStart(
  planned: readonly OutputPlan[],
  outputs: readonly Sink[],
  sinks: readonly Sink[],
): ScanIo["startRowThread"] {
  const formats = planned.flatMap(({ spec }) => spec ?? []);
  if (formats.length < outputs.length || sinks.some((sink) => !sink.writeMade)) return undefined;
  return (options) => new RowThread({ ...options, formats });
}

/** Options, seed, counters and marks of a scan, as JSON. */
function metadataText(
  { given, selection: { order } }: PreparedScan,
  state: ScanState,
  { marks }: ScanEnd,
): string {
  const options = JSON.parse(formatConfig("scan", given));
  const seed = order.seed ?? null;
  const ends = { mark: marks.udp, tcp_mark: marks.tcp };
  return `${JSON.stringify({ options, seed, ...scanStatus(state), ...ends }, null, 2)}\n`;
}
