/**
 * Prepares a campaign: finds its targets, plans it, and divides it into parts. Nothing is sent, and
 * nothing is written.
 *
 * @module
 */
import { type CallContext, contextNetwork } from "../../app/network/call_context.ts";
import { type GivenOptions, type OptionsOf, readOptions } from "../../app/options/mod.ts";
import {
  locateTargets,
  type ScanChoice,
  scanChoice,
  type ScanContext,
  scanSelection,
} from "../../app/scan/mod.ts";
import { type ChosenLimits, scanLimits } from "../../app/engines/mod.ts";
import { newScanId, randomSeed } from "../../app/mod.ts";
import {
  composeTargets,
  type NamedTargets,
  type Plan,
  planScan,
  requireContact,
  requirePermission,
} from "../../app/targets/mod.ts";
import type { Network } from "../../net/mod.ts";
import { type ScanSelection, START } from "../../scan/mod.ts";
import { InputError } from "../../core/errors.ts";
import type { Targets } from "../../targets/compose.ts";
import { Shards } from "../../targets/shards.ts";
import { defaultParts, type DividedScan, type Spec, specOf } from "../spec.ts";

export type SubmitOptions = OptionsOf<"campaign submit">;

export interface PreparedCampaign {
  readonly options: SubmitOptions;
  /** What workers read: the options of their scans, and the targets without opt-outs. */
  readonly spec: Spec;
  /** The targets, and the addresses of the opt-out file. */
  readonly named: NamedTargets;
  /** What is probed, and in which order. */
  readonly selection: ScanSelection;
  /** The limits of the campaign: its rate is that of all workers. */
  readonly limits: ChosenLimits;
  /** What all workers send. */
  readonly plan: Plan;
  /** What one worker sends for the first part, at its share of the rate. */
  readonly firstPart: Plan;
  /** Number of networks with targets: /24, and /48 of IPv6. */
  readonly networks: number;
  readonly network: Network;
}

/** What a campaign has in place of the options `shard`, `from` and `rescan`. */
const WHOLE = { shard: { index: 1, count: 1 }, from: START, rescan: undefined };

/** The name of a campaign without `--name`: the time in UTC, `2026-01-31-1430`. */
export function usualName(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace("T", "-").replace(":", "");
}

/**
 * Prepares the campaign that options describe.
 *
 * @throws InputError for options and targets that cannot be used, and for a campaign that needs a
 * permission; a dry run needs none.
 */
export async function prepareCampaign(
  typed: GivenOptions,
  context: CallContext & Pick<ScanContext, "program">,
): Promise<PreparedCampaign> {
  const options = readOptions("campaign submit", typed, context);
  if (options.json && !options.dryRun) {
    throw new InputError("Cannot use --json without --dry-run: a submit prints no results");
  }
  const choice = scanChoice({ ...options, ...WHOLE }, randomSeed);
  const network = contextNetwork(context, options.optOutFile);
  const { found, named } = await locateTargets({
    given: typed,
    choice,
    context,
    options: { ...options, ...WHOLE },
  }, network);
  // Workers do not have the submitter's opt-out file: its addresses are exclusions for them.
  const open = { ...found, excluded: [...found.excluded, ...named.optedOut] };
  const left = composeTargets(open, []);
  const divided = dividedScan(options, choice, left);
  let given = typed;
  if (!options.dryRun) {
    const permission = context.nameOf("i-have-permission");
    requirePermission(named.targets, divided.plan, options.iHavePermission, permission);
    given = await requireContact(named.targets, typed, context);
  }
  const scan = { given, choice, found: open, whole: left.targets, limits: divided.limits, context };
  const spec = specAt(network.clock.wall(), scan, { ...options, ...divided });
  return { ...divided, spec, options, named, network };
}

/** The spec of a campaign that is submitted at a time, Unix milliseconds. */
function specAt(
  submittedAt: number,
  scan: DividedScan,
  { name = usualName(submittedAt), parts, maxRunning, ackWait: ackWaitMs, views }: {
    readonly parts: number;
    readonly maxRunning: number;
  } & Pick<SubmitOptions, "name" | "ackWait" | "views">,
): Spec {
  return specOf(scan, newScanId(submittedAt), {
    ...{ name, submittedAt, parts, maxRunning, ackWaitMs },
    ...views > 1 && { views },
  });
}

/** Divides a scan into parts, and plans it. */
function dividedScan(options: SubmitOptions, choice: ScanChoice, named: NamedTargets) {
  const { targets } = named;
  const { seed } = choice.order;
  const { networks } = new Shards(targets, 1, seed);
  const selection = scanSelection(choice, named);
  const limits = scanLimits(options, targets, choice);
  const { rates: { rate, ...caps } } = limits;
  const planOf = (addresses: Targets, share: number) =>
    planScan({
      ...selection,
      targets: { ...selection.targets, addresses },
      limits: { ...limits, rates: { ...caps, rate: rate && rate / share } },
    });
  const usual = defaultParts(planOf(targets, options.maxRunning).seconds, networks);
  const parts = Math.min(options.parts ?? usual, networks);
  const maxRunning = Math.min(options.maxRunning, parts);
  return {
    networks,
    parts,
    maxRunning,
    selection,
    limits,
    plan: planOf(targets, 1),
    firstPart: planOf(new Shards(targets, parts, seed).cut(1), maxRunning),
  };
}
