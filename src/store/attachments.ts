/**
 * Putting what servers sent beside their rows into a database: icons, and replies as they came.
 *
 * @module
 */
import { type AttachedRecord, serverId, type ServerRecord } from "../core/record.ts";
import { type Bulk, type Database, insertInto, type Value } from "./database/database.ts";

/** An icon is stored once, whoever has it. */
const ICON: Bulk = insertInto(
  "favicons",
  [["hash", "text"], ["data", "text"], ["first_seen", "bigint"]],
  "on conflict (hash) do nothing",
);

/** Of a server's replies in a protocol the last is kept. */
const REPLY: Bulk = insertInto(
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

/** Writes what records bring along; within a transaction. */
export async function writeAttached(
  database: Database,
  records: readonly ServerRecord[],
): Promise<void> {
  const icons = new Map<string, Value[]>();
  const replies = new Map<string, Value[]>();
  for (const record of records) {
    const { attached, favicon_hash: hash, seen_at: seen }: AttachedRecord = record;
    if (attached === undefined) continue;
    const { icon } = attached;
    if (icon !== undefined && hash !== null && !icons.has(hash)) {
      icons.set(hash, [hash, icon, seen]);
    }
    const id = serverId(record);
    for (const [protocol, { size, data }] of Object.entries(attached.replies)) {
      replies.set(`${id} ${protocol}`, [id, protocol, seen, size, data]);
    }
  }
  if (icons.size > 0) await database.bulk(ICON, [...icons.values()]);
  if (replies.size > 0) await database.bulk(REPLY, [...replies.values()]);
}
