/**
 * Opens what a prepared scan needs: sockets, databases, outputs, the checkpoint.
 *
 * @module
 */
import { pendingProbes } from "../engines/scan_rates.ts";
import type { Endpoint } from "../../core/address.ts";
import { beganAt, newState, type ScanState } from "../../scan/mod.ts";
import type { SendGate } from "../../net/mod.ts";
import { isLater } from "../../sweep/mod.ts";
import type { Sink } from "../../sinks/sink.ts";
import { connectionEnvironment } from "../options/connection_environment.ts";
import type { ScanDatabases } from "./scan_databases.ts";
import {
  type Capacity,
  capacityFor,
  closeSockets,
  openScanSockets,
  requireDescriptors,
  type Sockets,
} from "../engines/scan_sockets.ts";
import { userPath } from "../environment.ts";
import { formatConfig } from "../options/config_file.ts";
import { optionsOf } from "../options/option_table.ts";
import { whileRead } from "../outputs/closed_pipe.ts";
import type { OutputPlan } from "../outputs/plan_outputs.ts";
import {
  type OpenedScan,
  openNewScan,
  openResumedScan,
  type OpenScanOptions,
} from "../resume/open_with_checkpoint.ts";
import { resumeLine } from "../resume/read_resumed_scan.ts";
import { formatConfiguration } from "../resume/scan_configuration.ts";
import { newScanId, randomBytes } from "../system_random.ts";
import { familiesOf } from "../../targets/compose.ts";
import { addressesOf } from "../targets/scan_addresses.ts";
import { configurationOf, type PreparedScan } from "./prepare_scan.ts";
import type { WritePlan } from "./read_scan.ts";

/**
 * Minimum number of descriptors besides outputs: checkpoint, list, a spill file, and some
 * connections.
 */
const LEAST = 10;

/** The sockets of a scan, and how many more it may open. */
export interface OpenedSockets {
  readonly sockets: Sockets;
  readonly capacity: Capacity;
}

/**
 * Opens the shared sockets, and divides the descriptors that are left.
 *
 * @param opened Closes the sockets, if the scan does not begin.
 * @param gate The gate of their datagrams. Default: none.
 */
export async function openSockets(
  scan: PreparedScan,
  { outputs, databases }: WritePlan,
  opened: AsyncDisposableStack,
  gate?: SendGate,
): Promise<OpenedSockets> {
  const { options, choice, limits, named: { targets }, engine, threads, context } = scan;
  const sockets = await openScanSockets(targets, { ...options, threads }, engine, gate);
  opened.defer(() => closeSockets(sockets));
  if (context.network !== undefined) {
    const capacity = {
      connections: limits.concurrency,
      pendingProbes: pendingProbes(limits, engine.name),
      exclusiveSockets: Infinity,
    };
    return { sockets, capacity };
  }
  const needed = LEAST + outputs.length + 4 * databases.locations.length;
  await requireDescriptors(targets, options, needed);
  const { protocols } = choice;
  const usesTcp = protocols.some(({ transport }) => transport === "tcp");
  const isFramed = engine.route !== undefined && !familiesOf(targets).includes(6);
  const needs = {
    connections: usesTcp ? limits.concurrency : 0,
    pendingProbes: Math.min(
      pendingProbes(limits, isFramed || engine.route === undefined ? engine.name : "udp"),
      Math.max(0, ...scan.plan.passes.tcp.probes),
    ),
    files: needed,
  };
  const probeMs = isFramed ? undefined : limits.portWaitMs;
  const capacity = await capacityFor(targets, options, needs, probeMs, scan.report);
  return { sockets, capacity };
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

export type ScanIdentity = Pick<StartedScan, "scanId" | "key">;

/**
 * Starts a new scan, or a further run of one.
 *
 * @param identity Id and key of a scan of which this is a part. Default: those of the checkpoint, or
 * new ones.
 */
export function startScan(
  { resumed, engine, network: { clock } }: PreparedScan,
  identity = identityOf(resumed),
): StartedScan {
  const { scanId, key } = identity ?? { scanId: newScanId(clock.wall()), key: randomBytes(8) };
  const since = identity === undefined ? clock.wall() : beganAt(scanId);
  const state = { ...newState(scanId, clock.now()), engine: engine.name };
  return { scanId, since, key, state };
}

function identityOf(resumed: PreparedScan["resumed"]): ScanIdentity | undefined {
  if (resumed === undefined) return undefined;
  const { scanId, key } = resumed.checkpoint;
  return { scanId, key: Uint8Array.fromHex(key) };
}

/**
 * Opens the databases among the outputs.
 *
 * @returns `undefined` if there are none. The code of databases is not loaded then.
 */
export async function openDatabases(
  scan: PreparedScan,
  { databases, files }: WritePlan,
  scanId: string,
  { signal, isBesidePolls }: {
    readonly signal: AbortSignal;
    /** See `RunOptions.isBesidePolls`. */
    readonly isBesidePolls: boolean | undefined;
  },
): Promise<ScanDatabases | undefined> {
  const { resumed, report, network: { clock }, context: { warn } } = scan;
  if (databases.locations.length === 0) return undefined;
  const loaded = await import("./scan_databases.ts");
  const stores = await loaded.ScanDatabases.open(databases, {
    spill: loaded.spillPath(files.outputs, scanId),
    report,
    scope: { ...loaded.queriedProtocolsOf(scan), isContinuous: isBesidePolls },
    environment: connectionEnvironment(warn),
    clock,
    signal,
    resumed: resumed !== undefined,
  });
  // If the earlier run was killed, its opt-outs are not in the databases yet.
  resumed?.writtenRows.optedOut.forEach((address) => stores.optOut(address));
  return stores;
}

export interface ScanOutputs {
  /** The open outputs and the checkpoint. */
  readonly openedScan: OpenedScan;
  /** The outputs. Each is closed on its own when its reader closes the pipe. */
  readonly sinks: readonly Sink[];
  /** The outputs whose readers closed the pipe. */
  readonly unread: ReadonlySet<number>;
}

/**
 * Opens outputs and checkpoint.
 *
 * @param opened Closes them, if the scan does not begin.
 */
export async function openScanOutputs(
  scan: PreparedScan,
  writes: WritePlan,
  { state, key }: StartedScan,
  stores: ScanDatabases | undefined,
  opened: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<ScanOutputs> {
  const { resumed, plan, report } = scan;
  const openedScan = await openOutputsAndCheckpoint(scan, writes, {
    state,
    key,
    stores: stores?.sinks ?? [],
    opened,
    signal,
  });
  const { sinks, unread } = whileRead(openedScan.sinks, writes.outputs, report);
  if (resumed !== undefined) report(resumeLine(resumed, state.written, plan));
  return { openedScan, sinks, unread };
}

/** Records the start of the scan, or of a further run of it, in databases. */
export async function recordStart(
  scan: PreparedScan,
  { scanId, since }: StartedScan,
  stores: ScanDatabases | undefined,
): Promise<void> {
  if (stores === undefined) return;
  const { resumed, given, network } = scan;
  await stores.begin({
    id: scanId,
    at: since,
    runAt: resumed === undefined ? since : network.clock.wall(),
    config: formatConfig("scan", given),
    addresses: {
      ...addressesOf(scan.found, scan.whole, [...scan.named.optedOut, ...stores.optedOut]),
      sampled: scan.adaptive !== undefined,
    },
  });
}

/** Opens outputs and checkpoint, for a new or a resumed scan. */
async function openOutputsAndCheckpoint(
  scan: PreparedScan,
  { outputs, checkpoint: location }: WritePlan,
  { key, ...given }: Pick<OpenScanOptions, "state" | "stores" | "opened" | "signal"> & {
    readonly key: Uint8Array;
  },
): Promise<OpenedScan> {
  const { options, resumed, report, context, network, selection } = scan;
  const { seed = null, shard = { index: 1, count: 1 }, from } = selection.order;
  const { scanId } = given.state;
  const identity = {
    program: context.program,
    scanId,
    seed,
    key: key.toHex(),
    shard: `${shard.index}/${shard.count}`,
  };
  const openOptions = {
    ...given,
    writeRows: context.writeRows,
    outputs,
    from,
    clock: network.clock,
    identity,
    report,
    warn: context.warn,
  };
  if (resumed !== undefined) return await openResumedScan(openOptions, resumed);
  const { append } = options;
  const isLaterStart = isLater(from.udp) || isLater(from.tcp);
  const responders = append && isLaterStart ? await knownServers(outputs) : [];
  const configuration = () =>
    formatConfiguration(configurationOf(scan, scanId, optionsOf("scan"), responders));
  return await openNewScan(openOptions, { location, append, responders, configuration });
}

/** The servers that an earlier run of this scan has written to the outputs. */
async function knownServers(outputs: readonly OutputPlan[]): Promise<Endpoint[]> {
  const { readEndpoints } = await import("../../sinks/read_endpoints.ts");
  const lists = outputs.filter(({ readable }) => readable)
    .map(({ path, format }) => readEndpoints(userPath(path), format.name));
  return (await Promise.all(lists)).flat();
}
