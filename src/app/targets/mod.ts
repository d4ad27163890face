/**
 * Targets of scans and watches: where they come from, and what may be probed.
 *
 * @module
 */
export { composeTargets, findExclusions, type NamedTargets } from "./find_targets.ts";
export { contactReader, keepContact, readContact } from "./kept_contact.ts";
export { requireContact, requirePermission } from "./require_permission.ts";
export { addressesOf } from "./scan_addresses.ts";
export {
  type AdaptivePlan,
  type DurationLimit,
  maxSent,
  type Passes,
  type Plan,
  planScan,
} from "./scan_plan.ts";
export { listDifferences, readServerList } from "./record_differences.ts";
export { openRowFile, readServerRows, stored, tagTexts } from "./servers_in_files.ts";
export { hasFileSuffix } from "./watch_targets.ts";
