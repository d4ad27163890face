/**
 * Reads which servers other running watches found online.
 *
 * @module
 */
import { type Database, listValue, timeParameter } from "../database/database.ts";
import { HEARTBEAT_TIMEOUT_MS } from "../scans/scan_progress.ts";
import { listTable } from "./rollup_rows.ts";

/**
 * A watch whose last span ended at most this long ago counts as running, milliseconds, unless its
 * heartbeat is stale. It writes its span once a minute, and the clocks of two programs may differ by a
 * minute.
 */
const RUNNING_MS = 180_000;

/** A watch, and the time at which it reads the results of others. */
export interface ReadingWatch {
  /** `scans.id` of the watch. */
  readonly scan: number;
  /** The time of its polls, Unix milliseconds of the database's clock. */
  readonly at: number;
  /** Since when it has written to the database without a failure, Unix milliseconds of that clock. */
  readonly writableSince: number;
}

/**
 * The servers that another running watch found online with its last observation in a span that has
 * not ended, or ended at most {@linkcode RUNNING_MS} ago. A watch observes each server with its first
 * poll in a span, and again when the server goes online or offline. A watch with a stale heartbeat was
 * killed, if the database could be written since then.
 *
 * @param servers `servers.id`.
 */
export async function onlineInOtherWatches(
  database: Database,
  { scan, at, writableSince }: ReadingWatch,
  servers: readonly number[],
): Promise<ReadonlySet<number>> {
  if (servers.length === 0) return new Set();
  const time = timeParameter(database);
  const staleAt = at - HEARTBEAT_TIMEOUT_MS;
  const rows = await database.rows(
    "select distinct s.value as server from watch_spans w join scans c on c.id = w.scan " +
      `cross join ${listTable(database, "s")} where w.scan <> ? and c.state = 'running' ` +
      `and c.heartbeat_at >= ${time} ` +
      `and w.ended_at between ${time} and ${time} and (select o.online from observations o ` +
      "where o.server = s.value and o.scan = w.scan and o.at >= w.started_at " +
      "order by o.at desc limit 1)",
    [
      listValue(database, servers),
      scan,
      writableSince <= staleAt ? staleAt : 0,
      at - RUNNING_MS,
      at + RUNNING_MS,
    ],
  );
  return new Set(rows.map(({ server }) => Number(server)));
}
