/**
 * The scan of one part of a campaign.
 *
 * @module
 */
import { type OptionsOf, readOptions } from "../app/options/mod.ts";
import {
  readTextFiles,
  scanChoice,
  type ScanCommandOptions,
  type ScanContext,
  type ScanRequest,
} from "../app/scan/mod.ts";
import { randomSeed } from "../app/mod.ts";
import { findExclusions } from "../app/targets/mod.ts";
import type { Lookups } from "../app/names/mod.ts";
import type { Marks } from "../scan/mod.ts";
import type { Range } from "../targets/ranges.ts";
import type { Spec } from "./spec.ts";

type WorkOptions = OptionsOf<"campaign work">;

/** The options of a worker that its scans use in place of those of the submitter. */
export type WorkerChoice = Pick<
  WorkOptions,
  "engine" | "interface" | "gatewayMac" | "sourceIp" | "optOutFile" | "quiet"
>;

export interface PartToScan {
  /** The number of the part, from 1. */
  readonly part: number;
  /** The positions up to which earlier workers have scanned it. */
  readonly from: Marks;
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
