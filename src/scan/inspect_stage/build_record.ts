/**
 * Builds the record of a server from its inspection.
 *
 * @module
 */
import type { ServerRecord, Sighting } from "../../core/record.ts";
import type { Inspection } from "../../inspect/inspect.ts";
import { mergeReplies } from "../../inspect/merge.ts";
import { requestOf } from "../requested_names.ts";
import type { ScanSetup } from "../scan_setup.ts";

/**
 * Builds the record of a server that replied. The record has the names of players; `alias_of` is
 * not set yet.
 */
export function buildRecord(
  { endpoint, at }: Sighting,
  { replies, latencyMs, isCutShort }: Inspection,
  options: ScanSetup,
): ServerRecord {
  const { targets, io: { clock, state: { scanId } } } = options;
  const record = mergeReplies(replies, {
    endpoint,
    latencyMs,
    scanId,
    allProtocols: targets.allProtocols,
    seenAt: Math.round(clock.wall() - (clock.now() - at)),
    requestedAs: requestOf(targets, endpoint),
  });
  if (isCutShort) record.flags = [...record.flags, "cutShort"].sort();
  return record;
}
