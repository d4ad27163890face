/**
 * Runs a discovery on the local networks, and writes what it finds to files and databases.
 *
 * @module
 */
import { serverId, type ServerRecord } from "../../core/record.ts";
import type { FoundServers, LanEnd } from "../../scan/lan/mod.ts";
import type { ScanEndRow, ScanProgressRow } from "../../store/mod.ts";
import { type DatabasePlan, planDatabases } from "../databases/database_plan.ts";
import { formatConfig } from "../options/config_file.ts";
import { connectionEnvironment, withoutSecrets } from "../options/connection_environment.ts";
import type { GivenOptions } from "../options/given_options.ts";
import { type OptionsOf, optionsOf } from "../options/option_table.ts";
import { FoundRows } from "../outputs/found_rows.ts";
import type { OpenOutputsOptions } from "../outputs/open_outputs.ts";
import { outputPaths, type OutputPlan } from "../outputs/plan_outputs.ts";
import type { ScanDatabases } from "../scan/scan_databases.ts";
import { DEFAULTS } from "../settings/defaults.ts";
import { newScanId } from "../system_random.ts";
import type { WebhookSetup } from "../webhooks/open_webhook.ts";
import {
  closeLoadedWebhook,
  loadScanWebhook,
  openLoadedWebhook,
} from "../webhooks/load_scan_webhook.ts";
import {
  discoverServers,
  type PreparedDiscovery,
  type RunDiscoveryOptions,
} from "./discover_servers.ts";

/** Where a discovery writes. Nothing is open yet. */
export interface LanWrites {
  readonly outputs: readonly OutputPlan[];
  readonly databases: DatabasePlan;
  /** Words and options as they were given, without secrets. */
  readonly given: GivenOptions;
  /** The folder of the first of these files gets the spill files. */
  readonly files: readonly string[];
  readonly append: boolean;
  /** The webhook, with its secrets; `undefined`: there is none. */
  readonly webhook: WebhookSetup | undefined;
}

/**
 * Where a discovery writes, by its options.
 *
 * @param warn Receives a line for a file of secrets that other users can read.
 * @throws InputError for a URL of a database, and for a webhook, that cannot be used.
 */
export async function planLanWrites(
  options: OptionsOf<"lan">,
  outputs: readonly OutputPlan[],
  secret: GivenOptions,
  warn: (message: string) => void,
): Promise<LanWrites> {
  const { output } = options;
  const { downAfter } = DEFAULTS.scan; // no server is missed: a discovery does not ask each one
  const databases = planDatabases({ ...options, downAfter });
  return {
    outputs,
    databases,
    given: withoutSecrets(secret, optionsOf("lan")),
    files: outputPaths({ output }, outputs),
    append: options.append,
    webhook: await loadScanWebhook(options, databases.locations, warn),
  };
}

export interface WrittenDiscoveryOptions
  extends
    Pick<RunDiscoveryOptions, "continuous" | "listenMs" | "sweepMs" | "signal" | "shortage">,
    Pick<OpenOutputsOptions, "writeRows"> {
  /** The list that receives the servers. */
  readonly servers: FoundServers;
  /** Prints a line for the user. */
  readonly report: (line: string) => void;
  /** Called when everything is open, before the first probe. */
  readonly begin: () => void;
}

export interface WrittenDiscovery extends LanEnd {
  /** Number of servers that were found. */
  readonly found: number;
  /** The numbers of the webhook's events, in words; `undefined`: there was no webhook. */
  readonly delivery: string | undefined;
}

/**
 * Discovers servers until the time is up. Files get each server when it is found. Databases also get later
 * records that differ.
 *
 * @throws InputError, WriteError and StoreError for outputs and databases that cannot be written.
 */
export async function runDiscovery(
  prepared: PreparedDiscovery,
  writes: LanWrites,
  options: WrittenDiscoveryOptions,
): Promise<WrittenDiscovery> {
  const { clock } = prepared.network;
  const since = Math.round(clock.wall());
  const scanId = newScanId(since);
  const { signal, report, begin, writeRows, ...run } = options;
  await using stores = await openDatabases(writes, prepared, scanId, options);
  await using rows = await FoundRows.open(writes.outputs, writes.append, { writeRows, report });
  const stored = new FoundRows(stores?.sinks ?? []);
  const config = formatConfig("lan", writes.given);
  await stores?.begin({ id: scanId, kind: "lan", at: since, config });
  const { databases: { locations }, webhook } = writes;
  const { allProtocols } = prepared.options;
  const hookOf = { scanId, locations, allProtocols, warn: report };
  await using hook = await openLoadedWebhook(webhook, hookOf);
  const counts = { sent: 0, replies: 0 };
  const found = new Set<string>();
  const progress = (): ScanProgressRow => ({
    id: scanId,
    probesSent: counts.sent,
    replies: counts.replies,
    found: found.size,
  });
  const heartbeat = stores?.keepProgress(progress);
  begin();
  let state: ScanEndRow["state"] = "failed";
  const faults: unknown[] = [];
  const attempt = async <T>(work: () => Promise<T> | undefined): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      faults.push(error);
    }
  };
  const end = await attempt(() =>
    discoverServers(prepared, {
      ...run,
      scanId,
      counts,
      optedOut: stores?.optedOut,
      attach: stores !== undefined,
      signal: AbortSignal.any([signal, rows.signal, stored.signal]),
      onServer: (record) => {
        found.add(serverId(record));
        void rows.add(record);
        store(record);
      },
      onChange: store,
    })
  );
  function store(record: ServerRecord): void {
    if (stores !== undefined) void stored.add(record);
  }
  await attempt(() => rows.close());
  await attempt(() => stored.written());
  if (faults.length === 0) state = signal.aborted && !run.continuous ? "interrupted" : "finished";
  await heartbeat?.[Symbol.asyncDispose]();
  await attempt(() => stores?.end({ ...progress(), since, state }));
  const delivery = await closeLoadedWebhook(hook);
  const [fault, ...others] = faults;
  for (const other of others) {
    if (other !== fault) report(`blocksweep: ${(other as Error).message}`);
  }
  if (faults.length > 0) throw fault;
  return { ...end!, found: found.size, delivery };
}

/** Opens the databases among the outputs. Their code is not loaded if there are none. */
async function openDatabases(
  { databases, files }: LanWrites,
  { options: { tag: tags, allProtocols }, network: { clock } }: PreparedDiscovery,
  scanId: string,
  { signal, report }: Pick<WrittenDiscoveryOptions, "signal" | "report">,
): Promise<ScanDatabases | undefined> {
  if (databases.locations.length === 0) return undefined;
  const loaded = await import("../scan/scan_databases.ts");
  return await loaded.ScanDatabases.open(databases, {
    spill: loaded.spillPath(files, scanId),
    report,
    // a server is not queried in each protocol every time: columns of the others keep their values
    scope: { allProtocols, protocols: [], follow: false, verify: false, isContinuous: true, tags },
    environment: connectionEnvironment(report),
    clock,
    signal,
  });
}
