/**
 * Watches known servers: polls them on a schedule, and reports changes as events.
 *
 * @module
 */
export * from "./watch_sockets.ts";
export * from "../store/events/watch_event.ts";
export type {
  HeldPosition,
  WebhookKey,
  WebhookPosition,
} from "../store/events/webhook_position.ts";
export type { LastProbe } from "../discovery/freshness.ts";
export { withEventLimit } from "./event_limit.ts";
export * from "./journal.ts";
export * from "./pending_events.ts";
export * from "./own_network.ts";
export * from "./poll_loop.ts";
export * from "./poller.ts";
export * from "./schedule.ts";
export * from "./suppressing_endpoints.ts";
export * from "./webhook/event_feed_queue.ts";
export * from "./webhook/event_spool.ts";
export * from "./webhook/receivers.ts";
export * from "./webhook/webhook_formats.ts";
export type { QueuedEvent } from "./webhook/spool_format.ts";
export * from "./watch.ts";
export * from "./watched_server.ts";
export * from "./webhook/webhook.ts";
