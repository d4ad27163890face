/**
 * A scan from its plan to its end: stages, tables, rows and checkpoint.
 *
 * @module
 */
export { type QueriedServer, queryServer } from "./query_server.ts";
export { runSetup, throttleOf } from "./scan.ts";
export { parsePassRecord, replayPasses } from "./adaptive/pass_record.ts";
export {
  type Checkpoint,
  checkpointError,
  type Counters,
  countersField,
  countersOf,
  countFrom,
  marksField,
  type Offsets,
  readCheckpoint,
  sha256,
  uuidText,
} from "./checkpoint/checkpoint_file.ts";
export {
  type CheckpointIdentity,
  CheckpointWriter,
  type WriterOptions,
} from "./checkpoint/checkpoint_writer.ts";
export { type ReopenedOutput, ResumedRows, resumeRows } from "./checkpoint/resumed_rows.ts";
export { eachSecond } from "./checkpoint/save_timer.ts";
export { ListInUse, WrittenRows, writtenRowsPath } from "./checkpoint/written_rows.ts";
export { coverageOf, type CoverageOptions, type ScanCoverage } from "./plan/coverage.ts";
export {
  countPlans,
  isDetectionTarget,
  isVisited,
  type KnownPlan,
  knownPlans,
  knownProtocolNames,
  targeted,
} from "./plan/known_server_plan.ts";
export { scanPasses, sumOf } from "./plan/pass_plan.ts";
export { RowThread } from "./rows/row_thread.ts";
export type { AdaptiveEnd, AdaptiveReport } from "./setup/adaptive_report.ts";
export {
  type AdaptiveBudget,
  type AdaptiveScan,
  type AdaptiveSetup,
  budgetProbes,
  canaryBudget,
  netBudgetOfEach,
  passProbes,
  type PassScale,
} from "./setup/adaptive_setup.ts";
export { type Marks, START } from "./setup/low_water_mark.ts";
export { nonceOf, seedOf } from "./setup/random_numbers.ts";
export {
  type NameRequest,
  otherRequests,
  requestedName,
  sharedRequests,
  type TargetNames,
} from "./setup/requested_names.ts";
export { beganAt } from "./setup/scan_id.ts";
export type {
  Checkpointer,
  KnownTarget,
  ScanControls,
  ScanEnd,
  ScanHooks,
  ScanInterviews,
  ScanIo,
  ScanLimits,
  ScanOrder,
  ScanSelection,
  ScanSetup,
  ScanTargets,
} from "./setup/scan_setup.ts";
export {
  type EndReason,
  MAX_NAMED,
  newState,
  type OmittedEndpoint,
  type Outage,
  refusedTransports,
  type ScanState,
  silentSyns,
} from "./setup/scan_state.ts";
export { AddressSignals } from "./tables/address_signals.ts";
export { OptedOutAddresses } from "./tables/opted_out_addresses.ts";
export { GIVE_UP_MS } from "./tables/own_network.ts";
export { waitingConnections } from "./tables/scan_connections.ts";
export type { SendErrorKind } from "./tables/socket_counts.ts";
