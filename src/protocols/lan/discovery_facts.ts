/**
 * What finds worlds on the local network: the names of their rows, and where they announce
 * themselves.
 *
 * @module
 */
import type { ServerRecord } from "../../core/record.ts";

/** The names under which rows of the local network are kept, beside those of PROTOCOLS. */
export const LAN_PROTOCOLS = {
  /** A Java world's announcement. */
  announcement: "lan",
  /** A world that answered NetherNet's discovery. */
  nethernet: "nethernet",
} as const;

/** The same names in order of rank: behind all protocols of PROTOCOLS. */
export const LAN_RANKS: readonly string[] = [LAN_PROTOCOLS.nethernet, LAN_PROTOCOLS.announcement];

/** The multicast group to which Java worlds announce themselves: 224.0.2.60 port 4445. */
export const ANNOUNCEMENT_GROUP = { address: 0xe000023c, port: 4445 } as const;

/** The title of a world that NetherNet alone found: name and level; `undefined` for other servers. */
export function worldTitle(
  { protocols, name, map }: Pick<ServerRecord, "protocols" | "name" | "map">,
): string | undefined {
  if (protocols[0] !== LAN_PROTOCOLS.nethernet) return undefined;
  return [name ?? "(a NetherNet world)", map].filter(Boolean).join(" - ");
}
