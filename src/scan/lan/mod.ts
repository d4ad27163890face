/**
 * Finds servers on the local networks.
 *
 * @module
 */
export {
  broadcastProtocol,
  type DiscoverySetup,
  type LanEnd,
  type LocalLink,
  type LocalNetwork,
} from "./discovery_setup.ts";
export { FoundServers, type Listed } from "./found_servers.ts";
export {
  ANNOUNCEMENT_GROUPS,
  discover,
  LONGEST_ANNOUNCEMENT,
  worldTitle,
} from "./lan_discovery.ts";
export { chooseSweptNetworks, type LocalInterface, type SweptNetworks } from "./swept_networks.ts";
