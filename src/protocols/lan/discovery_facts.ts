/**
 * Constants of LAN discovery: the protocol names of its rows, and the multicast groups of
 * announcements.
 *
 * @module
 */
import type { ServerRecord } from "../../core/record.ts";

/** The `protocol` values of worlds that discovery on the LAN finds. */
export const LAN_PROTOCOLS = {
  /** A Java world that announces itself by multicast. */
  announcement: "lan",
  /** A Bedrock world that replied to NetherNet discovery. */
  nethernet: "nethernet",
} as const;

/** The values of LAN_PROTOCOLS that are not in PROTOCOLS, in order of rank, below all of PROTOCOLS. */
export const LAN_RANKS: readonly string[] = [LAN_PROTOCOLS.announcement];

/** The meanings of the flags of LAN discovery. */
export const LAN_FLAGS: Readonly<Record<"hostIgnored" | "noMotd", string>> = {
  hostIgnored: "the announcement names an address; the game uses the sender's",
  noMotd: "the announcement has no name",
};

/**
 * The multicast groups of Java worlds' announcements, by address family: 224.0.2.60 and, of modded
 * worlds whose host prefers IPv6 (MinecraftForge, NeoForge's DualStackUtils), ff75:230::60. Port 4445.
 */
export const ANNOUNCEMENT_GROUPS = {
  4: { address: 0xe000023c, port: 4445 },
  6: { address: 0xff75_0230n << 96n | 0x60n, port: 4445 },
} as const;

/**
 * The title of a world that only NetherNet's discovery found: name and level; `undefined` for other
 * servers.
 */
export function worldTitle(
  { protocols, name, map, extras }: Pick<ServerRecord, "protocols" | "name" | "map" | "extras">,
): string | undefined {
  const facts = extras?.[LAN_PROTOCOLS.nethernet];
  // A status over HTTP has no network id.
  if (protocols[0] !== LAN_PROTOCOLS.nethernet || facts?.network_id === undefined) return undefined;
  return [name ?? "(a NetherNet world)", map].filter(Boolean).join(" - ");
}
