/**
 * Watches known servers: polls them on a schedule, and reports changes as events.
 *
 * @module
 */
export { CrawlLoop, type CrawlStatus, type DiscoveryCounts, freshnessOf } from "./crawl_loop.ts";
export { withEventLimit } from "./event_limit.ts";
export { Journal } from "./journal.ts";
export { firstPollsMs, newPollPool, type PollPool } from "./poll_loop.ts";
export { Poller } from "./poller.ts";
export { SuppressingEndpoints } from "./suppressing_endpoints.ts";
export {
  newWatchCounts,
  type PollingSetup,
  pollProgress,
  pollServers,
  type WatchCounts,
} from "./watch.ts";
export { WatchSockets } from "./watch_sockets.ts";
export { type StoredState, WatchedServer, type WatchRules } from "./watched_server.ts";
export { EventFeedQueue } from "./webhook/event_feed_queue.ts";
export { EventOutbox, MAX_OUTBOX_BYTES } from "./webhook/event_outbox.ts";
export { newReceiver, type Receiver } from "./webhook/receivers.ts";
export { Webhook } from "./webhook/webhook.ts";
