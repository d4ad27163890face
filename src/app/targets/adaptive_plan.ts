/**
 * The plan of an adaptive scan: its budget, its passes, and how long it takes.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { countOf, withCommas } from "../../core/quantities.ts";
import { sweptProtocols } from "../../protocols/list.ts";
import {
  type AdaptiveBudget,
  type AdaptiveScan,
  budgetProbes,
  canaryBudget,
  netBudgetOfEach,
  passProbes,
  type PassScale,
  type ScanSelection,
} from "../../scan/mod.ts";
import { segmentsOf } from "../../targets/compose.ts";
import { densityOf } from "../../targets/density.ts";
import {
  type AdaptivePlan,
  type Passes,
  type Plan,
  type PlanInput,
  planScan,
} from "./scan_plan.ts";

/** What the passes of an adaptive scan depend on, and the number of its endpoints. */
export type AdaptiveScale = Pick<AdaptivePlan, keyof PassScale | "endpoints">;

/** The scale of an adaptive scan at a rate limit. */
export function adaptiveScale(
  { targets: { addresses, protocols, ports } }: Pick<ScanSelection, "targets">,
  rate: number | undefined,
): AdaptiveScale {
  const swept = sweptProtocols(protocols);
  const endpoints = swept.flatMap(({ name }) => segmentsOf(addresses, (bits) => ports(name, bits)))
    .reduce((sum, one) => sum + Number(one.addresses.size) * one.ports.length, 0);
  return { evenSweep: Number(addresses.size) * swept.length, rate, endpoints };
}

export interface AdaptivePlanInput extends PlanInput {
  readonly adaptive: AdaptiveScan;
}

export function planAdaptiveScan(input: AdaptivePlanInput, scale: AdaptiveScale): Plan {
  const adaptive = planBudget(input.adaptive, input, scale);
  const protocols = sweptProtocols(input.targets.protocols);
  const even = planScan({
    ...input,
    targets: { ...input.targets, protocols },
    limits: { ...input.limits, retries: 0 },
  });
  const within = ({ protocols, sizes }: Passes): Passes => {
    const most = sizes.map((size) => Math.min(size, adaptive.budget));
    return { protocols, sizes: most, probes: most };
  };
  const { rate } = input.limits.rates;
  const { passes: { udp, tcp } } = even;
  return {
    ...even,
    passes: { udp: within(udp), tcp: within(tcp) },
    limitedBy: rate === undefined ? "nothing" : "rate",
    seconds: rate === undefined ? 0 : adaptive.budget / rate,
    adaptive,
  };
}

/** The budget, the passes and the networks of an adaptive scan. */
function planBudget(
  { budget, netBudget, stopBelow, known, discovery: { bytes } }: AdaptiveScan,
  { targets: { addresses, protocols, ports } }: Pick<ScanSelection, "targets">,
  scale: AdaptiveScale,
): AdaptivePlan {
  const probes = Math.min(budgetProbes(budget, scale), scale.endpoints);
  const densities = sweptProtocols(protocols).map(({ name }) =>
    densityOf(segmentsOf(addresses, (bits) => ports(name, bits)))
  );
  const ofEach = netBudgetOfEach(netBudget, densities.length);
  return {
    ...scale,
    budget: probes,
    known: known.length,
    passes: passesUntil(probes, known.length, scale),
    // The second look probes again what did not reply.
    perNetwork: Math.min(
      probes,
      densities.reduce((sum, { net }) => sum + Math.min(2 * net, ofEach), canaryBudget(netBudget)),
    ),
    stopBelow,
    bytes,
  };
}

/** Number of passes until a budget is spent; the first ones probe only known servers. */
function passesUntil(budget: number, known: number, scale: PassScale): number {
  let [spent, passes] = [0, 0];
  for (; spent < budget; passes++) {
    const probes = passProbes(spent, scale);
    spent += spent < known ? Math.min(probes, known - spent) : probes;
  }
  return passes;
}

/**
 * Checks a budget that the user named.
 *
 * @param text The budget as the user wrote it.
 * @throws InputError for fewer probes than the least pass has at the rate limit, and for more than there
 * are targets. Without a rate limit a pass may be as small as the budget.
 */
export function checkBudget(budget: AdaptiveBudget, text: string, scale: AdaptiveScale): void {
  const { evenSweep, endpoints, rate } = scale;
  const probes = budgetProbes(budget, scale);
  const least = rate === undefined ? 1 : Math.min(passProbes(0, scale), endpoints);
  const refuse = (reason: string) => new InputError(`Cannot use --budget ${text}: ${reason}`);
  if (probes < least) {
    throw refuse(
      `it is ${countOf(probes, "probe")}, and a pass has at least ${withCommas(least)} at ` +
        `${withCommas(rate!)}/s: give a larger budget, or a lower --rate`,
    );
  }
  if ("ms" in budget || probes <= endpoints) return;
  throw refuse(
    `it is ${countOf(probes, "probe")}, and there are ${
      withCommas(endpoints)
    } endpoints to probe ` +
      `(100% is ${withCommas(evenSweep)})`,
  );
}
