/**
 * Plans in which protocols known servers are queried. Until a server replies, it is queried only in
 * its known protocols and in siblings of these, because it may have changed its transport. After a
 * reply, it is also queried in the other protocols of the scan.
 *
 * @module
 */
import { type Endpoint, endpointKey } from "../../core/address.ts";
import { sendable } from "../../inspect/mod.ts";
import { siblingsOf } from "../../protocols/declared_facts.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { AddressSet } from "../../targets/ranges.ts";
import { segmentsOf } from "../../targets/compose.ts";
import { isWhole, TargetSpace } from "../../targets/space.ts";
import type { KnownTarget, ScanSelection, ScanTargets } from "../setup/scan_setup.ts";

/** The protocols in which a known server is queried. */
export interface KnownPlan {
  /** Names of the protocols that the server is known to speak, as far as it may be queried in them. */
  readonly known: readonly string[];
  /** Protocols that are used before a reply; empty: nothing is sent to the server. */
  readonly probed: readonly Protocol[];
  /** All protocols of the plan: `probed`, and those that are used after a reply. */
  readonly all: readonly Protocol[];
  /**
   * Whether an interview sends the protocols `probed` to the server, and no pass visits the server.
   */
  readonly interviewed: boolean;
}

/** The options of a scan that determine the plans of known servers. */
export type KnownOptions = Pick<
  ScanTargets,
  "protocols" | "allProtocols" | "known" | "queriesKnown"
>;

/**
 * Plans the protocols of a server. Before a reply: those of its known protocols that the scan may
 * use, and their siblings among the protocols of the scan. After a reply: the other protocols of the scan too, because the server may support them by
 * now, or an earlier reply in them may have been lost. With `queriesKnown`, a server of a
 * suppressible protocol gets no follow-ups. A server without known protocols is queried in all
 * protocols of the scan.
 */
export function planFor(spoken: readonly string[], options: KnownOptions): KnownPlan {
  const { protocols, allProtocols, queriesKnown } = options;
  const known = sendable(new Set(spoken), allProtocols);
  const names = known.map(({ name }) => name);
  if (known.length === 0) {
    return { known: names, probed: protocols, all: protocols, interviewed: false };
  }
  const lead = known.find(({ suppressedBy }) => suppressedBy !== undefined);
  const siblings = siblingsOf(names, allProtocols).filter((one) =>
    protocols.includes(one) && one.name !== lead?.suppressedBy
  );
  const own = queriesKnown ? known : known.filter((one) => protocols.includes(one));
  const probed = [...own, ...siblings];
  const isAlone = queriesKnown && lead !== undefined;
  const more = isAlone || probed.length === 0
    ? []
    : protocols.filter((one) => !probed.includes(one) && one.name !== lead?.suppressedBy);
  const interviewed = probed.some((one) => one === lead || !protocols.includes(one));
  return { known: names, probed, all: [...probed, ...more], interviewed };
}

/** The plans of all known servers, by the keys of their endpoints. */
export function knownPlans(options: KnownOptions): ReadonlyMap<number | bigint, KnownPlan> {
  const plans = new Map<string, KnownPlan>();
  return new Map(
    options.known?.map(({ endpoint, protocols }) => {
      const key = protocols.join();
      const plan = plans.get(key) ?? planFor(protocols, options);
      plans.set(key, plan);
      return [endpointKey(endpoint), plan];
    }),
  );
}

/** Whether passes of a protocol visit the servers of a plan. */
export function isVisited({ probed, interviewed }: KnownPlan, protocol: Protocol): boolean {
  return !interviewed && probed.includes(protocol);
}

/** Whether detecting passes of a protocol visit the servers of a plan. */
export function isDetectionTarget({ probed, interviewed }: KnownPlan, { name }: Protocol): boolean {
  return !interviewed && probed.some(({ suppressedBy }) => suppressedBy === name);
}

/**
 * Returns a function that tests whether a known server is a target. Exclusions or a limit may omit
 * it.
 */
export function targeted({ targets, order }: ScanSelection): (server: KnownTarget) => boolean {
  const { addresses, protocols: [{ name }], ports } = targets;
  if (isWhole(order)) {
    const all = new AddressSet(addresses.groups.flatMap(({ addresses }) => [...addresses]));
    return ({ endpoint }) => all.has(endpoint.address);
  }
  const segments = segmentsOf(addresses, (bits) => ports(name, bits));
  const space = new TargetSpace(segments, order);
  return ({ endpoint }) => space.has(endpoint);
}

/** The number of known servers among the targets, by plan. */
export function countPlans(selection: ScanSelection): ReadonlyMap<KnownPlan, number> {
  const counts = new Map<KnownPlan, number>();
  const { known = [] } = selection.targets;
  if (known.length === 0) return counts;
  const plans = knownPlans(selection.targets);
  const isTarget = targeted(selection);
  for (const server of known) {
    const plan = plans.get(endpointKey(server.endpoint))!;
    if (isTarget(server)) counts.set(plan, (counts.get(plan) ?? 0) + 1);
  }
  return counts;
}

/**
 * Makes a function that returns the names of all protocols in which a known server may be queried,
 * including follow-ups. For other endpoints it returns `undefined`.
 */
export function knownProtocolNames(
  options: KnownOptions,
): (endpoint: Endpoint) => readonly string[] | undefined {
  const plans = knownPlans(options);
  return (endpoint) => plans.get(endpointKey(endpoint))?.all.map(({ name }) => name);
}
