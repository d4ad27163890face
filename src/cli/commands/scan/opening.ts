/**
 * Opens what a scan needs: sockets, databases, outputs, the checkpoint.
 *
 * @module
 */
import { connectionEnvironment } from "../../../app/databases/connection_environment.ts";
import type { Endpoint } from "../../../core/address.ts";
import { systemClock } from "../../../net/clock.ts";
import type { ScanSelection } from "../../../scan/scan_setup.ts";
import { newState, type ScanState } from "../../../scan/scan_state.ts";
import { readEndpoints } from "../../../sinks/read_endpoints.ts";
import type { Sink } from "../../../sinks/sink.ts";
import { optionsOf } from "../../../app/options/option_table.ts";
import { formatConfig } from "../../../app/options/config_file.ts";
import {
  formatConfiguration,
  lastingOptions,
  orderDigest,
} from "../../../app/resume/scan_configuration.ts";
import { reportLine, writeRows } from "../../term/console.ts";
import { userPath } from "../../../app/environment.ts";
import type { Engine } from "../../../app/engines/choose_engine.ts";
import { type Interrupt, Interrupted, onInterrupt } from "../../../app/interrupt_signals.ts";
import {
  type CheckpointPlace,
  type OpenedScan,
  openNewScan,
  openResumedScan,
  type OpenScanOptions,
} from "../../../app/resume/open_with_checkpoint.ts";
import { addressesOf } from "../../../app/targets/scan_addresses.ts";
import type { OptOutFile } from "../../../app/targets/opt_out_file.ts";
import type { OutputPlan } from "../../../app/outputs/plan_outputs.ts";
import type { Plan } from "../../../app/targets/scan_plan.ts";
import type { Progress } from "../../term/scan_progress.ts";
import { whileRead } from "../../../app/outputs/closed_pipe.ts";
import { resumeLine } from "../../../app/resume/read_resumed_scan.ts";
import type { SpeedSettings } from "../../../app/settings/speed.ts";
import { isLater } from "../../../sweep/trail.ts";
import {
  queriedProtocolsOf,
  ScanDatabases,
  spillPath,
} from "../../../app/databases/scan_databases.ts";
import {
  type Capacity,
  capacityFor,
  openScanSockets,
  requireDescriptors,
  type Sockets,
} from "../../../app/engines/scan_sockets.ts";
import type { ScanRequest } from "./request.ts";
import type { LocatedTargets } from "./target_lookup.ts";
import { resumeLines } from "../../term/scan_continuation.ts";
import { SoftwareTally } from "../../../app/outputs/software_tally.ts";
import { newScanId, randomBytes } from "../../../app/system_random.ts";
import { beganAt } from "../../../scan/scan_id.ts";

/** Everything that a scan needs, after all checks. */
export interface ScanJob extends ScanRequest, LocatedTargets {
  readonly engine: Engine;
  readonly selection: ScanSelection;
  readonly speed: SpeedSettings;
  readonly plan: Plan;
  readonly optOuts: OptOutFile;
  /** Path of the checkpoint of a new scan; `undefined`: none. */
  readonly place: CheckpointPlace | undefined;
  /** Whether the scan can be resumed after an interruption. */
  readonly resumable: boolean;
  /** The version of this program. */
  readonly program: string;
}

/**
 * Minimum number of descriptors besides outputs: checkpoint, list, a spill file, and some
 * connections.
 */
const LEAST = 10;

/** The terminal output of a running scan: progress and messages. */
export class Screen {
  /** The progress, once the scan has begun. */
  progress: Progress | undefined;
  /** The checkpoint to resume from after an interruption. A resumed scan has one from its start. */
  checkpointPath: string | undefined;
  /** Whether only errors are printed. */
  readonly isQuiet: boolean;

  constructor(private readonly job: ScanJob) {
    this.isQuiet = job.options.quiet;
    this.checkpointPath = job.resumed?.path;
  }

  /** Prints a line, unless only errors are printed. */
  readonly report = (line: string): void => {
    if (!this.isQuiet) reportLine(line);
  };

  /** Starts to handle Ctrl-C and SIGTERM. */
  onInterrupt(): Interrupt {
    const first = () => {
      if (this.progress === undefined) return; // the scan has not begun
      this.report("blocksweep: finishing pending rows; press Ctrl-C again to stop at once");
    };
    return onInterrupt(first, undefined, () => this.printResume());
  }

  /** Ends the display of progress, and prints how to continue the scan, if there is a checkpoint. */
  printResume(): void {
    this.progress?.[Symbol.dispose]();
    if (this.checkpointPath === undefined) return;
    resumeLines(this.checkpointPath, this.job.databases).forEach(reportLine);
  }
}

/** The sockets of a scan, and how many more it may open. */
export interface OpenedSockets {
  readonly sockets: Sockets;
  readonly capacity: Capacity;
}

/** Opens the shared sockets, and divides the descriptors that are left. */
export async function openSockets(job: ScanJob): Promise<OpenedSockets> {
  const { options: { quiet }, chosen, named: { targets } } = job;
  const sockets = await openScanSockets(targets, chosen, job.engine);
  const needed = LEAST + job.outputs.length + 4 * job.databases.places.length;
  await requireDescriptors(targets, chosen, needed);
  const report = quiet ? () => {} : reportLine;
  return { sockets, capacity: await capacityFor(targets, chosen, needed, report) };
}

/** The id, key and counters of a scan that was started. */
export interface StartedScan {
  readonly scanId: string;
  /** When the first run of the scan began, Unix milliseconds. */
  readonly since: number;
  /** The key of its tokens. */
  readonly key: Uint8Array;
  readonly state: ScanState;
}

/** Starts a new scan, or a further run of one. */
export function startScan({ resumed, engine }: ScanJob): StartedScan {
  const scanId = resumed?.checkpoint.scanId ?? newScanId(Date.now());
  const key = resumed === undefined ? randomBytes(8) : Uint8Array.fromHex(resumed.checkpoint.key);
  const since = resumed === undefined ? Date.now() : beganAt(scanId);
  const state = { ...newState(scanId, performance.now()), engine: engine.name };
  return { scanId, since, key, state };
}

/** Opens the databases among the outputs. */
export async function openDatabases(
  job: ScanJob,
  scanId: string,
  { report }: Screen,
  signal: AbortSignal,
): Promise<ScanDatabases> {
  const { databases, chosen, named, files, resumed } = job;
  const stores = await ScanDatabases.open(databases, {
    spill: spillPath(files.outputs, scanId),
    report,
    scope: queriedProtocolsOf(chosen, named),
    environment: connectionEnvironment(reportLine),
    signal,
    resumed: resumed !== undefined,
  });
  // If the earlier run was killed, its opt-outs are not in the databases yet.
  resumed?.writtenRows.optedOut.forEach((address) => stores.optOut(address));
  return stores;
}

/** A started scan with everything open except its outputs. */
export interface Opened extends StartedScan, OpenedSockets {
  readonly stores: ScanDatabases;
  /** Aborted by the first Ctrl-C. */
  readonly signal: AbortSignal;
}

/** The outputs of a scan. */
export interface ScanOutputs {
  /** The open outputs and the checkpoint. */
  readonly openedScan: OpenedScan;
  /** The outputs. Each is closed on its own when its reader closes the pipe. */
  readonly sinks: readonly Sink[];
  /** The outputs whose readers closed the pipe. */
  readonly unread: ReadonlySet<number>;
  /** Counts the servers by software for the summary. */
  readonly tally: SoftwareTally;
}

/** Opens outputs and checkpoint, and records the start of the scan in databases. */
export async function openScanOutputs(
  job: ScanJob,
  opened: Opened,
  screen: Screen,
): Promise<ScanOutputs> {
  const { state, key, stores, signal, scanId, since } = opened;
  const { resumed, place, plan, chosen, given } = job;
  const opening = openOutputsAndCheckpoint(job, {
    state,
    key,
    writeRows,
    stores: stores.sinks,
    signal,
  });
  const openedScan = await opening.catch((error) => {
    if (error instanceof Interrupted) screen.printResume();
    throw error;
  });
  if (openedScan.writer !== undefined) screen.checkpointPath = (place ?? resumed)?.path;
  const { sinks, unread } = whileRead(openedScan.sinks, job.outputs, screen.report);
  if (resumed !== undefined) screen.report(resumeLine(resumed, state.written, plan));
  await stores.begin({
    id: scanId,
    at: since,
    runAt: resumed === undefined ? since : Date.now(),
    shards: chosen.shard.count,
    config: formatConfig("scan", given),
    addresses: addressesOf(job.found, job.named, stores.optedOut),
  });
  return { openedScan, sinks, unread, tally: new SoftwareTally() };
}

/** Opens outputs and checkpoint, for a new or a resumed scan. */
async function openOutputsAndCheckpoint(
  job: ScanJob,
  { key, ...given }: Pick<OpenScanOptions, "state" | "writeRows" | "stores" | "signal"> & {
    readonly key: Uint8Array;
  },
): Promise<OpenedScan> {
  const { options, chosen, outputs, resumed, place, program } = job;
  const { seed = null, shard, from: udp, fromTcp: tcp } = chosen;
  const { scanId } = given.state;
  const identity = {
    program,
    scanId,
    seed,
    key: key.toHex(),
    shard: `${shard.index}/${shard.count}`,
  };
  const report = options.quiet ? () => {} : reportLine;
  const openOptions = {
    ...given,
    outputs,
    from: { udp, tcp },
    clock: systemClock,
    identity,
    report,
    warn: reportLine,
  };
  if (resumed !== undefined) return await openResumedScan(openOptions, resumed);
  const { append } = options;
  const responders = append && (isLater(udp) || isLater(tcp)) ? await knownServers(outputs) : [];
  const configuration = () =>
    formatConfiguration({
      scanId,
      given: lastingOptions(job.given, chosen.seed, optionsOf("scan")),
      found: job.found,
      responders,
      order: orderDigest(job.named.targets, chosen),
    });
  return await openNewScan(openOptions, { place, append, responders, configuration });
}

/** The servers that an earlier run of this scan has written to the outputs. */
async function knownServers(outputs: readonly OutputPlan[]): Promise<Endpoint[]> {
  const lists = outputs.filter(({ readable }) => readable)
    .map(({ path, format }) => readEndpoints(userPath(path), format.name));
  return (await Promise.all(lists)).flat();
}
