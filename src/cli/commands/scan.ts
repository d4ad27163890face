/**
 * The scan command.
 *
 * @module
 */
import project from "../../../deno.json" with { type: "json" };
import { InputError } from "../../core/errors.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { readCheckpoint } from "../../scan/checkpoint/checkpoint_file.ts";
import { requirePorts } from "../../scan/require_ports.ts";
import { systemDisk } from "../../sinks/file_operations.ts";
import type { Range } from "../../targets/ranges.ts";
import { connectionEnvironment } from "../../app/databases/connection_environment.ts";
import { EXIT } from "../../app/exit_codes.ts";
import { readArgs } from "../options/parse_arguments.ts";
import { Settings, type Values } from "../../app/settings/option_values.ts";
import { optionsOf } from "../options/option_table.ts";
import { formatConfig, mergeValues, parseConfig } from "../options/config_file.ts";
import { orderDigest } from "../../app/resume/scan_configuration.ts";
import { outputColumns, print, tellError, tellLine } from "../term/console.ts";
import { readTextFile, userPath } from "../../app/environment.ts";
import { planLines, printTargets } from "./scan_dry_run.ts";
import { chooseEngine } from "../../app/engines/choose_engine.ts";
import { execute } from "./scan_run.ts";
import { checkApart, refuseFiles } from "../../app/outputs/path_conflicts.ts";
import { checkpointPlace } from "../../app/resume/open_with_checkpoint.ts";
import { groundsOf } from "../../app/engines/load_engines.ts";
import { haveService } from "../../app/targets/name_lookup.ts";
import { readMetrics } from "../../app/metrics/metrics_server.ts";
import { OptOutFile } from "../../app/targets/opt_out_file.ts";
import { outputPaths, planOutputs } from "../../app/outputs/open_outputs.ts";
import { planScan, requirePermission, selectionOf } from "../../app/targets/scan_plan.ts";
import { resolveName, serviceFinder } from "../../app/targets/dns_lookup.ts";
import { type KnownServers, knownToRescan } from "../../app/targets/rescan_targets.ts";
import { checkMarks, readResumed, type Resumed } from "../../app/resume/read_resumed_scan.ts";
import { readScanSettings, type ScanSettings, speedFor } from "../../app/settings/scan_settings.ts";
import { planDatabases } from "../../app/databases/scan_databases.ts";
import { withoutSecrets } from "../../app/databases/connection_environment.ts";
import {
  composeTargets,
  findTargets,
  type FoundTargets,
  type NamedText,
} from "../../app/targets/find_targets.ts";

/** Runs `scan`; returns the exit code. */
export async function runScan(
  args: readonly string[],
  allProtocols: readonly Protocol[],
): Promise<number> {
  const secret = await readValues(args);
  const given = withoutSecrets(secret);
  const path = new Settings(given).text("resume");
  if (path === undefined) return await runWith(given, secret, "resumable", allProtocols);
  const checkpoint = await readCheckpoint(
    systemDisk,
    userPath(path),
    project.version,
    allProtocols,
  );
  const resumed = await readResumed(path, checkpoint, given, optionsOf("scan"), allProtocols);
  const withSecrets = given.given.has("output") ? secret : resumed.values;
  return await runWith(resumed.values, withSecrets, resumed, allProtocols);
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
  const values = await readValues(args);
  return await runWith(values, values, "passing", allProtocols);
}

/**
 * Runs a scan.
 *
 * @param secret The same, perhaps with passwords of databases.
 * @param origin The scan that is resumed; or whether a new one can be.
 */
async function runWith(
  values: Values,
  secret: Values,
  origin: Resumed | "resumable" | "passing",
  allProtocols: readonly Protocol[],
): Promise<number> {
  const resumed = typeof origin === "object" ? origin : undefined;
  const stores = planDatabases(new Settings(secret));
  const settings = new Settings(values);
  const chosen = { ...readScanSettings(settings, randomSeed, allProtocols), ...startOf(resumed) };
  const outputs = planOutputs(settings, outputColumns(), undefined, allProtocols);
  const files = {
    outputs: outputPaths(new Settings(secret), outputs),
    status: settings.text("status-file"),
    metadata: settings.text("metadata-file"),
    checkpoint: settings.text("checkpoint"),
  };
  checkApart(files);
  readMetrics(settings); // which refuses before names are looked up
  if (settings.has("echo-config")) {
    await print(formatConfig("scan", values));
    return EXIT.done;
  }
  const optOuts = new OptOutFile(settings.text("opt-out-file"), tellLine);
  const found = resumed?.configuration.found ??
    await lookUpTargets(
      settings,
      chosen,
      () =>
        knownToRescan(
          new Settings(secret),
          stores.places,
          connectionEnvironment(tellLine),
          allProtocols,
        ),
    );
  const named = composeTargets(found, [...await optOuts.read(), ...optedOutOf(resumed)]);
  const { targets } = named;
  if (resumed !== undefined && orderDigest(targets, chosen) !== resumed.configuration.order) {
    throw new InputError(
      `Cannot resume "${resumed.path}": this program's lists of ports or of addresses that are ` +
        "never probed are not those of the scan",
    );
  }
  if (settings.text("ports") === undefined) {
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
  const selection = selectionOf(chosen, named);
  const plan = planScan({ ...selection, limits: { retries: chosen.retries, rates: fastest } });
  checkMarks({ udp: chosen.from, tcp: chosen.fromTcp }, plan.passes, resumed?.path);
  if (settings.has("list-targets")) {
    await printTargets(selection, chosen.retries);
    return EXIT.done;
  }
  const tell = settings.has("quiet") ? () => {} : tellLine;
  const grounds = groundsOf(targets, chosen, settings.has("dry-run"));
  const engine = await chooseEngine(chosen.engine, grounds, tell);
  const written = [...outputs, ...stores.places];
  const lines = planLines(plan, named, chosen, speed, written, engine);
  if (settings.has("dry-run")) {
    await print(lines.join("\n"));
    return EXIT.done;
  }
  requirePermission(targets, plan, settings.has("i-have-permission"));
  if (settings.has("verbose")) lines.forEach(tellLine);
  const place = origin === "resumable"
    ? checkpointPlace(files.checkpoint, files.outputs)
    : undefined;
  const resumable = origin !== "passing";
  const job = { settings, chosen, engine, speed, named, plan, outputs, stores, files, optOuts };
  return await execute({ ...job, found, place, resumed, resumable, program: project.version });
}

/** Where a scan that is gone on with starts. */
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

async function readValues(args: readonly string[]): Promise<Values> {
  const line = readArgs("scan", args);
  const path = new Settings(line).text("config");
  if (path === undefined) return line;
  return mergeValues(parseConfig("scan", await readTextFile(path), `"${path}"`), line);
}

async function lookUpTargets(
  settings: Settings,
  { protocols, allProtocols }: ScanSettings,
  readKnown: () => Promise<KnownServers>,
): Promise<FoundTargets> {
  const words = settings.values.words.filter((word) => word !== "-");
  const stdin = settings.values.words.includes("-") ? ["-"] : [];
  const paths = [...settings.texts("input-file"), ...stdin];
  if (paths.filter((path) => path === "-").length > 1) {
    throw new InputError("Cannot read targets from standard input twice");
  }
  refuseFiles(words);
  const note = settings.has("quiet") ? () => {} : tellError;
  return await findTargets({
    words,
    files: await readAll(paths),
    exclude: settings.texts("exclude"),
    excludeFiles: await readAll(settings.texts("exclude-file")),
    known: await readKnown(),
    allProtocols,
  }, {
    resolve: (name) => resolveName(name, allProtocols),
    findService: settings.text("ports") === undefined && haveService(protocols)
      ? serviceFinder({ note })
      : undefined,
    note,
    allowPrivate: settings.has("allow-private"),
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
