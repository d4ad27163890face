/**
 * The commands that change campaigns: `campaign pause`, `resume`, `cancel`, `retry`, `remove` and
 * `opt-out`.
 *
 * @module
 */
import { EXIT } from "../../../app/mod.ts";
import {
  brokerError,
  type CampaignChange,
  campaignEntry,
  type CampaignStatus,
  cancelParts,
  changeState,
  removeCampaign,
  retryPoisoned,
} from "../../../campaign/mod.ts";
import { formatAddress, parseAddress } from "../../../core/address.ts";
import { InputError } from "../../../core/errors.ts";
import { countOf } from "../../../core/quantities.ts";
import { systemClock } from "../../../net/clock.ts";
import { rangeOfOne, unmapped } from "../../../targets/ranges.ts";
import { type CommandCall, readCommandLine } from "../../options/command_line.ts";
import { reportLine } from "../../term/console.ts";
import {
  type OpenCampaigns,
  openCampaigns,
  readCampaignStatus,
  requiredName,
} from "./open_campaigns.ts";

type ChangeCommand = `campaign ${CampaignChange | "retry" | "remove"}`;

/** Runs `campaign pause`; returns the exit code. */
export async function runCampaignPause(call: CommandCall): Promise<number> {
  return await changed("campaign pause", call, async ({ control }, status) => {
    await changeState(control, status, "pause");
    return "is paused; its workers stop, and keep the progress of their parts";
  });
}

/** Runs `campaign resume`; returns the exit code. */
export async function runCampaignResume(call: CommandCall): Promise<number> {
  return await changed("campaign resume", call, async ({ control }, status) => {
    await changeState(control, status, "resume");
    return "runs again";
  });
}

/** Runs `campaign cancel`; returns the exit code. */
export async function runCampaignCancel(call: CommandCall): Promise<number> {
  return await changed("campaign cancel", call, async ({ broker, control }, status) => {
    await changeState(control, status, "cancel");
    const entry = campaignEntry(control, status.name);
    const held = await cancelParts(broker, status.name, entry, systemClock);
    return `is cancelled${held === 0 ? "" : `; workers are ending ${countOf(held, "part")}`}`;
  });
}

/** Runs `campaign retry`; returns the exit code. */
export async function runCampaignRetry(call: CommandCall): Promise<number> {
  return await changed("campaign retry", call, async ({ broker, control }, status) => {
    const entry = campaignEntry(control, status.name);
    const parts = await retryPoisoned(broker, status, entry, systemClock);
    return parts === 0 ? "has no poisoned parts" : `has ${countOf(parts, "part")} queued again`;
  });
}

/** Runs `campaign remove`; returns the exit code. */
export async function runCampaignRemove(call: CommandCall): Promise<number> {
  return await changed("campaign remove", call, async ({ broker, control }, status) => {
    return await removeCampaign(broker, control, status)
      ? "is removed"
      : "is removed, with results that not all databases have";
  });
}

/** Changes the campaign that a command names, and reports the result. */
async function changed(
  command: ChangeCommand,
  call: CommandCall,
  change: (campaigns: OpenCampaigns, status: CampaignStatus) => Promise<string>,
): Promise<number> {
  const { words, options } = readCommandLine(command, call);
  const name = requiredName(words, command);
  await using campaigns = await openCampaigns(options);
  const status = await readCampaignStatus(campaigns, name);
  const result = await change(campaigns, status).catch((error) => {
    throw brokerError(error, campaigns.broker.urls);
  });
  reportLine(`campaign ${name} ${result}`);
  return EXIT.done;
}

/** Runs `campaign opt-out`; returns the exit code. */
export async function runCampaignOptOut(call: CommandCall): Promise<number> {
  const { words, options } = readCommandLine("campaign opt-out", call);
  if (words.length === 0) throw new InputError("Cannot opt out: name addresses");
  const addresses = words.map((word) => {
    const address = parseAddress(word);
    if (address !== undefined) return unmapped(rangeOfOne(address)).start;
    throw new InputError(`Cannot opt out "${word}": expected an address, for example 10.0.0.7`);
  });
  await using campaigns = await openCampaigns(options);
  for (const address of addresses) await campaigns.control.addOptOut(address, "campaign opt-out");
  const [first, ...others] = addresses.map(formatAddress);
  const shown = others.length === 0
    ? `${first} has`
    : `${countOf(addresses.length, "address", "addresses")} have`;
  reportLine(`${shown} opted out: no campaign probes ${others.length === 0 ? "it" : "them"}`);
  return EXIT.done;
}
