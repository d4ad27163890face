/**
 * The command line: finds the command, runs it, and maps an error to one line and an exit
 * code.
 *
 * @module
 */
import type { MessageFormat } from "./term/log_format.ts";
import { systemClock } from "../net/clock.ts";
import config from "../../deno.json" with { type: "json" };
import { closestName } from "../core/closest_name.ts";
import { InputError, permissionText, ShortageError } from "../core/errors.ts";
import { redact, redactError } from "../core/redact.ts";
import { PROTOCOLS } from "../protocols/list.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { WriteError } from "../sinks/sink.ts";
import { StoreError } from "../store/database/database.ts";
import { formatMessages, logsJson, print, reportError, reportRaw } from "./term/console.ts";
import {
  type CallableCommand,
  GROUPED_COMMANDS,
  isCommand,
  meantCommand,
  splitCommand,
} from "../app/options/mod.ts";
import { EXIT, Interrupted } from "../app/mod.ts";
import { isClosedPipe } from "../app/outputs/mod.ts";
import type { CommandCall } from "./options/command_line.ts";

/** Errors that occur while a command runs, and that other arguments would not avoid. */
const FAILURES = [WriteError, StoreError, ShortageError];

type Run = (call: CommandCall) => Promise<number>;

/** Every command, loaded when it is called. */
const RUN: Readonly<Record<CallableCommand, () => Promise<Run>>> = {
  scan: async () => (await import("./commands/scan/scan.ts")).runScanCommand,
  query: async () => (await import("./commands/query.ts")).runQuery,
  lan: async () => (await import("./commands/lan.ts")).runLan,
  watch: async () => (await import("./commands/watch/watch.ts")).runWatch,
  crawl: async () => (await import("./commands/watch/crawl.ts")).runCrawl,
  "campaign submit": async () => (await import("./commands/campaign/submit.ts")).runCampaignSubmit,
  "campaign work": async () => (await import("./commands/campaign/work.ts")).runCampaignWork,
  "campaign collect": async () =>
    (await import("./commands/campaign/collect.ts")).runCampaignCollect,
  "campaign list": async () => (await import("./commands/campaign/list.ts")).runCampaignList,
  "campaign status": async () => (await import("./commands/campaign/status.ts")).runCampaignStatus,
  "campaign pause": async () => (await import("./commands/campaign/change.ts")).runCampaignPause,
  "campaign resume": async () => (await import("./commands/campaign/change.ts")).runCampaignResume,
  "campaign cancel": async () => (await import("./commands/campaign/change.ts")).runCampaignCancel,
  "campaign retry": async () => (await import("./commands/campaign/change.ts")).runCampaignRetry,
  "campaign opt-out": async () => (await import("./commands/campaign/change.ts")).runCampaignOptOut,
  "campaign remove": async () => (await import("./commands/campaign/change.ts")).runCampaignRemove,
  "opt-out add": async () => (await import("./commands/opt_outs.ts")).runOptOutAdd,
  "opt-out list": async () => (await import("./commands/opt_outs.ts")).runOptOutList,
  "opt-out remove": async () => (await import("./commands/opt_outs.ts")).runOptOutRemove,
  "contact-page": async () => (await import("./commands/report/contact_page.ts")).runContactPage,
  servers: async () => (await import("./commands/servers_and_export.ts")).runServers,
  history: async () => (await import("./commands/history.ts")).runHistory,
  diff: async () => (await import("./commands/diff/diff.ts")).runDiff,
  scans: async () => (await import("./commands/scans.ts")).runScans,
  serve: async () => (await import("./commands/serve/serve.ts")).runServe,
  report: async () => (await import("./commands/report/report.ts")).runReport,
  export: async () => (await import("./commands/servers_and_export.ts")).runExport,
  import: async () => (await import("./commands/import.ts")).runImport,
  prune: async () => (await import("./commands/prune.ts")).runPrune,
  copy: async () => (await import("./commands/copy.ts")).runCopy,
  forget: async () => (await import("./commands/forget.ts")).runForget,
  fleet: async () => (await import("./commands/fleet.ts")).runFleet,
  demo: async () => (await import("./commands/demo.ts")).runDemo,
  schema: async () => (await import("./commands/schema.ts")).runSchema,
  completions: async () => (await import("./commands/completions.ts")).runCompletions,
};

/**
 * Runs the command line.
 *
 * @param allProtocols Every protocol, in order of rank.
 * @returns The exit code.
 */
export async function main(
  args: readonly string[],
  allProtocols: readonly Protocol[] = PROTOCOLS,
): Promise<number> {
  formatMessages(await messageFormatOf(args));
  try {
    return await dispatch(args, allProtocols);
  } catch (thrown) {
    const error = firstOf(thrown);
    if (error instanceof Interrupted) return EXIT.interrupted;
    if (isClosedPipe(error)) return EXIT.failed; // the reader, for example `head`, has closed the pipe
    const line = explain(error);
    if (line === undefined) return reportDefect(redactError(error, args));
    reportError(redact(line, args), { level: "error" });
    return FAILURES.some((one) => error instanceof one) ? EXIT.failed : EXIT.usage;
  }
}

/** The format of messages that the arguments name; `undefined`: text. */
async function messageFormatOf(args: readonly string[]): Promise<MessageFormat | undefined> {
  if (!args.some((word) => word.startsWith("--log-format"))) return undefined;
  const { messageJson, wantsJson } = await import("./term/log_format.ts");
  if (!wantsJson(args)) return undefined;
  return (text, details) => messageJson(text, systemClock.wall(), details);
}

/** Throws the error of a defect, which the runtime prints with its stack; as JSON it is a message. */
function reportDefect(error: unknown): number {
  if (!logsJson()) throw error;
  const stack = error instanceof Error ? error.stack : undefined;
  reportRaw(stack ?? String(error), { level: "error" });
  return EXIT.failed;
}

async function dispatch(
  words: readonly string[],
  allProtocols: readonly Protocol[],
): Promise<number> {
  const [first, ...others] = words;
  if (first === undefined) {
    reportRaw(`${(await helpTexts()).overview(allProtocols)}\n`);
    return EXIT.usage;
  }
  if (["--help", "-h", "help"].includes(first)) {
    const [name, args] = splitCommand(others);
    refuse(args, first);
    return await printHelp(name, allProtocols);
  }
  if (["--version", "-V"].includes(first)) {
    refuse(others, first);
    return await printVersion();
  }
  const [name, args] = splitCommand(words);
  if (!isCommand(name) && !GROUPED_COMMANDS.has(name)) throw unknownCommand(name);
  const asksForHelp = hasFlag(args, "--help", "-h") || args.length === 1 && args[0] === "help";
  if (asksForHelp) return await printHelp(name, allProtocols);
  if (hasFlag(args, "--version", "-V")) return await printVersion();
  if (isCommand(name)) return await (await RUN[name]())({ args, allProtocols });
  refuse(args, `${name} without a command`);
  reportRaw(`${(await helpTexts()).groupOverview(name)}\n`);
  return EXIT.usage;
}

/** Loads the help texts, which few calls need. */
const helpTexts = () => import("./options/help_text.ts");

/** Prints the help on a command, on a group of commands, or on all commands. */
async function printHelp(
  name: string | undefined,
  allProtocols: readonly Protocol[],
): Promise<number> {
  const { overview, groupOverview, commandHelp } = await helpTexts();
  if (name === undefined) await print(overview(allProtocols));
  else if (GROUPED_COMMANDS.has(name)) await print(groupOverview(name));
  else if (isCommand(name)) await print(commandHelp(name, allProtocols));
  else throw unknownCommand(name);
  return EXIT.done;
}

async function printVersion(): Promise<number> {
  const { CONDITIONS_HERE, possibleEngines } = await import("../app/settings/mod.ts");
  const { version: { deno, v8 }, build: { os, arch } } = Deno;
  const engines = possibleEngines(CONDITIONS_HERE).join(", ");
  await print(
    `blocksweep ${config.version} (deno ${deno}, v8 ${v8}, ${os} ${arch}; engines: ${engines})`,
  );
  return EXIT.done;
}

/** Whether a flag is anywhere in the arguments; it takes effect before other words are checked. */
function hasFlag(args: readonly string[], ...names: readonly string[]): boolean {
  const end = args.indexOf("--");
  return args.slice(0, end < 0 ? args.length : end).some((arg) => names.includes(arg));
}

/** Throws if the command line has surplus arguments. */
function refuse([word]: readonly string[], name: string): void {
  if (word !== undefined) throw new InputError(`Cannot use "${word}" with ${name}`);
}

function unknownCommand(name: string): InputError {
  if (name.startsWith("-")) return unknownOption(name);
  const meant = meantCommand(name);
  const [first] = name.split(" ");
  const help = GROUPED_COMMANDS.has(first) ? `${first} --help` : "--help";
  const hint = meant === undefined ? `${help} lists them` : `did you mean ${meant}?`;
  return new InputError(`Unknown command "${name}"; ${hint}`);
}

/** The error of an option without a command: an unknown one, or one that has to follow its command. */
function unknownOption(typed: string): InputError {
  const [option] = typed.split("=");
  const meant = closestName(option, ["--help", "--version"]);
  const hint = meant === undefined
    ? "write the command first; --help lists them"
    : `did you mean ${meant}?`;
  return new InputError(`Unknown option ${option}; ${hint}`);
}

/** The first error, if closing resources failed too. */
function firstOf(error: unknown): unknown {
  return error instanceof SuppressedError ? firstOf(error.suppressed) : error;
}

/** One line for an error that a user can correct; `undefined` for a defect of the program. */
function explain(error: unknown): string | undefined {
  if (error instanceof InputError) return error.message;
  if (FAILURES.some((one) => error instanceof one)) return (error as Error).message;
  if (error instanceof Deno.errors.NotCapable) return permissionText(error.message);
  return undefined;
}
