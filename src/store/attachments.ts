/**
 * Writes the attachments of records to a database: server icons and the raw bytes of replies.
 *
 * @module
 */
import {
  ATTACHMENTS,
  type RecordWithAttachments,
  serverId,
  type ServerRecord,
} from "../core/record.ts";
import { type BulkStatement, type Database, insertInto, type Value } from "./database/database.ts";

/** Servers with an identical icon share one row. */
const INSERT_ICON: BulkStatement = insertInto(
  "favicons",
  [["hash", "text"], ["data", "text"], ["first_seen", "bigint"]],
  "on conflict (hash) do nothing",
);

/** Keeps the newest reply of each server and protocol. */
const UPSERT_REPLY: BulkStatement = insertInto(
  "replies",
  [
    ["server_id", "text"],
    ["protocol", "text"],
    ["seen_at", "bigint"],
    ["size", "integer"],
    ["data", "text"],
  ],
  "on conflict (server_id, protocol) do update set seen_at = excluded.seen_at, " +
    "size = excluded.size, data = excluded.data where excluded.seen_at >= replies.seen_at",
);

/** Writes the attachments of records. The caller has begun a transaction. */
export async function writeAttached(
  database: Database,
  records: readonly ServerRecord[],
): Promise<void> {
  const icons = new Map<string, Value[]>();
  const replies = new Map<string, Value[]>();
  for (const record of records) {
    const { [ATTACHMENTS]: attachments, favicon_hash: hash, seen_at: seen }: RecordWithAttachments =
      record;
    if (attachments === undefined) continue;
    const { icon } = attachments;
    if (icon !== undefined && hash !== null && !icons.has(hash)) {
      icons.set(hash, [hash, icon, seen]);
    }
    const id = serverId(record);
    for (const [protocol, { size, data }] of Object.entries(attachments.replies)) {
      replies.set(`${id} ${protocol}`, [id, protocol, seen, size, data]);
    }
  }
  if (icons.size > 0) await database.bulk(INSERT_ICON, [...icons.values()]);
  if (replies.size > 0) await database.bulk(UPSERT_REPLY, [...replies.values()]);
}
