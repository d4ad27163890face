/**
 * Creates the discovery of an adaptive scan, and replays the passes of its earlier runs.
 *
 * @module
 */
import {
  AdaptiveDiscovery,
  type DiscoveryTargets,
  type IPv4Endpoint,
} from "../../discovery/mod.ts";
import {
  type AdaptiveScan,
  type AdaptiveSetup,
  netBudgetOfEach,
  parsePassRecord,
  replayPasses,
  type ScanSelection,
} from "../../scan/mod.ts";
import { sweptProtocols } from "../../protocols/list.ts";
import { type Range, RangeSet } from "../../targets/ranges.ts";
import type { Resumed } from "../resume/read_resumed_scan.ts";

function isIPv4(range: Range): range is Range<number> {
  return typeof range.start === "number";
}

/** The discovery that plans the passes of an adaptive scan. */
export function newDiscovery(
  { known, netBudget }: AdaptiveSetup,
  { targets: { addresses, protocols, ports }, order: { seed } }: ScanSelection,
): AdaptiveDiscovery {
  const ranges = addresses.groups.flatMap(({ addresses }) => [...addresses]);
  const ipv4 = RangeSet.of(ranges.filter(isIPv4));
  const targets: DiscoveryTargets[] = sweptProtocols(protocols).map(({ name }) => ({
    protocol: name,
    addresses: ipv4,
    ports: ports(name, 4),
    known: known.flatMap(({ endpoint: { address, port }, protocol }): IPv4Endpoint[] =>
      protocol === name && typeof address === "number" ? [{ address, port }] : []
    ),
  }));
  return new AdaptiveDiscovery({
    targets,
    seed: seed!,
    netBudget: netBudgetOfEach(netBudget, targets.length),
  });
}

/**
 * An adaptive scan at its beginning, or after the closed passes of its earlier runs.
 *
 * @throws InputError for passes that were changed, or that are planned differently now.
 */
export function openDiscovery(
  setup: AdaptiveSetup,
  selection: ScanSelection,
  resumed: Resumed | undefined,
): AdaptiveScan {
  const discovery = newDiscovery(setup, selection);
  const protocols = sweptProtocols(selection.targets.protocols);
  if (resumed === undefined) return { ...setup, discovery, protocols, earlier: [] };
  const { path, writtenRows: { passes } } = resumed;
  const earlier = passes.map((line) => parsePassRecord(line, path));
  replayPasses(discovery, earlier, path);
  return { ...setup, discovery, protocols, earlier };
}
