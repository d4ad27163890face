/**
 * Databases of servers in SQLite and PostgreSQL: reading and writing the results of scans and
 * watches.
 *
 * @module
 */
export { openDatabase, readDatabase } from "../library/databases.ts";
export type { Database, Row, Value } from "../store/database/database.ts";
export {
  type BrokenEvent,
  type EventPosition,
  type EventSelection,
  lastEvents,
  type StoredEvent,
} from "../store/events/event_feed.ts";
export {
  historyOf,
  type NumberedServer,
  type Observation,
  serversOfHost,
} from "../store/history_queries.ts";
export type { ServerFilters } from "../store/queries/filters.ts";
export type { ServerOrder, UsualOrder } from "../store/queries/orders.ts";
export type { BrokenCell } from "../store/rows/json_cells.ts";
export type { ListedRecord, ServerState, StoredRecord } from "../store/rows/stored_record.ts";
export {
  countServers,
  type SelectedServer,
  selectServers,
  type ServerSelection,
} from "../store/server_queries.ts";
export { Store } from "../store/store.ts";
export type { ListedUptime } from "../store/uptime/watched_share.ts";
