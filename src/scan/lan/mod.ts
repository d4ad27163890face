export { ANNOUNCEMENT_GROUPS, LONGEST_ANNOUNCEMENT, worldTitle } from "../../protocols/lan/mod.ts";
export * from "./swept_networks.ts";
export * from "./found_servers.ts";
export * from "./discovery_setup.ts";
export * from "./lan_discovery.ts";
