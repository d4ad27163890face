/**
 * The targets of a scan, one line each, in the order in which they would be probed.
 *
 * @module
 */
import { type Address, endpointKey, formatEndpoint } from "../../../core/address.ts";
import type { Protocol } from "../../../protocols/protocol.ts";
import type { ScanSelection } from "../../../scan/scan_setup.ts";
import { planSuppression } from "../../../scan/sweep_stage/suppression_plan.ts";
import {
  isLookedFor,
  isVisited,
  type KnownPlan,
  knownPlans,
  targeted,
} from "../../../scan/inspect_stage/known_server_plan.ts";
import { CONNECTION_ORDERS } from "../../../sweep/passes.ts";
import { segmentsOf } from "../../../targets/compose.ts";
import { AddressSet } from "../../../targets/ranges.ts";
import { TargetSpace } from "../../../targets/space.ts";
import { print } from "../../term/console.ts";

/** Lines that are gathered before they are printed. */
const LINES = 1000;

/** One pass, and which known servers it visits. */
interface Listed {
  readonly protocol: Protocol;
  readonly space: TargetSpace;
  readonly visits: (plan: KnownPlan, protocol: Protocol) => boolean;
}

/** Prints all targets in the order of the first passes, protocol by protocol, and the interviews. */
export async function printTargets(selection: ScanSelection, retries: number): Promise<void> {
  let lines: string[] = [];
  for (const line of targetLines(selection, retries)) {
    if (lines.push(line) < LINES) continue;
    await print(lines.join("\n"));
    lines = [];
  }
  if (lines.length > 0) await print(lines.join("\n"));
}

function* targetLines(selection: ScanSelection, retries: number): Generator<string> {
  const { targets } = selection;
  const optedOutSet = new AddressSet(targets.optedOut);
  const plans = knownPlans(targets);
  const target = { address: 0 as Address, port: 0 };
  for (const { protocol, space, visits } of firstPasses(selection, retries)) {
    for (let position = 0; position < space.size; position++) {
      space.at(position, target);
      const plan = plans.size === 0 ? undefined : plans.get(endpointKey(target));
      if (optedOutSet.has(target.address) || plan !== undefined && !visits(plan, protocol)) {
        continue;
      }
      yield `${formatEndpoint(target)} ${protocol.name}`;
    }
  }
  const isTarget = targeted(selection);
  for (const server of targets.known ?? []) {
    const { probed, interviewed } = plans.get(endpointKey(server.endpoint))!;
    if (!interviewed || optedOutSet.has(server.endpoint.address) || !isTarget(server)) continue;
    for (const { name } of probed) yield `${formatEndpoint(server.endpoint)} ${name}`;
  }
}

/** The first pass of each protocol, preceded by the passes that only detect servers of another protocol. */
function firstPasses(selection: ScanSelection, retries: number): Listed[] {
  const { targets: { addresses, protocols, ports }, order } = selection;
  const guards = planSuppression(selection).map(({ protocol, segments }) => ({
    protocol,
    space: new TargetSpace(segments, { ...order, pass: 1 }),
    visits: isLookedFor,
  }));
  const seen = { udp: 0, tcp: 0 };
  const passes = protocols.map((protocol) => {
    const { name, transport } = protocol;
    const segments = segmentsOf(addresses, (bits) => ports(name, bits));
    const first = seen[transport]++ * (retries + 1) + 1;
    const pass = transport === "tcp" ? CONNECTION_ORDERS + first : first;
    const space = new TargetSpace(segments, { ...order, pass });
    return { protocol, space, visits: isVisited };
  });
  return [...guards, ...passes];
}
