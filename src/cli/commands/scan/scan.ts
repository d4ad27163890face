/**
 * The scan command.
 *
 * @module
 */
import project from "../../../../deno.json" with { type: "json" };
import { EXIT, readTextFile } from "../../../app/mod.ts";
import {
  formatConfig,
  type GivenOptions,
  mergeOptions,
  parseConfig,
} from "../../../app/options/mod.ts";
import { prepareScan, readScan } from "../../../app/scan/mod.ts";
import { harmlessText } from "../../../core/text.ts";
import type { CommandCall } from "../../options/command_line.ts";
import { readArgs, typedNames } from "../../options/parse_arguments.ts";
import { outputColumns, print, reportError, reportLine, writeRows } from "../../term/console.ts";
import type { PlannedScan } from "./dry_run.ts";
import { execute, keptContacts } from "./run.ts";

/** Runs `scan`; returns the exit code. */
export async function runScanCommand(call: CommandCall): Promise<number> {
  return await run(call, false);
}

/**
 * Runs a scan that cannot be resumed, because its targets exist only in this process. It keeps no
 * checkpoint and prints no command to continue.
 *
 * @returns The exit code.
 */
export async function runPassingScan(call: CommandCall): Promise<number> {
  return await run(call, true);
}

/** Runs a scan, or prints what it would do. */
async function run({ args, allProtocols }: CommandCall, isPassing: boolean): Promise<number> {
  const { request, writes } = await readScan(await readGiven(args), {
    allProtocols,
    program: project.version,
    warn: reportLine,
    note: reportError,
    nameOf: typedNames("scan", args),
    keptContact: async () => await (await keptContacts()).readContact(),
    terminal: outputColumns(),
    writeRows,
  }, isPassing);
  await using _rows = request.resumed?.writtenRows;
  const { options, given } = request;
  if (options.echoConfig) return await printAll([formatConfig("scan", given)]);
  const scan = await prepareScan(request);
  if (options.listTargets) {
    const { printTargets } = await import("./target_list.ts");
    await printTargets(scan.selection, options.retries, options.json);
    return EXIT.done;
  }
  const planned = { ...scan, ...writes };
  if (options.dryRun) return await printAll(await planTexts(planned, options.json));
  if (options.verbose) (await planTexts(planned)).forEach(reportLine);
  return await execute(scan, writes);
}

/** What a scan would do, as lines or as JSON. */
async function planTexts(scan: PlannedScan, asJson = false): Promise<readonly string[]> {
  if (asJson) return [(await import("./plan_json.ts")).planJson(scan)];
  return (await import("./dry_run.ts")).planLines(scan).map(harmlessText);
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
