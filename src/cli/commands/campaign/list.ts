/**
 * The command `campaign list`.
 *
 * @module
 */
import { EXIT } from "../../../app/mod.ts";
import { type PrintedColumn, tableLines } from "../../../app/outputs/mod.ts";
import type { OptionsOf } from "../../../app/options/mod.ts";
import type { CampaignEntry, CampaignStatus } from "../../../campaign/mod.ts";
import { withCommas } from "../../../core/quantities.ts";
import { type CommandCall, readCommandLine } from "../../options/command_line.ts";
import { outputColumns, printLines } from "../../term/console.ts";
import { dateText } from "../../term/date_text.ts";
import { printResult } from "../../term/json_results.ts";
import { openCampaigns, whenSubmitted } from "./open_campaigns.ts";

/** Runs `campaign list`; returns the exit code. */
export async function runCampaignList(call: CommandCall): Promise<number> {
  const { options } = readCommandLine("campaign list", call);
  const listed = await whenSubmitted(readList(options), []);
  if (options.json) {
    for (const { name, state, parts, program, submittedAt: submitted_at } of listed) {
      await printResult("campaign list", { name, state, parts, program, submitted_at });
    }
  } else {
    await printLines(listLines(listed, outputColumns() ?? Infinity));
  }
  return EXIT.done;
}

/** The campaigns, the latest first. */
async function readList(options: OptionsOf<"campaign list">): Promise<readonly Listed[]> {
  await using campaigns = await openCampaigns(options);
  const entries = campaigns.control.campaigns();
  const { campaigns: all } = await campaigns.reader.read();
  return all.toReversed().map(({ name, state, submittedAt }) => {
    const { parts, program } = entries.get(name)!;
    return { name, state, submittedAt, parts, program };
  });
}

type Listed =
  & Pick<CampaignStatus, "name" | "state" | "submittedAt">
  & Pick<CampaignEntry, "parts" | "program">;

const COLUMNS: readonly PrintedColumn<Listed>[] = [
  { title: "SUBMITTED (UTC)", width: 19, rank: 1, text: (one) => dateText(one.submittedAt) },
  { title: "STATE", width: 9, rank: 0, text: ({ state }) => state },
  { title: "PARTS", width: 5, rank: 2, text: ({ parts }) => withCommas(parts) },
  { title: "NAME", width: 0, rank: 0, text: ({ name }) => name },
];
/** Spaces between two cells. */
const GAP = 2;

/** Campaigns as a table. */
export function listLines(campaigns: readonly Listed[], space: number): string[] {
  return campaigns.length === 0 ? ["no campaigns"] : tableLines(COLUMNS, campaigns, space, GAP);
}
