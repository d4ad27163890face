/**
 * The scan command.
 *
 * @module
 */
import project from "../../../../deno.json" with { type: "json" };
import { InputError } from "../../../core/errors.ts";
import type { Protocol } from "../../../protocols/protocol.ts";
import { readCheckpoint } from "../../../scan/checkpoint/checkpoint_file.ts";
import { requirePorts } from "../../../scan/require_ports.ts";
import { systemDisk } from "../../../sinks/file_operations.ts";
import type { Range } from "../../../targets/ranges.ts";
import { connectionEnvironment } from "../../../app/databases/connection_environment.ts";
import { EXIT } from "../../../app/exit_codes.ts";
import { readArgs } from "../../options/parse_arguments.ts";
import type { GivenOptions } from "../../../app/settings/given_options.ts";
import { type OptionsOf, optionsOf } from "../../options/option_table.ts";
import { readOptions } from "../../options/read_options.ts";
import { formatConfig, mergeOptions, parseConfig } from "../../options/config_file.ts";
import { fullPath, orderDigest } from "../../../app/resume/scan_configuration.ts";
import { outputColumns, print, tellError, tellLine } from "../../term/console.ts";
import { readTextFile, userPath } from "../../../app/environment.ts";
import { planLines } from "./dry_run.ts";
import { printTargets } from "./target_list.ts";
import { chooseEngine } from "../../../app/engines/choose_engine.ts";
import { execute } from "./run.ts";
import { checkApart, refuseFiles } from "../../../app/outputs/path_conflicts.ts";
import { checkpointPlace } from "../../../app/resume/open_with_checkpoint.ts";
import { groundsOf } from "../../../app/engines/load_engines.ts";
import { haveService } from "../../../app/targets/name_lookup.ts";
import { OptOutFile } from "../../../app/targets/opt_out_file.ts";
import { ROW_ORDERS } from "../../../app/outputs/sorting_sink.ts";
import { outputPaths, planOutputs } from "../../../app/outputs/open_outputs.ts";
import { planScan, requirePermission, scanSelectionOf } from "../../../app/targets/scan_plan.ts";
import { resolveName, serviceFinder } from "../../../app/targets/dns_lookup.ts";
import { knownToRescan, type RescanServers } from "../../../app/targets/rescan_targets.ts";
import { checkMarks, readResumed, type Resumed } from "../../../app/resume/read_resumed_scan.ts";
import { type ScanSettings, scanSettings, speedFor } from "../../../app/settings/scan_settings.ts";
import { planDatabases } from "../../../app/databases/scan_databases.ts";
import { withoutSecrets } from "../../../app/databases/connection_environment.ts";
import {
  composeTargets,
  findTargets,
  type FoundTargets,
  type NamedText,
} from "../../../app/targets/find_targets.ts";

/** Runs `scan`; returns the exit code. */
export async function runScanCommand(
  args: readonly string[],
  allProtocols: readonly Protocol[],
): Promise<number> {
  const given = await readGiven(args);
  const [path] = given.given.get("resume") ?? [];
  if (path === undefined) return await runWith(given, "resumable", allProtocols);
  const checkpoint = await readCheckpoint(
    systemDisk,
    userPath(path),
    project.version,
    allProtocols,
  );
  const allowed = optionsOf("scan");
  const line = withoutSecrets(given, allowed);
  const resumed = await readResumed(path, checkpoint, line, allowed, allProtocols);
  return await runWith(withPasswords(resumed.given, given), resumed, allProtocols);
}

/** The options of a resumed scan, with the passwords of databases that the command line has. */
function withPasswords(resumed: GivenOptions, { given }: GivenOptions): GivenOptions {
  const output = given.get("output");
  return output === undefined
    ? resumed
    : { ...resumed, given: new Map([...resumed.given, ["output", output.map(fullPath)]]) };
}

/**
 * Runs a scan that cannot be resumed, for what it scans does not outlive the process: it keeps no
 * checkpoint, and prints no command to continue with.
 *
 * @returns The exit code.
 */
export async function runPassingScan(
  args: readonly string[],
  allProtocols: readonly Protocol[],
): Promise<number> {
  return await runWith(await readGiven(args), "passing", allProtocols);
}

/**
 * Runs a scan.
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
  const options = readOptions("scan", secret, allProtocols);
  const given = withoutSecrets(secret, optionsOf("scan"));
  const stores = planDatabases(options);
  const chosen = { ...scanSettings(options, randomSeed, allProtocols), ...startOf(resumed) };
  const order = options.sort && ROW_ORDERS[options.sort];
  const outputs = planOutputs(options, outputColumns(), undefined, allProtocols, order);
  const files = {
    outputs: outputPaths(options, outputs),
    status: options.statusFile,
    metadata: options.metadataFile,
    checkpoint: options.checkpoint,
  };
  checkApart(files);
  if (options.echoConfig) {
    await print(formatConfig("scan", given));
    return EXIT.done;
  }
  const optOuts = new OptOutFile(options.optOutFile, tellLine);
  const found = resumed?.configuration.found ??
    await lookUpTargets(
      given.words,
      options,
      chosen,
      () => knownToRescan(options, stores.places, connectionEnvironment(tellLine), allProtocols),
    );
  const named = composeTargets(found, [...await optOuts.read(), ...optedOutOf(resumed)]);
  const { targets } = named;
  if (resumed !== undefined && orderDigest(targets, chosen) !== resumed.configuration.order) {
    throw new InputError(
      `Cannot resume "${resumed.path}": this program's default ports, or the addresses that are ` +
        "never probed, differ from those of the scan",
    );
  }
  if (options.ports === undefined) {
    requirePorts(
      targets,
      chosen.protocols,
      chosen.ports,
      "name ports with --ports, as -p 9000-9100",
    );
  }
  const speed = speedFor(targets, chosen);
  const { limits, autoRate } = speed;
  const fastest = { ...limits, rate: autoRate?.most ?? limits.rate };
  const selection = scanSelectionOf(chosen, named);
  const plan = planScan({ ...selection, limits: { retries: chosen.retries, rates: fastest } });
  checkMarks({ udp: chosen.from, tcp: chosen.fromTcp }, plan.passes, resumed?.path);
  if (options.listTargets) {
    await printTargets(selection, chosen.retries);
    return EXIT.done;
  }
  const tell = options.quiet ? () => {} : tellLine;
  const grounds = groundsOf(targets, chosen, options.dryRun);
  const engine = await chooseEngine(chosen.engine, grounds, tell);
  const written = [...outputs, ...stores.places];
  const lines = planLines(plan, named, chosen, speed, written, engine);
  if (options.dryRun) {
    await print(lines.join("\n"));
    return EXIT.done;
  }
  requirePermission(targets, plan, options.iHavePermission);
  if (options.verbose) lines.forEach(tellLine);
  const place = origin === "resumable"
    ? checkpointPlace(files.checkpoint, files.outputs)
    : undefined;
  const resumable = origin !== "passing";
  const job = {
    options,
    given,
    chosen,
    engine,
    speed,
    named,
    plan,
    outputs,
    stores,
    files,
    optOuts,
  };
  return await execute({ ...job, found, place, resumed, resumable, program: project.version });
}

/** The position at which a resumed scan starts. */
function startOf(resumed?: Resumed): Partial<Pick<ScanSettings, "from" | "fromTcp">> {
  if (resumed === undefined) return {};
  const { udp, tcp } = resumed.checkpoint.marks;
  return { from: udp, fromTcp: tcp };
}

function optedOutOf(resumed?: Resumed): Range[] {
  return (resumed?.left.optedOut ?? []).map((start) => ({
    start,
    end: typeof start === "number" ? start + 1 : start + 1n,
  }));
}

async function readGiven(args: readonly string[]): Promise<GivenOptions> {
  const line = readArgs("scan", args);
  const [path] = line.given.get("config") ?? [];
  if (path === undefined) return line;
  return mergeOptions(parseConfig("scan", await readTextFile(path), `"${path}"`), line);
}

async function lookUpTargets(
  given: readonly string[],
  options: OptionsOf<"scan">,
  { protocols, allProtocols }: ScanSettings,
  readKnown: () => Promise<RescanServers>,
): Promise<FoundTargets> {
  const words = given.filter((word) => word !== "-");
  const paths = [...options.inputFile, ...given.filter((word) => word === "-")];
  if (paths.filter((path) => path === "-").length > 1) {
    throw new InputError("Cannot read targets from standard input twice");
  }
  refuseFiles(words);
  const note = options.quiet ? () => {} : tellError;
  return await findTargets({
    words,
    files: await readAll(paths),
    exclude: options.exclude,
    excludeFiles: await readAll(options.excludeFile),
    known: await readKnown(),
    allProtocols,
  }, {
    resolve: (name) => resolveName(name, allProtocols),
    findService: options.ports === undefined && haveService(protocols)
      ? serviceFinder({ note })
      : undefined,
    note,
    allowPrivate: options.allowPrivate,
  });
}

async function readAll(paths: readonly string[]): Promise<NamedText[]> {
  return await Promise.all(paths.map(async (path) => ({
    text: await readTextFile(path),
    source: path === "-" ? "standard input" : path,
  })));
}

function randomSeed(): number {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return (high & 0x1fffff) * 2 ** 32 + low;
}
