/**
 * The functions of the library.
 *
 * @module
 */
export type { CommonOptions, InquiryOptions, ScanOrWatchOptions } from "./common_options.ts";
export { lan, type LanOptions } from "./lan.ts";
export { query } from "./query.ts";
export type { QueryOptions } from "./query_host.ts";
export { scan } from "./scan.ts";
export type { ScanOptions } from "./scan_options.ts";
export { watch } from "./watch.ts";
export type { WatchOptions } from "./watch_options.ts";
