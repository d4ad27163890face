/**
 * The command `campaign submit`.
 *
 * @module
 */
import project from "../../../../deno.json" with { type: "json" };
import { EXIT } from "../../../app/mod.ts";
import {
  connectBroker,
  prepareCampaign,
  submitCampaign,
  type Submitted,
} from "../../../campaign/mod.ts";
import { contactReader, keepContact } from "../../../app/targets/mod.ts";
import type { OptionsOf } from "../../../app/options/mod.ts";
import { countOf, withCommas } from "../../../core/quantities.ts";
import type { CommandCall } from "../../options/command_line.ts";
import { readArgs, typedNames } from "../../options/parse_arguments.ts";
import { print, printLines, reportError, reportLine } from "../../term/console.ts";
import { campaignPlanJson, campaignPlanLines } from "./plan.ts";

/** Runs `campaign submit`; returns the exit code. */
export async function runCampaignSubmit({ args, allProtocols }: CommandCall): Promise<number> {
  const given = readArgs("campaign submit", args);
  const campaign = await prepareCampaign(given, {
    allProtocols,
    program: project.version,
    warn: reportLine,
    note: given.given.has("quiet") ? () => {} : reportError,
    nameOf: typedNames("campaign submit", args),
    keptContact: contactReader(),
  });
  const { options, spec: { name, parts } } = campaign;
  if (options.dryRun) {
    if (options.json) await print(campaignPlanJson(campaign));
    else await printLines(campaignPlanLines(campaign));
    return EXIT.done;
  }
  await using broker = await connectBroker(options, "blocksweep campaign submit");
  const submitted = await submitCampaign(broker, campaign, reportError);
  keepContact(options.contact, options.quiet ? () => {} : reportLine);
  for (const line of keptLines(submitted, options, given.given)) reportLine(line);
  if (!options.quiet) reportLine(`campaign ${name}: ${submittedText(submitted, parts)}`);
  return EXIT.done;
}

/** The given options that existing streams do not have. */
function keptLines(
  { streams }: Pick<Submitted, "streams">,
  { replicas, resultsLimit }: Pick<OptionsOf<"campaign submit">, "replicas" | "resultsLimit">,
  given: ReadonlyMap<string, unknown>,
): string[] {
  const line = (option: string, is: string) =>
    `--${option} is ignored: the streams exist, and keep ${is}`;
  return [
    ...given.has("replicas") && streams.replicas !== Number(replicas)
      ? [line("replicas", `--replicas ${streams.replicas}`)]
      : [],
    ...given.has("results-limit") && streams.resultsLimit !== resultsLimit
      ? [line("results-limit", `${withCommas(streams.resultsLimit / 2 ** 20)} MiB for results`)]
      : [],
  ];
}

function submittedText({ outcome, state }: Submitted, parts: number): string {
  const stopped = state === "running" ? "" : `; it is ${state}`;
  switch (outcome) {
    case "submitted":
      return `${countOf(parts, "part")} queued. Next: campaign work scans ${
        parts === 1 ? "it" : "them"
      }, campaign collect -o DATABASE writes the rows.`;
    case "completed":
      return `the parts that an earlier submit had not queued are queued now${stopped}`;
    case "unchanged":
      return `already submitted; nothing changed${stopped}`;
  }
}
