/**
 * The command `campaign work`.
 *
 * @module
 */
import project from "../../../../deno.json" with { type: "json" };
import { EXIT, onInterrupt, ServiceState } from "../../../app/mod.ts";
import { work } from "../../../campaign/mod.ts";
import { systemClock } from "../../../net/clock.ts";
import type { CommandCall } from "../../options/command_line.ts";
import { readArgs, typedNames } from "../../options/parse_arguments.ts";
import { reportError, reportLine } from "../../term/console.ts";

/** Runs `campaign work` until Ctrl-C; returns the exit code. */
export async function runCampaignWork({ args, allProtocols }: CommandCall): Promise<number> {
  const given = readArgs("campaign work", args);
  using interrupt = onInterrupt(() =>
    reportLine("blocksweep: giving parts back; press Ctrl-C again to end at once")
  );
  const { signal } = interrupt;
  await using service = new ServiceState({ clock: systemClock, signal, warn: reportLine });
  await work(given, {
    context: {
      allProtocols,
      program: project.version,
      warn: reportLine,
      note: given.given.has("quiet") ? () => {} : reportError,
      nameOf: typedNames("campaign work", args),
    },
    signal,
    onRound: service.round,
  });
  return EXIT.interrupted; // only a signal ends a worker without an error
}
