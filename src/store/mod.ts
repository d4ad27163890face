/**
 * Databases of servers: their tables, writers and queries.
 *
 * @module
 */
export { downsampleCutoffs, downsampleObservations } from "./downsample.ts";
export {
  countObservations,
  historyOf,
  type NumberedServer,
  type Observation,
  serversOfHost,
  serverWithKey,
} from "./history_queries.ts";
export {
  addressesAsked,
  type EndedScan,
  endedScans,
  haveCommon,
  readEndedScan,
} from "./compared_scans.ts";
export {
  DIFFERENCE_KINDS,
  type DifferenceKind,
  type Differences,
  scanDifferences,
  type ServerDifference,
  sortDifferences,
} from "./scan_differences.ts";
export {
  type ConnectionEnvironment,
  openCopyTarget,
  openExisting,
  type OpenOptions,
  openStore,
  readStore,
} from "./open_store.ts";
export {
  packAbandonedScans,
  removeEvents,
  removePlayers,
  removeReplies,
  type Removing,
} from "./remove_old_rows.ts";
export {
  allEndpoints,
  allServers,
  countServers,
  knownEndpoints,
  lastServerId,
  type SelectedServer,
  selectServers,
  serverHosts,
  serverPages,
  serversAfter,
  type ServerSelection,
} from "./server_queries.ts";
export { readDatabaseIdentity, spillLine } from "./spill_file.ts";
export { SpillingStore } from "./spilling_store.ts";
export { type ScanEndRow, type ScanStartRow, Store, withDatabaseErrors } from "./store.ts";
export { openSqlite } from "./database/sqlite.ts";
export { differencesOf, WATCHED_COLUMNS } from "./events/compare.ts";
export {
  BEFORE_EVENTS,
  type BrokenEvent,
  countHeldUp,
  type EventPosition,
  eventsAfter,
  followEvents,
  lastEvents,
  laterPosition,
  leaveOut,
  type StoredEvent,
} from "./events/event_feed.ts";
export { limitedEvent, limitedKeys } from "./events/event_limits.ts";
export {
  type EventCursor,
  type EventsPage,
  type NewestEvents,
  newestEvents,
} from "./events/newest_events.ts";
export { type SendableEvent, sendableEvents } from "./events/sendable_events.ts";
export { validEvent } from "./events/valid_event.ts";
export { LEASE_MS, MAX_COUNT, newestEnd, WebhookPosition } from "./events/webhook_position.ts";
export {
  readOptedOutServers,
  readSharingServers,
  removeServers,
  removeTombstones,
  type ServerToForget,
  writeTombstones,
} from "./forget/forget_servers.ts";
export { removeAllOrphanedIcons } from "./forget/orphaned_icons.ts";
export {
  eventKeys,
  forgottenEvents,
  forgottenState,
  readSalt,
  tombstoneKeys,
} from "./forget/tombstones.ts";
export { hiddenMembers, type OtherRows, othersOf } from "./groups/grouped_rows.ts";
export { hiddenServers } from "./groups/hidden_servers.ts";
export { GROUP_RULES, type GroupRule } from "./groups/group_rules.ts";
export { readGroups, type ServerGroups } from "./groups/read_groups.ts";
export type { InterviewScope } from "./merging/kept_columns.ts";
export { MEMBER_KINDS, type MemberCounts, type MemberKind } from "./members/members.ts";
export { countMembersOf, lastMembersOf, membersOf } from "./members/scan_members.ts";
export { readViews, type ScanViews, type ViewCounts } from "./members/views.ts";
export { COLUMNS_KEPT_AT_LOSS, mergeRecords } from "./merging/merge_records.ts";
export {
  beginCampaignScan,
  type CampaignStart,
  readCollectorIdentity,
  writeCampaignBatch,
} from "./parts/campaign_scan.ts";
export { finishScan, type UndecidedPart } from "./parts/finish_scan.ts";
export { type ListedPart, type ListedParts, listedParts } from "./parts/part_list.ts";
export type { PartUpdate } from "./parts/scan_parts.ts";
export { foldCase, SEARCHED } from "./queries/server_conditions.ts";
export {
  type ColumnTest,
  columnTest,
  conditionsOf,
  type FilterTest,
  givenFilters,
  SERVER_FILTERS,
  type ServerFilters,
  testOf,
} from "./queries/filters.ts";
export { isInNetworks, parseNetwork } from "./queries/network_filter.ts";
export { UNKNOWN_COLUMNS, type UnknownColumn } from "./queries/unknown_filter.ts";
export {
  NONE_LISTED,
  partsOfNames,
  type SearchedList,
  SOME_LISTED,
} from "./queries/listed_parts_filter.ts";
export { isVersion, type VersionedServer } from "./queries/version_filter.ts";
export { isPosition, type PageCursor, readPosition, startAt } from "./queries/order_positions.ts";
export { type MatchIndex, pageOf, type PageSteps } from "./queries/page.ts";
export { canonicalHost, hasAddressIn } from "./rows/addresses.ts";
export {
  type IdentifyingFields,
  identityOf,
  parseServerName,
  type ServerIdentity,
  type ServerName,
} from "./rows/identity.ts";
export {
  countLacking,
  hasLastingLoss,
  type LackingParts,
  lostFlags,
} from "./rows/lacking_parts.ts";
export {
  type ListedRecord,
  RECORD_COLUMNS,
  RECORD_TABLES,
  recordOf,
  type StoredRecord,
} from "./rows/stored_record.ts";
export { isServerNumber, storableUuid } from "./rows/stored_values.ts";
export {
  countScans,
  lastScanId,
  newestScans,
  runningScans,
  scanBefore,
  scanName,
  scanWithId,
  type StoredScan,
} from "./scans/scan_list.ts";
export { HEARTBEAT_MS, type ScanNumbers, type ScanProgressRow } from "./scans/scan_progress.ts";
export type { ScanAddresses } from "./scans/scan_ranges.ts";
export { addMonths, compactMonths } from "./schema/partitions.ts";
export { createTextIndex } from "./schema/text_index.ts";
export { judgePlayers } from "./counts/judge_players.ts";
export { GRACE_MS } from "./uptime/dirty_hours.ts";
export { rollUp } from "./uptime/roll_up.ts";
export { type Period, periodStart, readState, timeList, VALID_MS } from "./uptime/rollup_hours.ts";
export { optOutsOf } from "./uptime/rollup_rows.ts";
export { lastWatched, removeHours, sealHours } from "./uptime/seal_hours.ts";
export {
  addUptime,
  type HeldState,
  heldStates,
  type SeenState,
  type StoredSpan,
  UNWATCHED,
  type Uptime,
  uptimeOfSteps,
} from "./uptime/uptime_of_polls.ts";
export { type UptimePeriod, uptimePeriods } from "./uptime/uptime_export.ts";
export {
  type DayUptime,
  hourPoints,
  type RecentUptime,
  recentUptime,
  uptimeByDay,
  type UptimePoint,
  uptimePoints,
} from "./uptime/uptime_queries.ts";
export {
  listedUptime,
  UPTIME_COLUMNS,
  UPTIME_TABLES,
  watchedText,
  type WatchedUptime,
} from "./uptime/watched_share.ts";
export { type WatchSpan, writeSpans } from "./uptime/watch_spans.ts";
export { writeImportSummary } from "./writers/scan_events.ts";
export { endKilledScans } from "./writers/killed_scans.ts";
export { type ImportCounts, writeImportedRecords } from "./writers/import_writer.ts";
export type { Coverage } from "./writers/missing_servers.ts";
export { readOptOuts, writeOptOuts } from "./writers/opt_outs.ts";
export { UnconfirmedEvents } from "./writers/poll_events.ts";
export { writePolls, type WrittenPolls } from "./writers/poll_writer.ts";
export type {
  DroppedServer,
  MissedPolls,
  OptOut,
  PolledServer,
  PollObservation,
  Polls,
} from "./writers/polls.ts";
export { writeOptOutEvents } from "./writers/server_events.ts";
