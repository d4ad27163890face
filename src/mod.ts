/**
 * blocksweep as a library: finds game servers and reports their status.
 *
 * @module
 */
export type { EngineChoice } from "./app/settings/mod.ts";
export {
  type CommonOptions,
  type InquiryOptions,
  lan,
  type LanOptions,
  query,
  type QueryOptions,
  scan,
  type ScanOptions,
  type ScanOrWatchOptions,
  watch,
  type WatchOptions,
} from "./library/mod.ts";
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
