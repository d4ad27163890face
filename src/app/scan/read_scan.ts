/**
 * Reads the options of a scan, and the checkpoint of a scan to resume. Nothing is looked up or opened.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { readCheckpoint, writtenRowsPath } from "../../scan/mod.ts";
import { systemDisk } from "../../sinks/file_operations.ts";
import type { CallContext } from "../network/call_context.ts";
import { withoutSecrets } from "../options/connection_environment.ts";
import { type DatabasePlan, planDatabases } from "../databases/database_plan.ts";
import { userPath } from "../environment.ts";
import type { GivenOptions } from "../options/given_options.ts";
import { optionsOf } from "../options/option_table.ts";
import { readOptions, refuseDatabaseUrls } from "../options/read_options.ts";
import type { OpenOutputsOptions } from "../outputs/open_outputs.ts";
import { checkFilesApart, type WrittenFiles } from "../options/path_conflicts.ts";
import { outputPaths, type OutputPlan, planOutputs } from "../outputs/plan_outputs.ts";
import { ROW_ORDERS } from "../outputs/sorting_sink.ts";
import { type CheckpointLocation, chooseCheckpoint } from "../resume/open_with_checkpoint.ts";
import { readResumed, type Resumed } from "../resume/read_resumed_scan.ts";
import { type Configuration, fullPath } from "../resume/scan_configuration.ts";
import { type Range, rangeOfOne } from "../../targets/ranges.ts";
import { randomSeed } from "../system_random.ts";
import { loadScanWebhook } from "../webhooks/load_scan_webhook.ts";
import type { WebhookSetup } from "../webhooks/open_webhook.ts";
import { type ScanChoice, scanChoice, type ScanCommandOptions } from "./scan_choice.ts";

/** What a scan uses besides its options. */
export interface ScanContext extends CallContext {
  /** The version of the program, which checkpoints contain. */
  readonly program: string;
  /** Columns of the terminal at standard output. Default: there is no terminal. */
  readonly terminal?: number;
  /** Whether the caller takes the rows, so that a scan without outputs prints none. Default: no. */
  readonly takesRows?: boolean;
  /** Writes some of the bytes of rows to standard output, and returns their number. */
  readonly writeRows: OpenOutputsOptions["writeRows"];
}

const OUTPUT_OPTIONS = ["output", "oD", "oJ", "oG", "oL"];

/** What to scan. Nothing is looked up yet. */
export interface ScanRequest {
  readonly options: ScanCommandOptions;
  /** Words and options as they were given, without secrets. */
  readonly given: GivenOptions;
  /** The protocols, the ports and the order. */
  readonly choice: ScanChoice;
  /** The scan that is resumed. Default: it is a new scan. */
  readonly resumed?: Resumed;
  /**
   * The configuration that the targets are taken from: that of a checkpoint or of a campaign. Default:
   * the targets are looked up.
   */
  readonly saved?: Configuration;
  /** Addresses that opted out, besides those in the opt-out file. Default: none. */
  readonly optedOut?: readonly Range[];
  readonly context: ScanContext;
}

/** Where a scan writes. Nothing is open yet. */
export interface WritePlan {
  readonly outputs: readonly OutputPlan[];
  readonly databases: DatabasePlan;
  readonly files: WrittenFiles;
  /** The checkpoint of a new scan; `undefined`: none. */
  readonly checkpoint: CheckpointLocation | undefined;
  /** Whether the scan can be resumed after an interruption. */
  readonly resumable: boolean;
  /** The webhook, with its secrets. Default: there is none. */
  readonly webhook?: WebhookSetup;
}

/** A scan that writes nothing: its rows go to its caller alone. */
export const WRITES_NOTHING: WritePlan = {
  outputs: [],
  databases: { locations: [], downAfter: Infinity },
  files: { outputs: [] },
  checkpoint: undefined,
  resumable: false,
};

/**
 * A scan whose options were read. The list of rows of a resumed scan is open: the caller disposes of
 * it, also after the scan.
 */
export interface ReadScan {
  readonly request: ScanRequest;
  readonly writes: WritePlan;
}

/**
 * Reads the options of a scan, and the checkpoint that they name.
 *
 * @param secret Words and options, perhaps with passwords of databases.
 * @param isPassing Whether the scan cannot be resumed, because its targets exist only in this process.
 * It keeps no checkpoint.
 * @throws InputError for options that cannot be used, and for files that would be written twice. Nothing
 * is open then.
 */
export async function readScan(
  secret: GivenOptions,
  context: ScanContext,
  isPassing = false,
): Promise<ReadScan> {
  await using opening = new AsyncDisposableStack();
  const resumed = await readOrigin(secret, context);
  if (resumed !== undefined) opening.use(resumed.writtenRows);
  const read = await readNewOrResumed(secret, context, resumed, isPassing);
  opening.move();
  return read;
}

/** Reads the options of a new or a resumed scan. */
async function readNewOrResumed(
  secret: GivenOptions,
  context: ScanContext,
  resumed: Resumed | undefined,
  isPassing: boolean,
): Promise<ReadScan> {
  const written = resumed === undefined ? secret : withPasswords(resumed, secret);
  const options: ScanCommandOptions = readOptions("scan", written, context);
  const databases = planDatabases(options);
  const choice = await choiceOf(options, resumed);
  const order = options.sort && ROW_ORDERS[options.sort]();
  const isNamed = OUTPUT_OPTIONS.some((name) => written.given.has(name));
  const outputs = context.takesRows && !isNamed
    ? []
    : planOutputs({ ...options, takesDatabases: true }, context.terminal, undefined, order);
  const files: WrittenFiles = {
    outputs: outputPaths(options, outputs),
    status: options.statusFile,
    metadata: options.metadataFile,
    checkpoint: options.checkpoint,
  };
  if (options.json && !options.dryRun && !options.listTargets) {
    throw new InputError(
      "Cannot use --json without --dry-run or --list-targets: rows are JSON with --format ndjson",
    );
  }
  const isNew = resumed === undefined && !isPassing;
  const checkpoint = isNew ? chooseCheckpoint(files.checkpoint, files.outputs) : undefined;
  checkFilesApart("scan", { ...written, ...context, written: checkpointFiles(checkpoint) });
  return {
    request: {
      options,
      given: withoutSecrets(written, optionsOf("scan")),
      choice,
      resumed,
      saved: resumed?.configuration,
      optedOut: resumed?.writtenRows.optedOut.map(rangeOfOne),
      context,
    },
    writes: {
      outputs,
      databases,
      files,
      checkpoint,
      resumable: !isPassing,
      webhook: await loadScanWebhook(options, databases.locations, context.note),
    },
  };
}

/** The files of a checkpoint that no option names. */
function checkpointFiles(location: CheckpointLocation | undefined): string[] {
  if (location === undefined) return [];
  return [...location.named ? [] : [location.path], writtenRowsPath(location.path)];
}

/** The choice of a new or a resumed scan, which may be adaptive. */
async function choiceOf(
  options: ScanCommandOptions,
  resumed: Resumed | undefined,
): Promise<ScanChoice> {
  const { adaptive, budget, stopBelow, known, netBudget } = options;
  // an adaptive scan continues with the pass after those that its list records
  const start = adaptive ? undefined : resumed?.checkpoint.marks;
  const choice = scanChoice(options, randomSeed, start);
  if (adaptive) return (await import("./adaptive_choice.ts")).adaptiveChoice(options, choice);
  const given = { "budget": budget, "stop-below": stopBelow, known, "net-budget": netBudget };
  const [name] = Object.entries(given).find(([, value]) => value !== undefined) ?? [];
  if (name === undefined) return choice;
  throw new InputError(`Cannot use --${name} without --adaptive`);
}

/** Reads the scan that the option `resume` names. */
async function readOrigin(
  secret: GivenOptions,
  { program, allProtocols, nameOf }: ScanContext,
): Promise<Resumed | undefined> {
  const [path] = secret.given.get("resume") ?? [];
  if (path === undefined) return undefined;
  refuseDatabaseUrls(nameOf("resume"), [path]);
  const checkpoint = await readCheckpoint(systemDisk, userPath(path), program, allProtocols);
  const allowed = optionsOf("scan");
  const line = withoutSecrets(secret, allowed);
  return await readResumed(path, checkpoint, line, allowed, allProtocols);
}

/** The options of a resumed scan, with the passwords of databases and the webhook of the new options. */
function withPasswords({ given: resumed }: Resumed, { given }: GivenOptions): GivenOptions {
  const [output, webhook] = [given.get("output"), given.get("webhook")];
  const merged = new Map(resumed.given);
  if (output !== undefined) merged.set("output", output.map(fullPath));
  if (webhook !== undefined) merged.set("webhook", webhook);
  return { ...resumed, given: merged };
}
