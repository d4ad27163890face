/**
 * Reads stored events in the form in which watches report them.
 *
 * @module
 */
import { parseJson } from "../../core/checked_values.ts";
import { FIELDS, type ServerRecord } from "../../core/record.ts";
import { type Database, isInList, listValue, type Row, type Value } from "../database/database.ts";
import { canonicalHost } from "../rows/addresses.ts";
import { RECORD_COLUMNS, RECORD_TABLES, recordOf } from "../rows/stored_record.ts";
import { type EventPosition, isFinal, positionOf } from "./event_feed.ts";
import { validEvent } from "./valid_event.ts";
import type { WatchEvent } from "./watch_event.ts";

/** An event of the table, in the form of a watch's events. */
export interface SendableEvent {
  /** The position of the event in the table. */
  readonly position: EventPosition;
  /** The kind of the event. */
  readonly kind: string;
  /** The event's identity. */
  readonly id: string;
  /** `undefined`: a webhook does not get the event; `"damaged"`: another program has changed the row. */
  readonly event: WatchEvent | "damaged" | undefined;
  /** Size of the values that were read, characters. */
  readonly size: number;
}

/** Another event of a scan is sent only if a watch has observed the server in this time before, days. */
const WATCHED_DAYS = 7;

/**
 * SQL of the condition that a webhook gets an event: a watch or a LAN discovery has written it, it is one of the events
 * that only scans write, or it is about a server that a watch of the database has observed in the seven
 * days before. The statement has the event as `e`, and its scan as `w`.
 */
export function isSent({ engine }: Database): string {
  const since = engine === "postgres"
    ? `e.at - interval '${WATCHED_DAYS} days'`
    : `e.at - ${WATCHED_DAYS} * 86400000`;
  const isObserved = "exists (select 1 from observations o join scans c on c.id = o.scan " +
    `where o.server = e.server and o.at between ${since} and e.at and c.kind = 'watch')`;
  const isOfScan = "e.kind in ('new', 'back', 'lost', 'scan_summary')";
  return `case when w.kind in ('watch', 'lan') or ${isOfScan} then true else ${isObserved} end`;
}

/**
 * Reads the events after a position, in their order, also those that a webhook does not get.
 *
 * @param shown Returns a server's record as it may be sent.
 */
export async function sendableEvents(
  database: Database,
  { tx, seq }: EventPosition,
  limit: number,
  shown: (record: ServerRecord) => ServerRecord,
): Promise<readonly SendableEvent[]> {
  const rows = await database.rows(
    "select e.tx, e.seq, e.id, e.at, e.server, e.kind, e.data, w.uuid, s.id as stored, s.address, " +
      `s.port, s.hostname, s.name, ${isSent(database)} as is_sent from events e ` +
      "left join servers s on s.id = e.server left join scans w on w.id = e.scan " +
      `where (e.tx, e.seq) > ${positionOf(database)} and ${isFinal(database)} ` +
      "order by e.tx, e.seq limit ?",
    [tx, seq, limit],
  );
  const came = rows.filter(({ kind, is_sent: sent }) => hasRecord(kind) && sent === 1);
  const records = await readRecords(database, came.map(({ server }) => Number(server)));
  return rows.map((row) => {
    const { kind, id } = row;
    const position = { tx: String(row.tx), seq: Number(row.seq) };
    const [record, size] = (hasRecord(kind) && records.get(Number(row.server))) || [undefined, 0];
    const event = eventOf(row, record && shown(record), database);
    return { position, kind: String(kind), id: String(id), event, size: sizeOf(row) + size };
  });
}

/**
 * Counts the events after a position that a webhook may have to send, up to a limit.
 *
 * @param kinds The kinds of events that the webhook gets.
 */
export async function countSendable(
  database: Database,
  { tx, seq }: EventPosition,
  kinds: readonly string[],
  limit: number,
): Promise<number> {
  const [{ n }] = await database.rows(
    "select count(*) as n from (select 1 from events e left join scans w on w.id = e.scan " +
      `where (e.tx, e.seq) > ${positionOf(database)} and ${isInList(database, "e.kind", "text")} ` +
      `and ${isSent(database)} limit ?) waiting`,
    [tx, seq, listValue(database, kinds), limit],
  );
  return Number(n);
}

/** The records of servers, and the sizes of their rows. */
async function readRecords(
  database: Database,
  ids: readonly number[],
): Promise<ReadonlyMap<number, readonly [ServerRecord, size: number]>> {
  if (ids.length === 0) return new Map();
  const rows = await database.rows(
    `select s.id as number, ${RECORD_COLUMNS} from ${RECORD_TABLES} ` +
      `where ${isInList(database, "s.id", "integer")}`,
    [listValue(database, [...new Set(ids)])],
  );
  return new Map(rows.map((row) => {
    const all = recordOf(row);
    const record = Object.fromEntries(FIELDS.map(({ name }) => [name, all[name]]));
    return [Number(row.number), [record as unknown as ServerRecord, sizeOf(row)]];
  }));
}

function sizeOf(row: Row): number {
  return Object.values(row).reduce<number>((sum, value) => sum + String(value).length, 0);
}

/** Whether events of a kind have the record of their server. */
function hasRecord(kind: Value): boolean {
  return kind === "online" || kind === "new" || kind === "back";
}

/** The event of a row; `undefined` if it is not sent, or its server was removed. */
function eventOf(
  row: Row,
  record: ServerRecord | undefined,
  { clockOffsetMs }: Database,
): SendableEvent["event"] {
  const { id, kind, server, stored, address, port, hostname: requested_as, name } = row;
  const isRemoved = server !== null && (stored === null || hasRecord(kind) && !record);
  if (row.is_sent !== 1 || isRemoved) return undefined;
  const host = address === null ? null : canonicalHost(String(address));
  const at = Number(row.at) - clockOffsetMs;
  const base = { event: kind, at, host, port, requested_as, scan_id: row.uuid, id, name };
  const came = hasRecord(kind) && { server: record };
  return validEvent({ ...base, ...came, ...dataOf(String(row.data)) }) ?? "damaged";
}

function dataOf(text: string): object {
  try {
    return Object(parseJson(text));
  } catch {
    return {}; // the check of the event's members finds it
  }
}
