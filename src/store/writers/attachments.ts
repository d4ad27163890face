/**
 * Writes the attachments of records to a database: server icons and the raw bytes of replies.
 *
 * @module
 */
import { HOUR_MS } from "../../core/quantities.ts";
import { ATTACHMENTS, type RecordWithAttachments, type ServerRecord } from "../../core/record.ts";
import {
  type BulkStatement,
  type BulkValue,
  type Database,
  insertInto,
  isInList,
  listValue,
  timeParameter,
} from "../database/database.ts";
import { MAX_PER_HOUR } from "../events/event_limits.ts";
import { storable, storableTime } from "../rows/stored_values.ts";

/** Servers with an identical icon share one row. */
const INSERT_ICON: BulkStatement = insertInto(
  "favicons",
  [["hash", "text"], ["data", "bytea"], ["first_seen", "timestamptz"]],
  "on conflict (hash) do nothing",
);

/** Keeps the newest reply of each server and protocol. */
const UPSERT_REPLY: BulkStatement = insertInto(
  "replies",
  [
    ["server", "integer"],
    ["protocol", "text"],
    ["seen_at", "timestamptz"],
    ["size", "integer"],
    ["data", "bytea"],
  ],
  "on conflict (server, protocol) do update set seen_at = excluded.seen_at, " +
    "size = excluded.size, data = excluded.data where excluded.seen_at >= replies.seen_at",
);

/** A record and the number of its server in the database. */
export interface NumberedRecord {
  /** `servers.id`. */
  readonly id: number;
  readonly record: ServerRecord;
}

/** An icon of a server's reply. */
interface ReceivedIcon {
  /** `servers.id`. */
  readonly id: number;
  /** `favicons.hash`. */
  readonly hash: string;
  /** When the reply arrived, Unix milliseconds of the database's clock. */
  readonly at: number;
  /** Values of {@linkcode INSERT_ICON}. */
  readonly row: readonly BulkValue[];
}

/**
 * Writes the attachments of records, in the order of their keys. The caller has begun a transaction, and
 * has written the servers in it.
 */
export async function writeAttached(
  database: Database,
  records: readonly NumberedRecord[],
): Promise<void> {
  const icons: ReceivedIcon[] = [];
  const replies = new Map<string, BulkValue[]>();
  for (const { id, record } of records) {
    const { [ATTACHMENTS]: attachments, favicon_hash: hash, seen_at: seen }: RecordWithAttachments =
      record;
    if (attachments === undefined) continue;
    const { icon } = attachments;
    const at = storableTime(seen + database.clockOffsetMs) ?? 0;
    const file = icon === undefined ? undefined : bytesOf(icon);
    if (file !== undefined && hash !== null) {
      icons.push({ id, hash: storable(hash), at, row: [storable(hash), file, at] });
    }
    for (const [protocol, { size, data }] of Object.entries(attachments.replies)) {
      const bytes = bytesOf(data);
      if (bytes === undefined) continue;
      replies.set(`${id} ${protocol}`, [id, storable(protocol), at, size, bytes]);
    }
  }
  const allowed = (await withinLimit(database, icons)).toReversed(); // the first row of a hash stays
  const rows = new Map(allowed.map(({ hash, row }) => [hash, row]));
  await database.bulk(INSERT_ICON, inKeyOrder(rows));
  await database.bulk(UPSERT_REPLY, inKeyOrder(replies));
}

/** The bytes of base64; `undefined`: the text is something else, as in a changed spill file. */
function bytesOf(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/**
 * Leaves out new icons of servers that have {@linkcode MAX_PER_HOUR} new icons in an hour, and
 * new icons that a server has replaced since. A server that sends another icon with each reply thus
 * cannot fill the database: `favicon_hash` is a watched column, so each of its icons is a change.
 *
 * Icons that the database has are not left out: the insert into `favicons` takes the lock that keeps
 * `prune` from removing them.
 */
async function withinLimit(
  database: Database,
  icons: readonly ReceivedIcon[],
): Promise<readonly ReceivedIcon[]> {
  if (icons.length === 0) return icons;
  const stored = await database.rows(
    `select hash from favicons where ${isInList(database, "hash", "text")}`,
    [listValue(database, [...new Set(icons.map(({ hash }) => hash))])],
  );
  const known = new Set(stored.map(({ hash }) => hash));
  const fresh = icons.filter(({ hash }) => !known.has(hash));
  if (fresh.length === 0) return icons;
  const since = Math.max(0, Math.min(...fresh.map(({ at }) => at)) - HOUR_MS);
  const rows = await database.rows(
    `select id, favicon_hash from servers s where ${isInList(database, "id", "integer")} and (` +
      "select count(*) from events e where e.server = s.id and e.kind = 'changed' " +
      `and cast(e.data as text) like '%"favicon_hash":%' ` +
      `and e.at > ${timeParameter(database)}) < ${MAX_PER_HOUR}`,
    [listValue(database, [...new Set(fresh.map(({ id }) => id))]), since],
  );
  const current = new Map(rows.map(({ id, favicon_hash: hash }) => [Number(id), hash]));
  return icons.filter(({ id, hash }) => known.has(hash) || current.get(id) === hash);
}

function inKeyOrder(rows: ReadonlyMap<string, readonly BulkValue[]>): (readonly BulkValue[])[] {
  return [...rows].sort(([a], [b]) => a < b ? -1 : 1).map(([, row]) => row);
}
