/**
 * blocksweep as a library: finds game servers and reports their status.
 *
 * @module
 */
export type { EngineChoice } from "./app/settings/engine_names.ts";
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
export { type JsonSchema, recordSchema } from "./core/schema.ts";
export type {
  CommonOptions,
  InquiryOptions,
  ScanOrWatchOptions,
} from "./library/common_options.ts";
export { lan, type LanOptions } from "./library/lan.ts";
export { query, type QueryOptions } from "./library/query.ts";
export { scan } from "./library/scan.ts";
export { watch } from "./library/watch.ts";
export type {
  ColumnChange,
  EventBody,
  EventSubject,
  OfflineReason,
  ServerEvent,
  WatcherEvent,
  WatcherEventBody,
  WatchEvent,
  WatchEventBase,
} from "./store/events/watch_event.ts";
export type { ScanOptions } from "./library/scan_options.ts";
export type { WatchOptions } from "./library/watch_options.ts";
