/**
 * Watching servers that are known.
 *
 * @module
 */
export * from "./events.ts";
export * from "./poller.ts";
export * from "./schedule.ts";
export * from "./watch.ts";
export * from "./watched.ts";
export * from "./webhook.ts";
