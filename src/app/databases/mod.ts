/**
 * What commands do with databases: select, find, forget and prune servers.
 *
 * @module
 */
export { brokenCellReporter } from "./broken_cells.ts";
export type { DatabasePlan } from "./database_plan.ts";
export { isScanName, namedScan, SCAN_NAMES } from "./named_scans.ts";
export { expectedMisses, lossText, missedByLoss } from "./expected_misses.ts";
export { checkFile, type FileChange, fileChangeOf } from "./file_change.ts";
export { findServer } from "./find_server.ts";
export {
  type CountedServerToForget,
  findServersToForget,
  forgetServers,
  undoForget,
} from "./forget.ts";
export type { ForgottenInFile } from "./forget_in_files.ts";
export { prunedLine, pruneOnce } from "./prune.ts";
export {
  ago,
  namedLocation,
  openNamed,
  selectionLine,
  type SelectionOptions,
  serverSelectionOf,
  storedServersTable,
  writeSelectedServers,
} from "./select_servers.ts";
