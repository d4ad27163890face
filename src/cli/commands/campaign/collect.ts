/**
 * The command `campaign collect`.
 *
 * @module
 */
import project from "../../../../deno.json" with { type: "json" };
import { EXIT, onInterrupt, ServiceState } from "../../../app/mod.ts";
import { dashed } from "../../../app/options/mod.ts";
import { collect } from "../../../campaign/mod.ts";
import { systemClock } from "../../../net/clock.ts";
import { type CommandCall, readCommandLine } from "../../options/command_line.ts";
import { reportError, reportLine } from "../../term/console.ts";

/** Runs `campaign collect`; returns the exit code. */
export async function runCampaignCollect(call: CommandCall): Promise<number> {
  const { words: [campaign], options } = readCommandLine("campaign collect", call);
  using interrupt = onInterrupt(() => {});
  const { signal } = interrupt;
  await using service = new ServiceState({ clock: systemClock, signal, warn: reportLine });
  const context = {
    allProtocols: call.allProtocols,
    program: project.version,
    nameOf: dashed, // the options of campaigns were given to another command
    warn: reportLine,
    note: reportError,
  };
  await collect({ ...options, campaign }, { ...context, onRound: service.round }, signal);
  return interrupt.signal.aborted ? EXIT.interrupted : EXIT.done;
}
