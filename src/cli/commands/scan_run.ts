/**
 * A scan as the command runs it: everything is opened, the scan runs, everything is closed, and the
 * user is told what came of it.
 *
 * @module
 */
import { connectionEnvironment } from "../../app/databases/connection_environment.ts";
import type { Endpoint } from "../../core/address.ts";
import { systemClock } from "../../net/clock.ts";
import { openSocket } from "../../net/deno/udp_socket.ts";
import { denoDialer } from "../../net/deno/tcp_dialer.ts";
import { beganAt, uuidv7 } from "../../scan/scan_id.ts";
import type { ScanEnd, ScanHooks, ScanOptions } from "../../scan/scan_options.ts";
import { scan } from "../../scan/scan.ts";
import { newState, type ScanState } from "../../scan/scan_state.ts";
import { readIds } from "../../sinks/read_ids.ts";
import type { Range } from "../../targets/ranges.ts";
import { optOutCheck } from "../../targets/builtin_lists.ts";
import { type OptionsOf, optionsOf } from "../options/option_table.ts";
import { formatConfig } from "../options/config_file.ts";
import {
  formatConfiguration,
  lastingOptions,
  orderDigest,
} from "../../app/resume/scan_configuration.ts";
import { tellLine } from "../term/console.ts";
import { userPath, writeTextFile } from "../../app/environment.ts";
import type { Engine } from "../../app/engines/choose_engine.ts";
import { checkWritten, type WrittenFiles } from "../../app/outputs/path_conflicts.ts";
import { onInterrupt } from "../../app/interrupt_signals.ts";
import {
  type CheckpointPlace,
  type OpenedScan,
  openNewScan,
  openResumedScan,
  type OpenScanOptions,
} from "../../app/resume/open_with_checkpoint.ts";
import type { OptOutFile } from "../../app/targets/opt_out_file.ts";
import { metricsTrouble, serveMetrics } from "../../app/metrics/metrics_server.ts";
import { closeOutputs, type OutputPlan } from "../../app/outputs/open_outputs.ts";
import { type Plan, selectionOf } from "../../app/targets/scan_plan.ts";
import { clockJumpLine, Progress, statusOf } from "../term/scan_progress.ts";
import { type ScanWork, scanWork } from "../term/status_line.ts";
import { isClosedPipe, whileRead } from "../../app/outputs/closed_pipe.ts";
import { type Resumed, resumeLine } from "../../app/resume/read_resumed_scan.ts";
import type { ScanSettings, SpeedSettings } from "../../app/settings/scan_settings.ts";
import { isLater } from "../../sweep/trail.ts";
import { scanFamilies } from "../../app/metrics/scan_metrics.ts";
import {
  askedOf,
  type DatabasePlan,
  ScanDatabases,
  spillPath,
} from "../../app/databases/scan_databases.ts";
import {
  type Capacity,
  capacityFor,
  localAddress,
  openScanSockets,
  requireDescriptors,
  type Sockets,
} from "../../app/engines/scan_sockets.ts";
import { resumeLines } from "../term/scan_continuation.ts";
import { endLines, exitCode, summary, unprobedLines } from "../term/scan_summary.ts";
import type { FoundTargets, NamedTargets } from "../../app/targets/find_targets.ts";
import { SoftwareTally } from "../../app/outputs/software_tally.ts";
import { sendErrorLine } from "../../app/engines/send_error_lines.ts";
import type { GivenOptions } from "../../app/settings/given_options.ts";

/** Everything that a scan needs, checked. */
export interface ScanJob {
  readonly options: OptionsOf<"scan">;
  /** The same as it was written, without secrets. */
  readonly given: GivenOptions;
  readonly chosen: ScanSettings;
  readonly engine: Engine;
  readonly speed: SpeedSettings;
  readonly named: NamedTargets;
  readonly plan: Plan;
  readonly outputs: readonly OutputPlan[];
  readonly stores: DatabasePlan;
  readonly files: WrittenFiles;
  readonly optOuts: OptOutFile;
  /** What names came to. */
  readonly found: FoundTargets;
  /** Where a new scan keeps its checkpoint. */
  readonly place: CheckpointPlace | undefined;
  /** The scan that is gone on with. */
  readonly resumed: Resumed | undefined;
  /** Whether it can be continued after an interruption. */
  readonly resumable: boolean;
  /** The version of this program. */
  readonly program: string;
}

/** Descriptors that a scan needs besides outputs: checkpoint, list, a spill, and some connections. */
const LEAST = 10;

/** Opens, scans, closes, and says what came of it. */
export async function execute(job: ScanJob): Promise<number> {
  const { chosen, plan, place, named: { targets } } = job;
  const { quiet, verbose, metrics: serving } = job.options;
  checkWritten(job.files);
  const sockets = await openScanSockets(targets, chosen, job.engine);
  const needed = LEAST + job.outputs.length + 4 * job.stores.places.length;
  await requireDescriptors(targets, chosen, needed);
  const capacity = await capacityFor(targets, chosen, needed, quiet ? () => {} : tellLine);
  const shown: { progress?: Progress } = {};
  const { resumed } = job;
  const scanId = resumed?.checkpoint.scanId ??
    uuidv7(Date.now(), crypto.getRandomValues(new Uint8Array(10)));
  const key = resumed === undefined
    ? crypto.getRandomValues(new Uint8Array(8))
    : Uint8Array.fromHex(resumed.checkpoint.key);
  const state = { ...newState(scanId, performance.now()), engine: job.engine.name };
  const tell = (line: string) => {
    shown.progress?.clear();
    if (!quiet) tellLine(line);
  };
  await using _served = serving &&
    serveMetrics(serving, () => scanFamilies(state), (why) => tell(metricsTrouble(why)));
  const spill = spillPath(job.files.outputs, scanId);
  /** The checkpoint of the scan while it runs: after a second Ctrl-C, the scan goes on from there. */
  let standing: string | undefined;
  using interrupt = onInterrupt(
    () => {
      if (shown.progress === undefined) return; // the scan has not begun
      tell("blocksweep: finishing the rows in hand; Ctrl-C again to stop at once");
    },
    undefined,
    () => {
      shown.progress?.clear();
      if (standing !== undefined) resumeLines(standing, job.stores).forEach(tellLine);
    },
  );
  const asked = askedOf(chosen, job.named);
  const { signal } = interrupt;
  const isResumed = resumed !== undefined;
  const environment = connectionEnvironment(tellLine);
  await using stores = await ScanDatabases.open(
    job.stores,
    spill,
    tell,
    asked,
    environment,
    signal,
    isResumed,
  );
  // A part that was killed has marked none of them in the databases.
  resumed?.left.optedOut.forEach((address) => stores.optOut(address));
  const beforeRows = () => shown.progress?.clear();
  const kept = await keep(job, { state, key, beforeRows, stores: stores.sinks, signal });
  const { writer } = kept;
  if (writer !== undefined) standing = (place ?? resumed)?.path;
  const { sinks, unread } = whileRead(kept.sinks, job.outputs, tell);
  const tally = new SoftwareTally();
  if (resumed !== undefined && !quiet) tellLine(resumeLine(resumed, state.written, plan));
  // Who answered in any part of the scan is not missing.
  const since = resumed === undefined ? Date.now() : beganAt(scanId);
  const config = formatConfig("scan", job.given);
  await stores.begin(scanId, since, chosen.shard.count, config);
  let end: ScanEnd;
  let saved: boolean | undefined;
  {
    using progress = new Progress({
      state,
      governor: plan.governor,
      work: workOf(job),
      terminal: !quiet && Deno.stderr.isTerminal(),
      everyMs: quiet ? 0 : chosen.statsEveryMs,
      statusFile: job.files.status,
    });
    shown.progress = progress;
    const fed = { ...kept, sinks: [...sinks, tally] };
    const checkOutputs = async () => {
      for (const sink of sinks) await sink.check?.();
      await stores.check();
    };
    const hooks: ScanHooks = {
      onOptOut: (address) => {
        job.optOuts.note(address);
        stores.optOut(address);
      },
      onPass: verbose ? (transport) => progress.tellPass(plan, transport) : undefined,
      onClockJump: (ms) => tell(clockJumpLine(ms)),
      onTrouble: (code, kind) => {
        const line = sendErrorLine(code, kind);
        if (line !== undefined) tell(line);
      },
      checkOutputs,
    };
    const opened = { state, key, sockets, capacity, kept: fed, optedOut: stores.optedOut };
    const options = scanOptions(job, opened, hooks, signal);
    end = await scan(options);
    end = await closeOutputs(
      sinks,
      end,
      state,
      () => stores.end(state, end, { since, selection: options, resumed: isResumed }),
    );
    if (end.reason === "done" || end.reason === "max-results") standing = undefined;
    saved = await writer?.end(end.marks, state);
  }
  standing = undefined; // the report names what was saved
  return await report(job, state, end, {
    checkpoint: saved ? place ?? resumed : undefined,
    ...{ tally, unread },
  });
}

/** What there is to do, for the status line. */
function workOf({ plan, chosen, speed }: ScanJob): ScanWork {
  return scanWork(plan, {
    ...chosen,
    cooldown: speed.cooldownMs / 1000,
    connect: chosen.streamLimits.connectMs / 1000,
    maxRuntime: chosen.maxRuntimeMs / 1000,
  });
}

/** Opens outputs and checkpoint, for a new scan or to go on with one. */
async function keep(
  job: ScanJob,
  { key, ...given }: Pick<OpenScanOptions, "state" | "beforeRows" | "stores" | "signal"> & {
    readonly key: Uint8Array;
  },
): Promise<OpenedScan> {
  const { options, chosen, outputs, resumed, place, program } = job;
  const { seed = null, shard, from: udp, fromTcp: tcp } = chosen;
  const { scanId } = given.state;
  const identity = {
    ...{ program, scanId, seed, key: key.toHex() },
    shard: `${shard.index}/${shard.count}`,
  };
  const tell = options.quiet ? () => {} : tellLine;
  const keeping = {
    ...given,
    outputs,
    from: { udp, tcp },
    clock: systemClock,
    identity,
    tell,
    warn: tellLine,
  };
  if (resumed !== undefined) return await openResumedScan(keeping, resumed);
  const { append } = options;
  const answered = append && (isLater(udp) || isLater(tcp)) ? await knownServers(outputs) : [];
  const configuration = () =>
    formatConfiguration({
      scanId,
      given: lastingOptions(job.given, chosen.seed, optionsOf("scan")),
      found: job.found,
      answered,
      order: orderDigest(job.named.targets, chosen),
    });
  return await openNewScan(keeping, { place, append, answered, configuration });
}

/** What was opened for a scan. */
interface Opened {
  readonly state: ScanState;
  readonly key: Uint8Array;
  readonly sockets: Sockets;
  readonly capacity: Capacity;
  /** Outputs and checkpoint. */
  readonly kept: OpenedScan;
  /** Addresses that the databases mark as opted out. */
  readonly optedOut: readonly Range[];
}

function scanOptions(
  { chosen, speed, named, stores }: ScanJob,
  { state, key, sockets, capacity, kept, optedOut }: Opened,
  hooks: ScanHooks,
  signal: AbortSignal,
): ScanOptions {
  const { targets, order } = selectionOf(chosen, named);
  return {
    targets: {
      ...targets,
      optedOut: [...targets.optedOut, ...optedOut],
      answered: kept.answered,
    },
    order,
    limits: {
      rates: speed.limits,
      autoRate: speed.autoRate,
      capLoopback: speed.capLoopback,
      retries: chosen.retries,
      timeoutMs: chosen.timeoutMs,
      cooldownMs: speed.cooldownMs,
      concurrency: chosen.concurrency,
      streamLimits: chosen.streamLimits,
      maxResults: chosen.maxResults,
      maxRuntimeMs: chosen.maxRuntimeMs,
      ...capacity,
    },
    interviews: {
      follow: chosen.follow,
      verify: chosen.verify,
      optsOut: optOutCheck(),
      players: chosen.players,
      attach: stores.places.length > 0,
    },
    io: {
      openSockets: (bits) => sockets[bits],
      threads: chosen.threads,
      openSole: (bits) => openSocket({ address: localAddress(chosen, bits), port: 0 }),
      dialer: denoDialer(chosen.sourceAddress),
      sinks: kept.sinks,
      checkpoint: kept.writer,
      clock: systemClock,
      random: (size) => crypto.getRandomValues(new Uint8Array(size)),
      key,
      state,
    },
    hooks,
    signal,
  };
}

/** Servers that an earlier part of this scan wrote into the outputs. */
async function knownServers(outputs: readonly OutputPlan[]): Promise<Endpoint[]> {
  const lists = outputs.filter(({ readable }) => readable)
    .map(({ path, format }) => readIds(userPath(path), format.name));
  return (await Promise.all(lists)).flat();
}

/** Says how it went, and turns it into an exit code. */
async function report(
  job: ScanJob,
  state: ScanState,
  end: ScanEnd,
  { checkpoint, tally, unread }: {
    readonly checkpoint: { readonly path: string } | undefined;
    readonly tally: SoftwareTally;
    readonly unread: ReadonlySet<number>;
  },
): Promise<number> {
  const { options: { quiet, verbose }, chosen, outputs, stores, resumed } = job;
  const places = [...outputs, ...stores.places].filter((_, i) => !unread.has(i));
  // The reader of the last output has what it wants, as `head` has.
  const served = isClosedPipe(end.error);
  if (!quiet && !served) {
    summary(state, end, { outputs: places, retries: chosen.retries, verbose }).forEach(tellLine);
    unprobedLines(job.plan).forEach(tellLine);
    // Rows that no output took were counted too, and those of an earlier run were not.
    if (state.lost === 0) tally.lines(resumed && "of this run", verbose).forEach(tellLine);
  }
  if (end.error !== undefined) {
    if (end.error instanceof Deno.errors.NotCapable) throw end.error;
    if (!served) tellLine(`blocksweep: ${end.error.message}`);
  }
  endLines(job, state, end, checkpoint?.path).forEach(tellLine);
  const { metadata } = job.files;
  if (metadata !== undefined) {
    const options = JSON.parse(formatConfig("scan", job.given));
    const seed = chosen.seed ?? null;
    const marks = { mark: end.marks.udp, tcp_mark: end.marks.tcp };
    const text = JSON.stringify({ options, seed, ...statusOf(state), ...marks }, null, 2);
    await writeTextFile(metadata, `${text}\n`);
  }
  return exitCode(end.reason);
}
