/**
 * Reads, prepares and runs scans.
 *
 * @module
 */
export { locateTargets, readTextFiles } from "./locate_targets.ts";
export { configurationOf, type PreparedScan, prepareScan } from "./prepare_scan.ts";
export { foundIn, type ScanProgress } from "./progress_meter.ts";
export {
  readScan,
  type ScanContext,
  type ScanRequest,
  type WritePlan,
  WRITES_NOTHING,
} from "./read_scan.ts";
export { type RunOptions, runPreparedScan, type ScanResult } from "./run_scan.ts";
export {
  chosenPorts,
  type ScanChoice,
  scanChoice,
  type ScanCommandOptions,
  scanSelection,
} from "./scan_choice.ts";
export { progressNumbers } from "./scan_rows.ts";
export { ScanMonitor } from "./scan_monitor.ts";
