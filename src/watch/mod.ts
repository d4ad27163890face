/**
 * Watching servers that are known.
 *
 * @module
 */
export * from "./board.ts";
export * from "./events.ts";
export * from "./journal.ts";
export * from "./poller.ts";
export * from "./schedule.ts";
export * from "./spool.ts";
export * from "./watch.ts";
export * from "./watched.ts";
export * from "./webhook.ts";
