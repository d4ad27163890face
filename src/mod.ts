/**
 * blocksweep as a library: finds game servers and reports their status.
 *
 * @module
 */
export { InputError, ShortageError } from "./core/errors.ts";
export {
  type Facts,
  type FactValue,
  type Field,
  FIELDS,
  type FieldType,
  type Plugin,
  serverId,
  type ServerRecord,
} from "./core/record.ts";
export * from "./core/schema.ts";
export type {
  CommonOptions,
  InquiryOptions,
  ScanOrWatchOptions,
} from "./library/common_options.ts";
export * from "./library/lan.ts";
export * from "./library/query.ts";
export * from "./library/scan.ts";
export * from "./library/watch.ts";
export type { Change, WatchEvent } from "./store/events/watch_event.ts";
export type { ScanOptions } from "./library/scan_options.ts";
export type { WatchOptions } from "./library/watch_options.ts";
