/**
 * The request for a scan, from the command line and the checkpoint. Nothing is looked up or opened.
 *
 * @module
 */
import { InputError } from "../../../core/errors.ts";
import type { Protocol } from "../../../protocols/protocol.ts";
import { type DatabasePlan, planDatabases } from "../../../app/databases/scan_databases.ts";
import { withoutSecrets } from "../../../app/databases/connection_environment.ts";
import { outputPaths, type OutputPlan, planOutputs } from "../../../app/outputs/plan_outputs.ts";
import { checkApart, type WrittenFiles } from "../../../app/outputs/path_conflicts.ts";
import { ROW_ORDERS } from "../../../app/outputs/sorting_sink.ts";
import type { Resumed } from "../../../app/resume/read_resumed_scan.ts";
import type { GivenOptions } from "../../../app/options/given_options.ts";
import { type ScanSettings, scanSettings } from "../../../app/settings/scan_settings.ts";
import { type OptionsOf, optionsOf } from "../../../app/options/option_table.ts";
import { readOptions } from "../../../app/options/read_options.ts";
import { outputColumns } from "../../term/console.ts";

/** The options of a scan, and the settings that follow from them. */
export interface ScanRequest {
  readonly options: OptionsOf<"scan">;
  /** The options as the user wrote them, without secrets. */
  readonly given: GivenOptions;
  readonly chosen: ScanSettings;
  readonly outputs: readonly OutputPlan[];
  readonly databases: DatabasePlan;
  readonly files: WrittenFiles;
  /** The scan that is resumed; `undefined`: a new scan. */
  readonly resumed: Resumed | undefined;
}

/**
 * Reads the options of a scan.
 *
 * @param secret Words and options, perhaps with passwords of databases.
 * @throws InputError for options that cannot be used, and for files that would be written twice.
 */
export function readRequest(
  secret: GivenOptions,
  resumed: Resumed | undefined,
  allProtocols: readonly Protocol[],
): ScanRequest {
  const options = readOptions("scan", secret, allProtocols);
  const given = withoutSecrets(secret, optionsOf("scan"));
  const databases = planDatabases(options);
  const chosen = { ...scanSettings(options, randomSeed), ...startOf(resumed) };
  const order = options.sort && ROW_ORDERS[options.sort];
  const outputs = planOutputs(options, outputColumns(), undefined, order);
  const files = {
    outputs: outputPaths(options, outputs),
    status: options.statusFile,
    metadata: options.metadataFile,
    checkpoint: options.checkpoint,
  };
  checkApart(files);
  if (options.json && !options.dryRun && !options.listTargets) {
    throw new InputError(
      "Cannot use --json without --dry-run or --list-targets: rows are JSON with --format ndjson",
    );
  }
  return { options, given, chosen, outputs, databases, files, resumed };
}

/** The position at which a resumed scan starts. */
function startOf(resumed?: Resumed): Partial<Pick<ScanSettings, "from" | "fromTcp">> {
  if (resumed === undefined) return {};
  const { udp, tcp } = resumed.checkpoint.marks;
  return { from: udp, fromTcp: tcp };
}

function randomSeed(): number {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return (high & 0x1fffff) * 2 ** 32 + low;
}
