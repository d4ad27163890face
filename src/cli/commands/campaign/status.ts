/**
 * The command `campaign status`.
 *
 * @module
 */
import { EXIT } from "../../../app/exit_codes.ts";
import { onInterrupt } from "../../../app/interrupt_signals.ts";
import { campaignEntry } from "../../../campaign/change/change_campaign.ts";
import type { SystemStatus } from "../../../campaign/status/read_status.ts";
import { InputError } from "../../../core/errors.ts";
import { sleep, systemClock } from "../../../net/clock.ts";
import { type CommandCall, readCommandLine } from "../../options/command_line.ts";
import { draw, isDumb, outputColumns, print, terminalSize } from "../../term/console.ts";
import { LiveBlock } from "../../term/live/live_block.ts";
import { openCampaigns } from "./open_campaigns.ts";
import { campaignJson, statusLines, summaryLine } from "./status_lines.ts";

/** Time between two readings on a terminal, and without one, milliseconds. */
const EVERY_MS = { terminal: 1000, lines: 10_000 };

/** Runs `campaign status`; returns the exit code. */
export async function runCampaignStatus(call: CommandCall): Promise<number> {
  const { words: [name], options } = readCommandLine("campaign status", call);
  if (options.watch && options.json) {
    throw new InputError("Cannot use --watch with --json: run campaign status --json repeatedly");
  }
  await using campaigns = await openCampaigns(options);
  if (name !== undefined) campaignEntry(campaigns.control, name);
  const read = () => campaigns.reader.read((one) => name === undefined || one === name);
  if (options.watch) return await watch(read);
  const status = await read();
  if (options.json) {
    for (const one of status.campaigns) await print(campaignJson(status, one));
  } else {
    await print(statusLines(status, systemClock.wall(), outputColumns() ?? Infinity).join("\n"));
  }
  return EXIT.done;
}

/** Shows the state until Ctrl-C: on a terminal in place, otherwise as a line for each campaign. */
async function watch(read: () => Promise<SystemStatus>): Promise<number> {
  using interrupt = onInterrupt(() => {});
  const isLive = Deno.stdout.isTerminal() && !isDumb();
  let status = await read();
  using block = isLive ? liveBlock(() => status) : undefined;
  while (true) {
    if (block !== undefined) block.redraw();
    else for (const one of status.campaigns) await print(summaryLine(one, systemClock.wall()));
    await sleep(systemClock, isLive ? EVERY_MS.terminal : EVERY_MS.lines, interrupt.signal);
    if (interrupt.signal.aborted) break;
    status = await read();
  }
  block?.end();
  return EXIT.interrupted;
}

function liveBlock(status: () => SystemStatus): LiveBlock {
  return new LiveBlock({ clock: systemClock, size: terminalSize, draw }, ({ columns, rows }) => {
    const lines = statusLines(status(), systemClock.wall(), columns - 1);
    return lines.length < rows ? lines : [...lines.slice(0, rows - 2), "…"];
  });
}
