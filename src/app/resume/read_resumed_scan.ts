/**
 * Reads the checkpoint of a scan to resume, and the options that the command line may change.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { FieldError } from "../../core/checked_values.ts";
import {
  type Checkpoint,
  type Marks,
  type ResumedRows,
  resumeRows,
  writtenRowsPath,
} from "../../scan/mod.ts";
import type { Mark } from "../../sweep/mod.ts";
import { systemDisk } from "../../sinks/file_operations.ts";
import type { GivenOptions, OptionForm } from "../options/given_options.ts";
import { parseShard } from "../../targets/shards.ts";
import { type Configuration, fullPath, parseConfiguration } from "./scan_configuration.ts";
import { userPath } from "../environment.ts";
import type { Passes, Plan } from "../targets/scan_plan.ts";
import { countOf, withCommas } from "../../core/quantities.ts";

export interface Resumed {
  /** Path of the checkpoint, as the user typed it. */
  readonly path: string;
  readonly checkpoint: Checkpoint;
  /** The rows in the list file beside the checkpoint. */
  readonly writtenRows: ResumedRows;
  readonly configuration: Configuration;
  /** The options of the scan, with the changes of the command line. */
  readonly given: GivenOptions;
}

/**
 * Reads the checkpoint of an unfinished scan and its list file.
 *
 * @param line The other options on the command line.
 * @param allowed The options of a scan.
 * @param allProtocols Every protocol of the program.
 * @throws InputError when the scan cannot be resumed, or an option on the command line must not change.
 */
export async function readResumed(
  path: string,
  checkpoint: Checkpoint,
  line: GivenOptions,
  allowed: readonly OptionForm[],
  allProtocols: readonly Protocol[],
): Promise<Resumed> {
  const writtenRows = await resumeRows(systemDisk, writtenRowsPath(userPath(path)), checkpoint);
  try {
    if (writtenRows.digest !== checkpoint.configuration) {
      throw new InputError(`Cannot resume "${path}": the list beside it belongs to another scan`);
    }
    const configuration = readConfiguration(writtenRows.configuration, path, allowed, allProtocols);
    checkIdentity(configuration, checkpoint, path);
    const given = optionsOnResume(configuration.given, line, path, allowed);
    return { path, checkpoint, writtenRows, configuration, given };
  } catch (error) {
    await writtenRows[Symbol.asyncDispose]();
    throw error;
  }
}

function readConfiguration(
  text: string,
  path: string,
  allowed: readonly OptionForm[],
  allProtocols: readonly Protocol[],
): Configuration {
  try {
    return parseConfiguration(text, allowed, allProtocols);
  } catch (error) {
    if (!(error instanceof FieldError)) throw error;
    throw new InputError(`Cannot resume "${path}": in the list beside it, ${error.message}`);
  }
}

/** Checks that scan, seed and shard are equal in the checkpoint and in the configuration. */
function checkIdentity(
  { scanId: id, given: { given } }: Configuration,
  { scanId, seed, shard }: Checkpoint,
  path: string,
): void {
  const [shardText = "1/1"] = given.get("shard") ?? [];
  const [ordered] = given.get("seed") ?? [];
  const there = parseShard(shardText);
  const both = [
    ["scanId", scanId, id],
    ["seed", seed === null ? undefined : String(seed), ordered],
    ["shard", shard, there === undefined ? shardText : `${there.index}/${there.count}`],
  ];
  for (const [name, here, there] of both) {
    if (here === there) continue;
    throw new InputError(
      `Cannot resume "${path}": its ${name} is ${here ?? "none"}, and the list beside it has ` +
        `${there ?? "none"}`,
    );
  }
}

/**
 * The options of the scan, with the changed options of the command line.
 *
 * @throws InputError that names every option that must not change and differs from the scan's.
 */
export function optionsOnResume(
  scan: GivenOptions,
  line: GivenOptions,
  path: string,
  allowed: readonly OptionForm[],
): GivenOptions {
  const changed: string[] = [];
  const compare = (shown: string, texts: readonly string[], before: readonly string[] = []) => {
    if (texts.join("\0") === before.join("\0")) return;
    changed.push(`${shown} (it has ${before.join(", ") || "none"})`);
  };
  if (line.words.length > 0) compare(line.words.join(" "), line.words, scan.words);
  const given = new Map(scan.given);
  for (const { name, takes, onResume } of allowed) {
    const texts = line.given.get(name);
    if (texts === undefined) continue;
    if (onResume !== undefined) given.set(name, texts);
    else {
      const shown = takes === undefined ? `--${name}` : `--${name} ${texts.join(", ")}`;
      const before = name === "checkpoint" ? [fullPath(path)] : scan.given.get(name);
      compare(shown, takes?.isPath ? texts.map(fullPath) : texts, before);
    }
  }
  if (changed.length === 0) return { words: scan.words, given };
  throw new InputError(
    `Cannot resume "${path}" with ${
      changed.join(", ")
    }: these options cannot be changed when a scan is resumed`,
  );
}

/**
 * Checks the positions at which a scan starts. Position N+1:0 means that all N passes of UDP or of
 * TCP have finished, while the other transport has not.
 *
 * @param resumed The checkpoint that the positions are from. Default: `--from`.
 * @throws InputError for the first position that the scan does not have.
 */
export function checkMarks(
  marks: Marks,
  passes: Readonly<Record<"udp" | "tcp", Pick<Passes, "sizes">>>,
  resumed?: string,
): void {
  for (const transport of ["udp", "tcp"] as const) {
    const fault = markFault(marks[transport], passes[transport].sizes, transport);
    if (fault === undefined) continue;
    const { pass, position } = marks[transport];
    const mark = `${transport === "tcp" ? "T:" : ""}${pass}:${position}`;
    const what = resumed === undefined ? "Cannot start" : `Cannot resume "${resumed}"`;
    throw new InputError(`${what} from ${mark}: ${fault}`);
  }
}

function markFault(
  { pass, position }: Mark,
  sizes: readonly number[],
  transport: "udp" | "tcp",
): string | undefined {
  const size = pass > sizes.length + 1 ? -1 : sizes[pass - 1] ?? 0;
  if (position <= size) return undefined;
  const name = transport === "tcp" ? "TCP pass" : "pass";
  if (pass <= sizes.length) return `${name} ${pass} has ${countOf(size, "target")}`;
  const passes = sizes.length === 1 ? `is 1 ${name}` : `are ${sizes.length} ${name}es`;
  return `there ${passes}; the last position is ${sizes.length + 1}:0`;
}

export function resumeLine(
  { path, checkpoint, writtenRows }: Resumed,
  rows: number,
  { passes, adaptive }: Plan,
): string {
  const { marks, scanId, state, savedAt } = checkpoint;
  const stand = adaptive !== undefined
    ? [countOf(writtenRows.passes.length, "complete pass", "complete passes")]
    : (["udp", "tcp"] as const).filter((one) => passes[one].sizes.length > 0).map(
      (one) => {
        const { pass, position } = marks[one];
        const { sizes } = passes[one];
        const name = one === "tcp" ? "TCP pass" : "pass";
        return pass > sizes.length
          ? `all ${one === "tcp" ? "TCP " : ""}passes done`
          : `${name} ${pass} of ${sizes.length} at ${withCommas(position)} of ${
            withCommas(sizes[pass - 1])
          }`;
      },
    );
  const how = state === "running" ? "killed" : state;
  return `resuming "${path}" (scan ${scanId}, ${how}, saved ${new Date(savedAt).toISOString()}): ` +
    `${countOf(rows, "row")} written, ${stand.join(", ")}`;
}
