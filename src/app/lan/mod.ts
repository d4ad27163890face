/**
 * Prepares and runs discoveries on the local networks.
 *
 * @module
 */
export { discoverServers, prepareLanDiscovery } from "./discover_servers.ts";
export { planLanWrites, runDiscovery, type WrittenDiscovery } from "./run_discovery.ts";
