/**
 * How to continue a scan that has not finished: the command, and notes on it.
 *
 * @module
 */
import {
  type EndReason,
  type Marks,
  refusedTransports,
  type ScanEnd,
  type ScanState,
} from "../../scan/mod.ts";
import type { GivenOptions } from "../../app/options/mod.ts";
import type { OutputPlan } from "../../app/outputs/mod.ts";
import type { ScanChoice } from "../../app/scan/mod.ts";
import type { DatabasePlan } from "../../app/databases/mod.ts";
import { OutputLostError } from "../../sinks/sink.ts";
import { exclusionNotes, passwordNotes, scanCommand } from "./printed_command.ts";

/** The name of the next file, for formats that cannot be appended to: `rows.json`, `rows-2.json`. */
function sequel(path: string): string {
  const [, stem, number = "1", suffix = ""] = /^(.*?)(?:-(\d+))?(\.[^./\\]*)?$/s.exec(path)!;
  return `${stem}-${Number(number) + 1}${suffix}`;
}

/** Notes on the command that continues a scan. */
export function continueNotes(
  { words, given }: GivenOptions,
  outputs: readonly OutputPlan[],
): string[] {
  const unread = outputs.filter(({ readable }) => !readable)
    .map(({ path }) => path === "-" ? "standard output" : path);
  return [
    ...(unread.length === 0 ? [] : [
      `${
        unread.join(", ")
      } may get some servers twice: the program cannot read what is already written there`,
    ]),
    ...([...words, ...given.get("input-file") ?? []].includes("-")
      ? ["it needs the same targets on standard input"]
      : []),
    ...exclusionNotes(given),
  ];
}

/** The command that resumes the scan of a checkpoint. */
export function resumeCommand(path: string): string {
  return scanCommand({ words: [], given: new Map([["resume", [path]]]) });
}

export type ContinuedChoice = Pick<ScanChoice, "order" | "protocols">;

/**
 * The command that continues where a scan without a checkpoint stopped: the same options, the same order, and rows added
 * to what is there.
 */
export function continueCommand(
  { words, given: before }: GivenOptions,
  { order: { seed }, protocols }: ContinuedChoice,
  marks: Marks,
  outputs: readonly OutputPlan[],
): string {
  const given = new Map(before);
  if (seed !== undefined) given.set("seed", [String(seed)]);
  const used = (["udp", "tcp"] as const).filter((one) =>
    protocols.some(({ transport }) => transport === one)
  );
  given.set("from", [
    used.map((one) => `${one === "tcp" ? "T:" : ""}${marks[one].pass}:${marks[one].position}`).join(
      ",",
    ),
  ]);
  if (outputs.some(({ path }) => path !== "-")) given.set("append", ["true"]);
  given.delete("config");
  for (const [name, paths] of given) {
    const format = (path: string) => outputs.find((output) => output.path === path)?.format;
    given.set(name, paths.map((path) => format(path)?.appendable === false ? sequel(path) : path));
  }
  return scanCommand({ words, given });
}

/** The properties of a scan that decide how it can be continued. */
export interface Continuable {
  readonly options: { readonly quiet: boolean; readonly rescan: string | undefined };
  /** Words and options as they were written, without secrets. */
  readonly given: GivenOptions;
  readonly choice: ContinuedChoice;
  readonly outputs: readonly OutputPlan[];
  /** The scan's databases, with the passwords of their URLs. */
  readonly databases: Pick<DatabasePlan, "locations">;
  /** Whether the scan can be continued at all. */
  readonly resumable: boolean;
}

/** Ends of a scan that can be continued even without a checkpoint. */
const EARLY: ReadonlySet<EndReason> = new Set(["incomplete", "interrupted", "max-runtime"]);

/** How to continue a scan that has not finished. */
export function continueLines(
  { options, given, choice, outputs, databases, resumable }: Continuable,
  state: ScanState,
  end: ScanEnd,
  checkpoint: string | undefined,
): string[] {
  const early = EARLY.has(end.reason);
  if (!resumable || !early && end.reason !== "failed") return [];
  if (checkpoint !== undefined) {
    const condition = end.error instanceof OutputLostError
      ? "once the file is restored, "
      : end.reason === "incomplete"
      ? conditionOf(state)
      : "";
    const [command, ...notes] = resumeLines(checkpoint, databases);
    return [condition + command, ...notes];
  }
  if (!early) return [];
  if (state.adaptive !== undefined) {
    return ["it cannot be continued: an adaptive scan needs a file of rows (-o) or a --checkpoint"];
  }
  if (options.rescan !== undefined) {
    return ["continue with the same command: it begins with the servers that were not probed"];
  }
  if (end.marks.udp.pass > state.passes && end.marks.tcp.pass > state.tcp.passes) return [];
  const command = continueCommand(given, choice, end.marks, outputs);
  const notes = [...continueNotes(given, outputs), ...passwordNotes(databases.locations)];
  return [`continue with: ${command}`, ...notes];
}

/** What has to be different when an incomplete scan is resumed. */
function conditionOf(state: ScanState): string {
  if (state.outage !== undefined) return "when the network works again, ";
  return refusedTransports(state).length > 0
    ? "when the system sends probes, "
    : "with more descriptors, ";
}

/**
 * How to resume the scan of a checkpoint.
 *
 * @param path Path of the checkpoint, for a command line.
 */
export function resumeLines(path: string, databases: Pick<DatabasePlan, "locations">): string[] {
  return [`continue with: ${resumeCommand(path)}`, ...passwordNotes(databases.locations)];
}
