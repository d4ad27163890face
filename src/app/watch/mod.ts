/**
 * Reads, prepares and runs watches.
 *
 * @module
 */
export { type PreparedWatch, prepareWatch } from "./prepare_watch.ts";
export { readWatch } from "./read_watch.ts";
export { runPreparedWatch } from "./run_watch.ts";
