/**
 * Reads what a scan saw of servers, for its page.
 *
 * @module
 */
import type { Database } from "../../store/database/database.ts";
import {
  countMembersOf,
  lastMembersOf,
  MEMBER_KINDS,
  type MemberCounts,
  type MemberKind,
} from "../../store/mod.ts";
import type { GeoipLookup } from "../../app/geoip/mod.ts";
import type { ScanMembers } from "../queries/dashboard_data.ts";
import type { ListedServer } from "../queries/schemas.ts";
import { listedServers } from "./listed_servers.ts";

const NONE = Object.fromEntries(MEMBER_KINDS.map((kind) => [kind, 0])) as MemberCounts;

/** Counts a scan's servers, and reads some of each of the kinds. */
export async function readScanMembers(
  database: Database,
  scan: string,
  kinds: readonly MemberKind[],
  limit: number,
  geoipOf: GeoipLookup,
): Promise<ScanMembers> {
  const counts = await countMembersOf(database, scan) ?? NONE;
  const servers: Partial<Record<MemberKind, readonly ListedServer[]>> = {};
  for (const kind of kinds.filter((one) => counts[one] > 0)) {
    const ids = await lastMembersOf(database, scan, kind, limit);
    servers[kind] = await listedServers(database, ids, geoipOf);
  }
  return { counts, servers };
}
