/**
 * Prepares a scan whose options were read: finds and checks its targets, plans it and chooses the
 * engine. Nothing is sent, and no output is opened.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import type { Network } from "../../net/mod.ts";
import type { AdaptiveScan, ScanSelection } from "../../scan/mod.ts";
import { contextNetwork } from "../network/call_context.ts";
import { chooseEngine, type Engine, spareThreads } from "../engines/choose_engine.ts";
import { engineConditions } from "../engines/load_engines.ts";
import type { OptionForm } from "../options/given_options.ts";
import { checkMarks } from "../resume/read_resumed_scan.ts";
import { type Configuration, lastingOptions, orderDigest } from "../resume/scan_configuration.ts";
import type { NamedTargets } from "../targets/find_targets.ts";
import { requireContact, requirePermission } from "../targets/require_permission.ts";
import { type Plan, type PlanInput, planScan } from "../targets/scan_plan.ts";
import { type LocatedTargets, locateTargets } from "./locate_targets.ts";
import type { ScanRequest } from "./read_scan.ts";
import { scanSelection } from "./scan_choice.ts";
import { type ChosenLimits, fastest, scanLimits } from "../engines/scan_rates.ts";

/** A scan that is ready to run. Each value was computed once, and its stages take their parts. */
export interface PreparedScan extends ScanRequest, LocatedTargets {
  /** What is probed, and in which order. */
  readonly selection: ScanSelection;
  /** How an adaptive scan is planned; `undefined`: each endpoint is probed once. */
  readonly adaptive: AdaptiveScan | undefined;
  /** Rates, timeouts and numbers. */
  readonly limits: ChosenLimits;
  /** What would be sent, and how long it takes. */
  readonly plan: Plan;
  readonly engine: Engine;
  /** Number of sender threads. */
  readonly threads: number;
  readonly network: Network;
  /** Receives a line for the user, unless the option `quiet` is given. */
  readonly report: (line: string) => void;
}

/**
 * The configuration of a scan, from which it can be prepared again.
 *
 * @param kept The options that it contains if they were given.
 * @param responders Endpoints that count as responders. Default: none.
 */
export function configurationOf(
  { given, found, whole, choice }: Pick<PreparedScan, "given" | "found" | "whole" | "choice">,
  scanId: string,
  kept: readonly OptionForm[],
  responders: readonly Endpoint[] = [],
): Configuration {
  return {
    scanId,
    given: lastingOptions(given, choice.order.seed, kept),
    found,
    responders,
    order: orderDigest(whole, choice),
  };
}

/**
 * Finds the targets of a scan, plans it, and chooses the engine.
 *
 * @throws InputError for targets that cannot be used, and for a scan that needs a permission; a dry run
 * and a list of targets need none.
 */
export async function prepareScan(request: ScanRequest): Promise<PreparedScan> {
  const { options, choice, context, resumed } = request;
  const [note, report] = options.quiet ? [() => {}, () => {}] : [context.note, context.warn];
  const network = contextNetwork({ ...context, note }, options.optOutFile);
  const located = await locateTargets(request, network);
  const { targets } = located.named;
  const limits = scanLimits(options, located.whole, choice);
  const selection = scanSelection(choice, located.named);
  const input = { ...selection, limits: { ...limits, rates: fastest(limits) } };
  const { adaptive, plan } = choice.adaptive === undefined
    ? { adaptive: undefined, plan: planScan(input) }
    : await planAdaptive(request, located.named, input, limits);
  if (adaptive === undefined) checkMarks(selection.order.from, plan.passes, resumed?.path);
  const isPortable = options.listTargets || context.network !== undefined;
  const engine: Engine = isPortable
    ? { name: "portable", open: (local, _thread, gate) => network.openSocket(local, gate) }
    : await chooseEngine(options.engine, engineConditions(targets, options), report);
  let { given } = request;
  if (!options.dryRun && !options.listTargets) {
    const permission = context.nameOf("i-have-permission");
    requirePermission(located.whole, plan, options.iHavePermission, permission);
    given = await requireContact(located.whole, given, context);
  }
  const threads = options.threads ?? spareThreads(options, engine, fastest(limits));
  const planned = { selection, adaptive, limits, plan, engine, threads, network, report };
  return { ...request, given, ...located, ...planned };
}

/**
 * Plans an adaptive scan.
 *
 * @throws InputError for a budget that does not fit the targets and the rate.
 */
async function planAdaptive(
  { choice, resumed, given: { given } }: ScanRequest,
  { known }: NamedTargets,
  input: PlanInput,
  { rates: { rate } }: ChosenLimits,
): Promise<Required<Pick<PreparedScan, "adaptive" | "plan">>> {
  const { adaptiveSetup } = await import("./adaptive_choice.ts");
  const plans = await import("../targets/adaptive_plan.ts");
  const setup = adaptiveSetup(choice, known);
  const scale = plans.adaptiveScale(input, rate);
  const [text] = given.get("budget") ?? [];
  if (text !== undefined && resumed === undefined) plans.checkBudget(setup.budget, text, scale);
  const { openDiscovery } = await import("./open_discovery.ts");
  const adaptive = openDiscovery(setup, input, resumed);
  return { adaptive, plan: plans.planAdaptiveScan({ ...input, adaptive }, scale) };
}
