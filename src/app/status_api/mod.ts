/**
 * The status API: its options, and fresh statuses of servers for its clients.
 *
 * @module
 */
export {
  type FreshRequest,
  type FreshStatus,
  FreshStatuses,
  StatusLimit,
} from "./fresh_statuses.ts";
export { KeyedLimit, limitKey } from "./keyed_limit.ts";
export { ALLOW_LIMIT, OPEN_LIMITS, openFreshStatuses } from "./open_fresh_statuses.ts";
export { MIN_PORT } from "./public_targets.ts";
export { freshSettings, readStatusApi, type StatusApiSettings } from "./read_status_api.ts";
