/**
 * Looks up which servers of a resumed scan have a row in a database.
 *
 * @module
 */
import type { Database, Value } from "./database/database.ts";

/** A scan that is resumed. */
export interface ResumedScan {
  /** The scan's identity, UUIDv7. */
  readonly id: string;
  /** When the scan began, Unix milliseconds. */
  readonly since: number;
  /** When the scan's checkpoint was saved, Unix milliseconds. */
  readonly savedAt: number;
  /** The current time, Unix milliseconds. */
  readonly now: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Number of servers that one query handles. */
const BATCH = 500;

/**
 * Finds the servers whose row of a scan is in a database. A later scan or a watch may have overwritten
 * the server's row, so the scan's observation counts as well. `prune` may have deleted that observation,
 * but only when it was at least an hour old, and when a later observation of the server exists for that
 * day (UTC). Therefore any observation counts between the scan's start and the end of the day of the
 * checkpoint, except the last hour's.
 *
 * @param ids The results of {@linkcode serverId}.
 * @returns The ids of the servers that have a row.
 */
export async function serversWithRow(
  database: Database,
  { id, since, savedAt, now }: ResumedScan,
  ids: readonly string[],
): Promise<Set<string>> {
  const prunedBefore = Math.floor((now - HOUR_MS) / HOUR_MS) * HOUR_MS;
  const until = Math.min(prunedBefore, Math.floor(savedAt / DAY_MS + 1) * DAY_MS);
  const withRow = new Set<string>();
  for (let at = 0; at < ids.length; at += BATCH) {
    const batch: readonly Value[] = ids.slice(at, at + BATCH);
    const placeholders = batch.map(() => "?").join(", ");
    const rows = await database.rows(
      "select server_id as id from observations " +
        `where scan_id = ? and online = 1 and server_id in (${placeholders}) ` +
        `union select id from servers where last_scan = ? and id in (${placeholders}) ` +
        "union select server_id from observations " +
        `where server_id in (${placeholders}) and seen_at >= ? and seen_at < ?`,
      [id, ...batch, id, ...batch, ...batch, since, until],
    );
    for (const { id } of rows) withRow.add(String(id));
  }
  return withRow;
}
