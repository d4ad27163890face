/**
 * Plans the passes of an adaptive scan.
 *
 * @module
 */
export { AliasHosts } from "./alias_hosts.ts";
export type {
  DiscoveryPass,
  DiscoveryTargets,
  Estimate,
  IPv4Endpoint,
  PassInput,
  PassPlanner,
  PassResult,
} from "./contract.ts";
export { AdaptiveDiscovery } from "./discovery.ts";
export {
  changeRate,
  jitterOf,
  type LastProbe,
  MIN_REPROBE_MS,
  overdue,
  PRIOR_SCALE,
  RecentYield,
  reprobeMs,
  reprobeScale,
  unchangedChance,
} from "./freshness.ts";
