/**
 * The targets of a scan, one line each, in the order in which they would be probed.
 *
 * @module
 */
import {
  type Address,
  type Endpoint,
  endpointKey,
  formatAddress,
  formatEndpoint,
} from "../../../core/address.ts";
import type { Protocol } from "../../../protocols/protocol.ts";
import {
  isDetectionTarget,
  isVisited,
  type KnownPlan,
  knownPlans,
  scanPasses,
  type ScanSelection,
  targeted,
} from "../../../scan/mod.ts";
import { spaceOf } from "../../../sweep/mod.ts";
import { AddressSet } from "../../../targets/ranges.ts";
import type { ProbeSpace } from "../../../targets/space.ts";
import { print } from "../../term/console.ts";
import { resultLine } from "../../term/json_results.ts";

/** Number of lines that are printed together. */
const LINES = 1000;

/** A pass, and the known servers that it visits. */
interface Listed {
  readonly protocol: Protocol;
  readonly space: ProbeSpace;
  readonly visits: (plan: KnownPlan, protocol: Protocol) => boolean;
}

/** Prints all targets in the order of the first passes, protocol by protocol, and the interviews. */
export async function printTargets(
  selection: ScanSelection,
  retries: number,
  json: boolean,
): Promise<void> {
  const lineOf = json ? targetJson : targetText;
  let lines: string[] = [];
  for (const line of targetLines(selection, retries, lineOf)) {
    if (lines.push(line) < LINES) continue;
    await print(lines.join("\n"));
    lines = [];
  }
  if (lines.length > 0) await print(lines.join("\n"));
}

/** Formats a target, and the protocol of its probe. */
type LineOf = (target: Endpoint, protocol: string) => string;

const targetText: LineOf = (target, protocol) => `${formatEndpoint(target)} ${protocol}`;

const targetJson: LineOf = ({ address, port }, protocol) =>
  resultLine("scan --list-targets", { host: formatAddress(address), port, protocol });

function* targetLines(
  selection: ScanSelection,
  retries: number,
  lineOf: LineOf,
): Generator<string> {
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
      yield lineOf(target, protocol.name);
    }
  }
  const isTarget = targeted(selection);
  for (const server of targets.known ?? []) {
    const { probed, interviewed } = plans.get(endpointKey(server.endpoint))!;
    if (!interviewed || optedOutSet.has(server.endpoint.address) || !isTarget(server)) continue;
    for (const { name } of probed) yield lineOf(server.endpoint, name);
  }
}

/** The first pass of each protocol, preceded by the passes that only detect servers of another protocol. */
function firstPasses(selection: ScanSelection, retries: number): Listed[] {
  const { targets: { protocols }, order } = selection;
  const { detectionPasses, udp, tcp } = scanPasses(selection, retries);
  const detection = detectionPasses.filter((_, i) => i % (retries + 1) === 0)
    .map((pass) => ({
      protocol: pass.suppressor,
      space: spaceOf(pass, order),
      visits: isDetectionTarget,
    }));
  const passes = protocols.flatMap((protocol) => {
    const first = [...udp, ...tcp].find((pass) => pass.protocol === protocol.name);
    return first === undefined ? [] : { protocol, space: spaceOf(first, order), visits: isVisited };
  });
  return [...detection, ...passes];
}
