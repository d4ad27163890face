/**
 * The scan command.
 *
 * @module
 */
import project from "../../../../deno.json" with { type: "json" };
import type { Protocol } from "../../../protocols/protocol.ts";
import { readCheckpoint } from "../../../scan/checkpoint/checkpoint_file.ts";
import { systemDisk } from "../../../sinks/file_operations.ts";
import { withoutSecrets } from "../../../app/databases/connection_environment.ts";
import { chooseEngine } from "../../../app/engines/choose_engine.ts";
import { conditionsOf } from "../../../app/engines/load_engines.ts";
import { readTextFile, userPath } from "../../../app/environment.ts";
import { EXIT } from "../../../app/exit_codes.ts";
import { checkpointPlace } from "../../../app/resume/open_with_checkpoint.ts";
import { checkMarks, readResumed, type Resumed } from "../../../app/resume/read_resumed_scan.ts";
import { fullPath } from "../../../app/resume/scan_configuration.ts";
import type { GivenOptions } from "../../../app/options/given_options.ts";
import { fastest, speedFor } from "../../../app/settings/speed.ts";
import type { NamedTargets } from "../../../app/targets/find_targets.ts";
import { OptOutFile } from "../../../app/targets/opt_out_file.ts";
import { planScan } from "../../../app/targets/scan_plan.ts";
import { requirePermission } from "../../../app/targets/require_permission.ts";
import { scanSelectionOf } from "../../../app/settings/scan_selection.ts";
import { formatConfig, mergeOptions, parseConfig } from "../../../app/options/config_file.ts";
import { optionsOf } from "../../../app/options/option_table.ts";
import { readArgs } from "../../options/parse_arguments.ts";
import type { CommandCall } from "../../options/command_line.ts";
import { print, reportLine } from "../../term/console.ts";
import { planLines } from "./dry_run.ts";
import { planJson } from "./plan_json.ts";
import { readRequest, type ScanRequest } from "./request.ts";
import { execute } from "./run.ts";
import { printTargets } from "./target_list.ts";
import { locateTargets } from "./target_lookup.ts";

/** Runs `scan`; returns the exit code. */
export async function runScanCommand(
  { args, allProtocols }: CommandCall,
): Promise<number> {
  const written = await readGiven(args);
  const [path] = written.given.get("resume") ?? [];
  if (path === undefined) return await runWith(written, "resumable", allProtocols);
  const checkpoint = await readCheckpoint(
    systemDisk,
    userPath(path),
    project.version,
    allProtocols,
  );
  const allowed = optionsOf("scan");
  const line = withoutSecrets(written, allowed);
  const resumed = await readResumed(path, checkpoint, line, allowed, allProtocols);
  return await runWith(withPasswords(resumed.given, written), resumed, allProtocols);
}

/** The options of a resumed scan, with the passwords of databases that the command line has. */
function withPasswords(resumed: GivenOptions, { given }: GivenOptions): GivenOptions {
  const output = given.get("output");
  return output === undefined
    ? resumed
    : { ...resumed, given: new Map([...resumed.given, ["output", output.map(fullPath)]]) };
}

/**
 * Runs a scan that cannot be resumed, because its targets exist only in this process. It keeps no
 * checkpoint and prints no command to continue.
 *
 * @returns The exit code.
 */
export async function runPassingScan(
  { args, allProtocols }: CommandCall,
): Promise<number> {
  return await runWith(await readGiven(args), "passing", allProtocols);
}

/**
 * Runs a scan, or prints what it would do.
 *
 * @param secret Words and options, perhaps with passwords of databases.
 * @param origin The scan that is resumed; or whether a new one can be.
 */
async function runWith(
  secret: GivenOptions,
  origin: Resumed | "resumable" | "passing",
  allProtocols: readonly Protocol[],
): Promise<number> {
  const resumed = typeof origin === "object" ? origin : undefined;
  const request = readRequest(secret, resumed, allProtocols);
  const { options, given, chosen, files } = request;
  if (options.echoConfig) return await printAll([formatConfig("scan", given)]);
  const optOuts = new OptOutFile(options.optOutFile, reportLine);
  const located = await locateTargets(request, optOuts);
  const { targets } = located.named;
  const { speed, selection, plan } = planRequest(request, located.named);
  if (options.listTargets) {
    await printTargets(selection, chosen.retries, options.json);
    return EXIT.done;
  }
  const report = options.quiet ? () => {} : reportLine;
  const conditions = conditionsOf(targets, chosen, options.dryRun);
  const engine = await chooseEngine(chosen.engine, conditions, report);
  const written = [...request.outputs, ...request.databases.places];
  const planned = { plan, named: located.named, selection, chosen, speed, written, engine };
  if (options.dryRun) {
    return await printAll(options.json ? [planJson(planned)] : planLines(planned));
  }
  requirePermission(targets, plan, options.iHavePermission);
  if (options.verbose) planLines(planned).forEach(reportLine);
  return await execute({
    ...request,
    ...located,
    selection,
    speed,
    plan,
    engine,
    optOuts,
    place: origin === "resumable" ? checkpointPlace(files.checkpoint, files.outputs) : undefined,
    resumable: origin !== "passing",
    program: project.version,
  });
}

/** Plans a scan over its targets, and checks the position at which it starts. */
function planRequest({ chosen, resumed }: ScanRequest, named: NamedTargets) {
  const speed = speedFor(named.targets, chosen);
  const selection = scanSelectionOf(chosen, named);
  const limits = { retries: chosen.retries, rates: fastest(speed) };
  const plan = planScan({ ...selection, limits });
  checkMarks({ udp: chosen.from, tcp: chosen.fromTcp }, plan.passes, resumed?.path);
  return { speed, selection, plan };
}

/** Prints what a scan would do in place of the scan; returns the exit code. */
async function printAll(lines: readonly string[]): Promise<number> {
  await print(lines.join("\n"));
  return EXIT.done;
}

async function readGiven(args: readonly string[]): Promise<GivenOptions> {
  const line = readArgs("scan", args);
  const [path] = line.given.get("config") ?? [];
  if (path === undefined) return line;
  return mergeOptions(parseConfig("scan", await readTextFile(path), `"${path}"`), line);
}
