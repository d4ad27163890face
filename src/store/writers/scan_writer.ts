/**
 * Writes the records of a scan to a database, in bulk.
 *
 * @module
 */
import { ATTACHMENTS, type ServerRecord } from "../../core/record.ts";
import { optOutsOf } from "../uptime/rollup_rows.ts";
import { PROTOCOLS } from "../../protocols/list.ts";
import { type NumberedRecord, writeAttached } from "./attachments.ts";
import type { Database } from "../database/database.ts";
import { BACK_AFTER_MS } from "../events/detect.ts";
import { MEMBER_BITS, noteMembers } from "../members/members.ts";
import { writeScanEvents } from "./scan_events.ts";
import { type InterviewScope, withKeptColumns } from "../merging/kept_columns.ts";
import { byAddress, type Identified, type ServerIdentity } from "../rows/identity.ts";
import { matchServers } from "./matched_servers.ts";
import { observeReplies } from "./observation_rows.ts";
import type { EventBody } from "../events/watch_event.ts";
import { type ServerWrite, writeServers, type WrittenServer } from "./write_servers.ts";

/** What the events of a server say that a scan saw of it. */
const EVENT_BITS: Readonly<Partial<Record<EventBody["event"], number>>> = {
  new: MEMBER_BITS.new,
  back: MEMBER_BITS.back,
  changed: MEMBER_BITS.changed,
  restarted: MEMBER_BITS.changed,
};
/** Records per transaction. SQLite blocks the thread during the statements of one transaction. */
const BATCH = 1000;

/**
 * Writes the records of a scan. Writes an observation for a server's first record in a scan, and
 * for each further record that differs from what the database contained.
 *
 * @param scope What the scan queries: columns that it does not query keep their values. Default:
 * all protocols are queried.
 */
export async function writeScanRecords(
  database: Database,
  records: readonly ServerRecord[],
  scope?: InterviewScope,
): Promise<void> {
  for (let at = 0; at < records.length; at += BATCH) {
    const batch = records.slice(at, at + BATCH);
    await database.transaction(async (attempt) => {
      await writeRecordBatch(database, batch, attempt, scope);
    });
  }
}

/**
 * Writes records as {@linkcode writeScanRecords} does, in the transaction that the caller has begun.
 *
 * @param attempt The attempt of the transaction.
 * @returns `servers.id` of the records.
 */
export async function writeRecordBatch(
  database: Database,
  batch: readonly ServerRecord[],
  attempt: number,
  scope?: InterviewScope,
): Promise<readonly number[]> {
  const matched = await matchServers(database, withOtherNames(batch, scope), attempt);
  const { all, servers, known, scans, replied } = matched;
  const complete = scope === undefined
    ? servers
    : await withKeptColumns(database, servers, known, scope);
  const writes = complete.map((one) => writeOf(one, scans, database.clockOffsetMs));
  const { isContinuous = false } = scope ?? {};
  const rules = {
    replacesSameTime: true,
    reportsNew: true,
    reportsPlayers: false,
    backAfterMs: isContinuous ? Infinity : BACK_AFTER_MS,
    allProtocols: scope?.allProtocols ?? PROTOCOLS,
    tags: scope?.tags,
  };
  const written = await withoutOptedOut(
    database,
    await writeServers(database, writes, known, rules),
  );
  await writeScanEvents(database, written, isContinuous);
  const isFirst = ({ id, write: { scan } }: WrittenServer) =>
    scan === null || !replied.get(scan)!.has(id);
  await observeReplies(database, written.filter((one) => isFirst(one) || isChanged(one)));
  await writeScanServers(database, written);
  await writeAttached(database, attachedTo(written, all));
  return written.map(({ id }) => id);
}

/** Leaves out the events of servers whose addresses opted out. */
async function withoutOptedOut(
  database: Database,
  written: readonly WrittenServer[],
): Promise<readonly WrittenServer[]> {
  const ids = written.filter(({ events }) => events.length > 0).map(({ id }) => id);
  if (ids.length === 0) return written;
  const optedOut = await optOutsOf(database, ids.sort((a, b) => a - b));
  return written.map((one) => optedOut.has(one.id) ? { ...one, events: [] } : one);
}

/** Records, and one more for each other name of an endpoint. */
function withOtherNames(
  records: readonly ServerRecord[],
  scope: InterviewScope | undefined,
): readonly ServerRecord[] {
  const { otherNames } = scope ?? {};
  if (otherNames === undefined) return records;
  return records.flatMap((record) => [
    record,
    ...otherNames(record).map((requested_as) => ({ ...record, requested_as })),
  ]);
}

/** The write of a server that replied to a scan. */
function writeOf(
  { record, identity, lacking }: Identified & { readonly lacking?: string },
  scans: ReadonlyMap<string | null, number>,
  clockOffsetMs: number,
): ServerWrite {
  const at = record.seen_at + clockOffsetMs;
  const scan = scans.get(record.scan_id) ?? null;
  return {
    identity,
    record,
    scan,
    lacking,
    online: true,
    missedScans: 0,
    firstSeen: at,
    probedAt: at,
    repliedAt: at,
  };
}

/** Whether a reply differs from the stored row: in players, in content, or in being online. */
function isChanged({ before, values }: WrittenServer): boolean {
  return before?.state === undefined || !before.state.online || before.content !== values.content ||
    before.state.playersOnline !== values.playersOnline ||
    before.state.playersMax !== values.playersMax;
}

/** The records of a batch with the ids of their servers. */
function attachedTo(
  written: readonly WrittenServer[],
  records: readonly Identified[],
): NumberedRecord[] {
  const attached = records.filter(({ record }) => ATTACHMENTS in record);
  if (attached.length === 0) return [];
  const idsBy = (keyOf: (identity: ServerIdentity) => string) =>
    new Map(written.map(({ id, write: { identity } }) => [keyOf(identity), id]));
  const [byKey, byEndpoint] = [idsBy(({ key }) => key), idsBy(endpointText)];
  return attached.flatMap(({ record, identity }) => {
    const id = byKey.get(identity.key) ?? byEndpoint.get(endpointText(identity));
    return id === undefined ? [] : [{ id, record }];
  });
}

function endpointText(identity: ServerIdentity): string {
  return byAddress(identity).key;
}

/** Writes which servers replied to scans, in the order of the scans and of the servers. */
export async function writeScanServers(
  database: Database,
  written: readonly WrittenServer[],
): Promise<void> {
  const byScan = Map.groupBy(written, ({ write: { scan } }) => scan);
  const scans = [...byScan.keys()].filter((scan) => scan !== null).sort((a, b) => a - b);
  for (const scan of scans) {
    const members = byScan.get(scan)!.map((one) => ({ server: one.id, what: seenOf(one) }));
    await noteMembers(database, scan, members);
  }
}

/** What a scan saw of a server that replied: bits of `MEMBER_BITS`. */
function seenOf({ events }: WrittenServer): number {
  return events.reduce<number>(
    (bits, { event }) => bits | (EVENT_BITS[event] ?? 0),
    MEMBER_BITS.found,
  );
}
