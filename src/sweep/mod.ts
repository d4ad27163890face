/**
 * Sends probes to targets, and reads the replies.
 *
 * @module
 */
export { count, FloodingHosts, type FloodReport, noFloods } from "./flooding_hosts.ts";
export { isLater, type Mark, MarkHistory } from "./mark_history.ts";
export {
  CONNECTION_ORDERS,
  KEPT_MARKS_MS,
  type Pass,
  type PassOptions,
  type PassProgress,
  type PassVisitor,
  planPasses,
  runPasses,
  runRepeatedly,
  spaceOf,
  type Visited,
} from "./passes.ts";
export { type ProbeKind, stampClock } from "./probe_kind.ts";
export { ProbeWindow, socketsFor } from "./probe_window.ts";
export { type ReceiverOptions, ReplyReceiver, type SightingIntake } from "./receiver.ts";
export { noReplies, reclassify, type ReplyCounts } from "./reply_counts.ts";
export { Responders } from "./responders.ts";
export { sweep, type SweepOptions } from "./sweep.ts";
export { Canaries } from "./canaries/canaries.ts";
export {
  type CanaryCounts,
  estimateLoss,
  LossTally,
  missedRange,
  missedServers,
  noCanaries,
} from "./canaries/loss_estimate.ts";
export { PassTally } from "./canaries/pass_tally.ts";
export { FoundPorts } from "./ports/found_ports.ts";
export { noPorts, type OpenPort, type PortCounts, PortReceiver } from "./ports/port_receiver.ts";
export { ReplyWait } from "./ports/reply_wait.ts";
export { type RateReason, type RateReport, RateSearch } from "./rate/rate_search.ts";
