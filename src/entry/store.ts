/**
 * Databases of servers in SQLite and PostgreSQL: reading and writing the results of scans and
 * watches.
 *
 * @module
 */
export * from "../library/databases.ts";
export * from "../store/database/database.ts";
export { type PostgresLocation, SSL_MODES, type SslMode } from "../store/database/postgres_url.ts";
export type { SqliteOptions } from "../store/database/sqlite.ts";
export * from "../store/downsample.ts";
export * from "../store/history_queries.ts";
export type { InterviewScope } from "../store/merging/kept_columns.ts";
export * from "../store/missing_servers.ts";
export * from "../store/database_location.ts";
export * from "../store/open_store.ts";
export * from "../store/opt_outs.ts";
export * from "../store/events/event_feed.ts";
export * from "../store/events/watch_event.ts";
export { UnconfirmedEvents } from "../store/events/poll_events.ts";
export * from "../store/poll_writer.ts";
export * from "../store/rows/polls.ts";
export { type IdentifyingFields, identityOf, type ServerIdentity } from "../store/rows/identity.ts";
export { storable } from "../store/rows/stored_values.ts";
export * from "../store/rows/server_values.ts";
export * from "../store/rows/stored_record.ts";
export type { TableOptions } from "../store/schema/create_tables.ts";
export type { ServerFilters } from "../store/queries/filters.ts";
export {
  SERVER_ORDERS,
  type ServerOrder,
  type SortOrder,
  type TableAlias,
  type UsualOrder,
} from "../store/queries/orders.ts";
export * from "../store/queries/stored_fields.ts";
export * from "../store/server_queries.ts";
export type { BrokenCell } from "../store/rows/json_cells.ts";
export type { ScanNumbers, ScanProgressRow } from "../store/scans/scan_progress.ts";
export type { ScanAddresses } from "../store/scans/scan_ranges.ts";
export * from "../store/store.ts";
export {
  addUptime,
  type SeenState,
  type StoredSpan,
  type Uptime,
  uptimeOfPolls,
} from "../store/uptime/uptime_of_polls.ts";
export { rollUp, type RollUpOptions } from "../store/uptime/roll_up.ts";
export { removeHours, sealHours } from "../store/uptime/seal_hours.ts";
export * from "../store/uptime/uptime_queries.ts";
export * from "../store/uptime/watch_spans.ts";
