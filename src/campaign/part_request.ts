/**
 * The scan of one part of a campaign.
 *
 * @module
 */
import type { OptionsOf } from "../app/options/option_table.ts";
import { readOptions } from "../app/options/read_options.ts";
import { readTextFiles } from "../app/scan/locate_targets.ts";
import type { ScanContext, ScanRequest } from "../app/scan/read_scan.ts";
import { scanChoice, type ScanCommandOptions } from "../app/scan/scan_choice.ts";
import { randomSeed } from "../app/system_random.ts";
import { findExclusions } from "../app/targets/find_targets.ts";
import type { Lookups } from "../app/names/name_lookup.ts";
import type { Marks } from "../scan/setup/low_water_mark.ts";
import type { Range } from "../targets/ranges.ts";
import type { Spec } from "./spec.ts";

/** The options of `campaign work`. */
type WorkOptions = OptionsOf<"campaign work">;

/** The options of a worker that its scans use in place of those of the submitter. */
export type WorkerChoice = Pick<
  WorkOptions,
  "engine" | "interface" | "gatewayMac" | "sourceIp" | "optOutFile" | "quiet"
>;

/** A part that a worker scans. */
export interface PartToScan {
  /** The number of the part, from 1. */
  readonly part: number;
  /** The positions up to which earlier workers have scanned it. */
  readonly from: Marks;
  /** The options of the worker. */
  readonly worker: WorkerChoice;
  /**
   * Ranges that the worker never probes. They keep their positions, as opt-outs do, because the order
   * of the targets must be the same for all workers.
   */
  readonly excluded: readonly Range[];
}

/**
 * What a worker scans of a part. Its rate is the share of one part.
 *
 * @throws InputError for options of the specification that cannot be used, alone or with those of the
 * worker.
 */
export function partRequest(
  { configuration, parts, maxRunning, rate }: Spec,
  { part, from, worker, excluded }: PartToScan,
  context: ScanContext,
): ScanRequest {
  const { engine, interface: name, gatewayMac, sourceIp, optOutFile, quiet } = worker;
  const { words, given } = configuration.given;
  const options: ScanCommandOptions = {
    ...readOptions("scan", configuration.given, context),
    rate: rate === null ? undefined : rate / maxRunning,
    bandwidth: undefined,
    shard: { index: part, count: parts },
    engine,
    interface: name,
    gatewayMac,
    sourceIp,
    optOutFile,
    quiet,
    threads: 0, // a part can be sent from the main thread only
  };
  return {
    options,
    given: { words, given: new Map([...given, ["shard", [`${part}/${parts}`]]]) },
    choice: scanChoice(options, randomSeed, from),
    saved: configuration,
    optedOut: excluded,
    context,
  };
}

/**
 * The ranges that a worker never probes.
 *
 * @throws InputError for a text or file that cannot be read, or a name that is not found.
 */
export async function workerExclusions(
  { exclude, excludeFile }: Pick<WorkOptions, "exclude" | "excludeFile">,
  resolve: Lookups["resolve"],
): Promise<Range[]> {
  const excludeFiles = await readTextFiles(excludeFile);
  return await findExclusions({ exclude, excludeFiles }, resolve);
}
