/**
 * The command `campaign status`.
 *
 * @module
 */
import { EXIT, onInterrupt } from "../../../app/mod.ts";
import { campaignEntry, type SystemStatus } from "../../../campaign/mod.ts";
import { InputError } from "../../../core/errors.ts";
import { type Clock, sleep, systemClock } from "../../../net/clock.ts";
import { type CommandCall, readCommandLine } from "../../options/command_line.ts";
import {
  draw,
  isDumb,
  outputColumns,
  print,
  printLines,
  reportError,
  terminalSize,
} from "../../term/console.ts";
import { LiveBlock } from "../../term/live/live_block.ts";
import { type OpenCampaigns, openCampaigns, whenSubmitted } from "./open_campaigns.ts";
import { campaignJson, fitted, statusLines, summaryLine } from "./status_lines.ts";

/** Time between two readings on a terminal, and without one, milliseconds. */
const EVERY_MS = { terminal: 1000, lines: 10_000 };

/** Runs `campaign status`; returns the exit code. */
export async function runCampaignStatus(call: CommandCall): Promise<number> {
  const { words: [name], options } = readCommandLine("campaign status", call);
  if (options.watch && options.json) {
    throw new InputError("Cannot use --watch with --json: run campaign status --json repeatedly");
  }
  await using campaigns = name === undefined && !options.watch
    ? await whenSubmitted<OpenCampaigns | undefined>(openCampaigns(options), undefined)
    : await openCampaigns(options);
  if (campaigns === undefined) {
    if (!options.json) await print("no campaigns");
    return EXIT.done;
  }
  if (name !== undefined) campaignEntry(campaigns.control, name);
  const read = () => campaigns.reader.read(name);
  if (options.watch) return await watch(read);
  const status = await read();
  if (options.json) {
    for (const one of status.campaigns) await print(campaignJson(status, one));
  } else {
    await print(statusLines(status, outputColumns() ?? Infinity).join("\n"));
  }
  return EXIT.done;
}

/** What follows the state of campaigns. */
export interface StatusWatch {
  readonly read: () => Promise<SystemStatus>;
  /** Shows the last state, and why the next one could not be read. */
  readonly show: (status: SystemStatus, problem: string | undefined) => Promise<void> | void;
  /** Ends the watch. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Time between two readings, milliseconds. */
  readonly everyMs: number;
}

/**
 * Shows the state of campaigns again and again. After the first reading, an error is shown, and
 * reading is repeated.
 */
export async function watchStatus(
  { read, show, signal, clock, everyMs }: StatusWatch,
): Promise<void> {
  let status = await read();
  let problem: string | undefined;
  while (!signal.aborted) {
    await show(status, problem);
    await sleep(clock, everyMs, signal);
    if (signal.aborted) return;
    try {
      status = await read();
      problem = undefined;
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      problem = error.message;
    }
  }
}

/** Shows the state until Ctrl-C: on a terminal in place, otherwise as a line for each campaign. */
async function watch(read: () => Promise<SystemStatus>): Promise<number> {
  using interrupt = onInterrupt(() => {});
  const { signal } = interrupt;
  const watching = { read, signal, clock: systemClock };
  if (Deno.stdout.isTerminal() && !isDumb()) {
    let lines: (columns: number) => readonly string[] = () => [];
    using block = liveBlock((columns) => lines(columns));
    const show = (status: SystemStatus, problem?: string) => {
      lines = (columns) => [
        ...problem === undefined ? [] : [fitted(problem, columns)],
        ...statusLines(status, columns),
      ];
      block.redraw();
    };
    await watchStatus({ ...watching, show, everyMs: EVERY_MS.terminal });
    block.end();
  } else {
    const show = async ({ campaigns, at }: SystemStatus, problem?: string) => {
      if (problem !== undefined) return reportError(problem);
      for (const one of campaigns) await printLines([summaryLine(one, at)]);
    };
    await watchStatus({ ...watching, show, everyMs: EVERY_MS.lines });
  }
  return EXIT.interrupted;
}

/** Lines at the bottom of the terminal, as many as fit. */
function liveBlock(linesOf: (columns: number) => readonly string[]): LiveBlock {
  return new LiveBlock({ clock: systemClock, size: terminalSize, draw }, ({ columns, rows }) => {
    const lines = linesOf(columns - 1);
    return lines.length < rows ? lines : [...lines.slice(0, rows - 2), "…"];
  });
}
