/**
 * Writes the attachments of records to a database: server icons and the raw bytes of replies.
 *
 * @module
 */
import { ATTACHMENTS, type RecordWithAttachments, type ServerRecord } from "../core/record.ts";
import { type BulkStatement, type Database, insertInto, type Value } from "./database/database.ts";
import { storable, storableTime } from "./rows/stored_values.ts";

/** Servers with an identical icon share one row. */
const INSERT_ICON: BulkStatement = insertInto(
  "favicons",
  [["hash", "text"], ["data", "text"], ["first_seen", "timestamptz"]],
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
    ["data", "text"],
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

/** Writes the attachments of records, in the order of their keys. The caller has begun a transaction. */
export async function writeAttached(
  database: Database,
  records: readonly NumberedRecord[],
): Promise<void> {
  const icons = new Map<string, Value[]>();
  const replies = new Map<string, Value[]>();
  for (const { id, record } of records) {
    const { [ATTACHMENTS]: attachments, favicon_hash: hash, seen_at: seen }: RecordWithAttachments =
      record;
    if (attachments === undefined) continue;
    const { icon } = attachments;
    const at = storableTime(seen + database.clockOffsetMs) ?? 0;
    if (icon !== undefined && hash !== null && !icons.has(hash)) {
      icons.set(hash, [storable(hash), storable(icon), at]);
    }
    for (const [protocol, { size, data }] of Object.entries(attachments.replies)) {
      replies.set(`${id} ${protocol}`, [id, storable(protocol), at, size, storable(data)]);
    }
  }
  await database.bulk(INSERT_ICON, inKeyOrder(icons));
  await database.bulk(UPSERT_REPLY, inKeyOrder(replies));
}

function inKeyOrder(rows: ReadonlyMap<string, Value[]>): Value[][] {
  return [...rows].sort(([a], [b]) => a < b ? -1 : 1).map(([, row]) => row);
}
