/**
 * Decides which sightings are not interviewed, and counts those that are omitted.
 *
 * @module
 */
import type { Sighting } from "../../core/record.ts";
import { reclassify } from "../../sweep/mod.ts";
import type { ScanState } from "../setup/scan_state.ts";
import type { ScanTables } from "../tables/scan_tables.ts";

/** Why a sighting is not interviewed. `nothing`: no row is wanted; `cut`: the scan ended first. */
export function reasonToSkip(
  { endpoint, protocol }: Sighting,
  { stop: { reason }, suppression, optedOut }: Pick<
    ScanTables,
    "stop" | "suppression" | "optedOut"
  >,
): "nothing" | "cut" | undefined {
  if (reason === "failed" || reason === "max-results") return "cut";
  const unwanted = optedOut.has(endpoint.address) || suppression.suppresses(endpoint, protocol);
  return unwanted ? "nothing" : undefined;
}

/** Maximum number of omitted endpoints that are reported. */
const MAX_OMITTED_NAMED = 1024;

/** Counts an unverified sighting as omitted, because too many endpoints need an interview. */
export function omit(
  { endpoint, protocol }: Sighting,
  { replies, omittedAt }: Pick<ScanState, "replies" | "omittedAt">,
): void {
  reclassify(replies, "omitted");
  const { address, port } = endpoint;
  if (omittedAt.length >= MAX_OMITTED_NAMED) return;
  const isNamed = omittedAt.some(({ endpoint }) =>
    endpoint.address === address && endpoint.port === port
  );
  if (!isNamed) omittedAt.push({ endpoint: { address, port }, protocol });
}
