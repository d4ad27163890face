/**
 * The plan of an adaptive scan, as rows and as JSON.
 *
 * @module
 */
import { sweptProtocols } from "../../../protocols/list.ts";
import type { ScanSelection } from "../../../scan/mod.ts";
import type { ChosenLimits } from "../../../app/engines/mod.ts";
import type { AdaptivePlan, Plan } from "../../../app/targets/mod.ts";

import { countOf, withCommas } from "../../../core/quantities.ts";
import { portList } from "../../../targets/ports.ts";

/** With fewer targets, an adaptive scan finds no more than an even one before a tenth of its probes. */
const SMALL = 2 ** 20;
/** Maximum wait for replies between two passes, seconds. */
const MAX_WAIT = 2;

/** The parts of a prepared scan that the plan of an adaptive scan shows. */
interface Planned {
  readonly plan: Pick<Plan, "seconds" | "adaptive">;
  readonly selection: Pick<ScanSelection, "targets">;
  readonly limits: Pick<ChosenLimits, "cooldownMs">;
}

export interface PlannedAdaptive extends Planned {
  readonly plan: Pick<Plan, "seconds"> & { readonly adaptive: AdaptivePlan };
}

export function isAdaptive<Scan extends Planned>(scan: Scan): scan is Scan & PlannedAdaptive {
  return scan.plan.adaptive !== undefined;
}

/** How long the scan takes if it spends its budget, seconds. */
export function wholeSeconds(
  { plan: { seconds, adaptive }, limits: { cooldownMs } }: PlannedAdaptive,
): number {
  const wait = Math.min(cooldownMs / 1000, MAX_WAIT);
  return seconds + (adaptive.passes - 1) * wait + cooldownMs / 1000;
}

/** Whether the scan has so few targets that it gains little. */
function isSmall({ selection: { targets } }: PlannedAdaptive): boolean {
  return targets.addresses.size < BigInt(SMALL);
}

/** The ports of a protocol. */
interface Window {
  readonly protocol: string;
  readonly interviews: false;
  readonly ports: string;
  /** The port on which it is probed first. */
  readonly first: number;
}

/** The ports of each swept protocol. */
export function windowsOf({ targets }: Planned["selection"]): readonly Window[] {
  return sweptProtocols(targets.protocols).map(({ name }) => {
    const ports = targets.ports(name, 4);
    return { protocol: name, interviews: false, ports: portList(ports), first: ports[0] };
  });
}

function memoryText(bytes: number): string {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** The rows of an adaptive scan, in place of those of an even scan. */
export function adaptiveRows(
  planned: PlannedAdaptive,
): readonly (readonly [name: string, text: string | undefined])[] {
  const { budget, evenSweep, endpoints, known, passes, perNetwork, stopBelow, bytes } =
    planned.plan.adaptive;
  const share = withCommas(Math.round(1000 * budget / evenSweep) / 10);
  const end = stopBelow === 0
    ? ""
    : `; less if passes find fewer than ${stopBelow} servers per million probes`;
  return [
    ["passes", `about ${withCommas(passes)}, each planned from the servers of those before`],
    [
      "budget",
      `${countOf(budget, "probe")}, ${share}% of one for each address; ${
        countOf(endpoints, "endpoint")
      } in all${end}`,
    ],
    ["memory", `${memoryText(bytes)} for the counters; more as servers are found`],
    ["networks", `at most ${countOf(perNetwork, "probe")} to a /24`],
    [
      "known",
      known === 0 ? undefined : `${countOf(known, "server")}; those among the targets first`,
    ],
    [
      "note",
      isSmall(planned)
        ? `fewer than ${withCommas(SMALL)} addresses: an adaptive scan gains nothing below 10%`
        : undefined,
    ],
  ];
}

/** The ports of an adaptive scan, and which of them is probed first. */
export function adaptivePortsText(selection: Planned["selection"]): string {
  return windowsOf(selection)
    .map(({ protocol, ports, first }) => `${protocol} ${ports}, first ${first}`).join("; ");
}

export function adaptiveJson(planned: PlannedAdaptive) {
  const { budget, evenSweep, endpoints, known, passes, perNetwork, stopBelow, bytes } =
    planned.plan.adaptive;
  return {
    budget,
    even_sweep: evenSweep,
    endpoints,
    known,
    passes,
    max_per_network: perNetwork,
    stop_below: stopBelow,
    memory_bytes: bytes,
    small: isSmall(planned),
  };
}
