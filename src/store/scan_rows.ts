/**
 * Which rows of a scan a database holds: what a scan that is resumed has to know.
 *
 * @module
 */
import type { Database, Value } from "./database/database.ts";

/** A scan whose rows are looked up. */
export interface HeldScan {
  /** The scan, UUIDv7. */
  readonly id: string;
  /** When it began, Unix milliseconds. */
  readonly since: number;
  /** When its checkpoint was saved, Unix milliseconds. */
  readonly savedAt: number;
  /** The time, Unix milliseconds. */
  readonly now: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Servers that are looked up at a time. */
const BATCH = 500;

/**
 * Which of these servers have their row of a scan in a database. A later scan or a watch may have
 * written the server since, so the scan's observation counts. `prune` may have deleted that, but
 * never without a later observation of the same server on the same day (UTC), and only of hours
 * that ended an hour ago or earlier: within these times, any observation counts.
 *
 * @param ids The servers, as {@linkcode serverId} has them.
 * @returns Their ids.
 */
export async function heldServers(
  database: Database,
  { id, since, savedAt, now }: HeldScan,
  ids: readonly string[],
): Promise<Set<string>> {
  const pruned = Math.floor((now - HOUR_MS) / HOUR_MS) * HOUR_MS;
  const until = Math.min(pruned, Math.floor(savedAt / DAY_MS + 1) * DAY_MS);
  const held = new Set<string>();
  for (let at = 0; at < ids.length; at += BATCH) {
    const batch: readonly Value[] = ids.slice(at, at + BATCH);
    const marks = batch.map(() => "?").join(", ");
    const rows = await database.rows(
      "select server_id as id from observations " +
        `where scan_id = ? and online = 1 and server_id in (${marks}) ` +
        `union select id from servers where last_scan = ? and id in (${marks}) ` +
        "union select server_id from observations " +
        `where server_id in (${marks}) and seen_at >= ? and seen_at < ?`,
      [id, ...batch, id, ...batch, ...batch, since, until],
    );
    for (const { id } of rows) held.add(String(id));
  }
  return held;
}
