/**
 * Interviews servers, and merges their replies into records.
 *
 * @module
 */
export { attachedOf, type AttachedParts } from "./attachments.ts";
export type { RetryLimits } from "./converse.ts";
export { inspect, type Inspection, inspectKnown, type InspectOptions } from "./inspect.ts";
export { InspectionPool, interviewsAtOnce } from "./inspection_pool.ts";
export {
  GAP_MS,
  type InterviewPlan,
  leadProtocol,
  repliesSuppress,
  sendable,
  suppressorOf,
} from "./interview.ts";
export {
  joinResults,
  type KnownInterviewPlan,
  runKnownInterview,
  runSideBySide,
} from "./known_interview.ts";
export { mergeReplies } from "./merge.ts";
export {
  decodeRawReply,
  firstReplyOf,
  type ProtocolReply,
  type UndecodedReply,
} from "./protocol_reply.ts";
export {
  type InterviewLinks,
  type InterviewResult,
  isExhausted,
  queryWithRetries,
  runInterview,
  type RunInterviewOptions,
} from "./run_interview.ts";
export { SuppressedEndpoints } from "./suppressed_endpoints.ts";
