/**
 * The messages of worlds on the local network, and their conversion into columns and facts of the
 * record. These messages serve only LAN discovery, not sweeps: Java worlds announce themselves, and
 * Bedrock worlds reply to NetherNet's broadcasts (`../nethernet/discovery.ts`).
 *
 * @module
 */
import { decodeUtf8 } from "../../core/text.ts";
import { nameColumns } from "../name_columns.ts";
import type { Statement } from "../protocol.ts";
import type { Announcement } from "./announcement.ts";

export * from "./announcement.ts";
export * from "./discovery_facts.ts";
export * from "../nethernet/discovery.ts";
export * from "../nethernet/discovery_server_data.ts";
export { type DiscoveredWorld, discoveryStatement } from "../nethernet/discovery_statement.ts";

/** Converts a Java world's announcement into a statement. */
export function announcementStatement({ motd, address, flags }: Announcement): Statement {
  const { text, badUtf8 } = decodeUtf8(motd ?? new Uint8Array());
  return {
    columns: { edition: "java", ...nameColumns(text) },
    flags: badUtf8 ? [...flags, "badUtf8"] : flags,
    facts: { address },
  };
}
