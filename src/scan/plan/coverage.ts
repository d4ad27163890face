/**
 * The coverage of a complete scan: the endpoints and protocols that it probed. With the coverage, a
 * database distinguishes servers that did not reply from servers that were not probed.
 *
 * @module
 */
import { type Address, endpointKey, formatAddress } from "../../core/address.ts";
import { sendable } from "../../inspect/mod.ts";
import { AddressSet } from "../../targets/ranges.ts";
import { segmentsOf } from "../../targets/compose.ts";
import { type ProbeSpace, TargetSpace } from "../../targets/space.ts";
import type { AdaptiveScan } from "../setup/adaptive_setup.ts";
import { knownPlans } from "./known_server_plan.ts";
import type { ScanSelection } from "../setup/scan_setup.ts";

export interface CoverageOptions extends ScanSelection {
  /** The passes of an adaptive scan. Default: all targets were probed. */
  readonly adaptive?: AdaptiveScan;
  /** Addresses of hosts that flooded, as text. Replies of these hosts may not have been read. */
  readonly flooding?: readonly string[];
  /**
   * Protocols in which floods disturbed every pass. Replies in these passes may have been lost.
   * Default: none.
   */
  readonly disturbed?: readonly string[];
  /**
   * Whether floods disturbed any pass. Replies in concurrent interviews may then have been lost.
   */
  readonly interviewsDisturbed?: boolean;
  /** Whether replies in protocols that echo nothing were omitted. Default: false. */
  readonly omitted?: boolean;
}

/** The endpoints and protocols that a scan has probed completely. */
export interface ScanCoverage {
  /** Address ranges that contain all probed endpoints. */
  readonly ranges: readonly { readonly start: Address; readonly end: Address }[];
  /**
   * Whether an endpoint was probed in one of these protocols; with an empty list, in any protocol.
   *
   * A protocol that is only used for follow-ups does not count as probed. A server that was known
   * before the scan counts when it was probed in all these protocols, except suppressed ones. A
   * server whose reply in one of these protocols may have been lost in a flood does not count.
   */
  readonly includes: (address: Address, port: number, protocols: readonly string[]) => boolean;
}

/** The endpoints that an adaptive scan probed in a protocol. */
function sampledBy(
  { discovery, protocols }: AdaptiveScan,
  protocol: string,
): Pick<ProbeSpace, "has"> {
  const index = protocols.findIndex(({ name }) => name === protocol);
  return { has: ({ address, port }) => index >= 0 && discovery.wasProbed(index, address, port) };
}

export function coverageOf(options: CoverageOptions): ScanCoverage {
  const { addresses, protocols, ports, optedOut, allProtocols } = options.targets;
  const excluded = new AddressSet(optedOut);
  const flooding = new Set(options.flooding);
  const disturbed = new Set(options.disturbed);
  const plans = knownPlans(options.targets);
  const { adaptive } = options;
  const spaces = protocols.map(({ name, probe }) => {
    const unsure = options.omitted && probe?.macMask === 0;
    if (adaptive !== undefined) return { name, space: sampledBy(adaptive, name), unsure };
    const segments = segmentsOf(addresses, (bits) => ports(name, bits));
    return { name, space: new TargetSpace(segments, options.order), unsure };
  });
  return {
    ranges: addresses.groups.flatMap(({ addresses }) => [...addresses]),
    includes: (address, port, spoken) => {
      if (excluded.has(address)) return false;
      if (flooding.size > 0 && flooding.has(formatAddress(address))) return false;
      const plan = plans.get(endpointKey({ address, port }));
      const reached = spaces.filter(({ space }) => space.has({ address, port }));
      const maySpeak = (name: string) => spoken.length === 0 || spoken.includes(name);
      const mayBeLost = plan?.interviewed
        ? options.interviewsDisturbed
        : reached.some(({ name }) => disturbed.has(name) && maySpeak(name));
      if (mayBeLost) return false;
      const sure = reached.filter(({ unsure }) => !unsure);
      const isReached = (name: string) => sure.some((space) => space.name === name);
      if (plan === undefined) {
        return spoken.length === 0 ? sure.length > 0 : spoken.some(isReached);
      }
      const isSent = (name: string) =>
        plan.probed.some((one) => one.name === name) &&
        (plan.interviewed ? reached.length > 0 : isReached(name));
      const wanted = sendable(new Set(spoken), allProtocols).map(({ name }) => name);
      return wanted.length === 0
        ? plan.probed.some(({ name }) => isSent(name))
        : wanted.every(isSent);
    },
  };
}
