/**
 * Downsampling old observations: to one an hour, and later to one a day.
 *
 * @module
 */
import type { BulkStatement, Database, Row, Value } from "./database/database.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** After so many times as long as all is kept, hours become days. */
const DAILY_AFTER = 4;
/** Observations that are looked at, and deleted, in one transaction. */
const PAGE = 2000;

/** From which times on how much is kept, Unix milliseconds. */
export interface Cuts {
  /** All that was seen since then; before it, the last of each hour (UTC). */
  readonly hourly: number;
  /** Before it, the last of each day (UTC). */
  readonly daily: number;
}

/**
 * The cuts when all of this age is kept. They lie between hours, and between days: what was pruned
 * already is pruned no further by the same cuts, and later ones come to the same as if it had not
 * been.
 *
 * @param now Unix milliseconds.
 * @param keepMs How long all is kept, milliseconds.
 */
export function cutsFor(now: number, keepMs: number): Cuts {
  const daily = Math.floor((now - DAILY_AFTER * keepMs) / DAY_MS) * DAY_MS;
  return { hourly: Math.floor((now - keepMs) / HOUR_MS) * HOUR_MS, daily };
}

/** Whether an observation says no more than another of the same server that follows it. */
export function isCovered(seenAt: number, following: number, { hourly, daily }: Cuts): boolean {
  if (seenAt >= hourly) return false;
  const span = seenAt < daily ? DAY_MS : HOUR_MS;
  return Math.floor(seenAt / span) === Math.floor(following / span);
}

const KEY = "server_id, seen_at, scan_id, round";
const OLD = `select ${KEY} from observations where (${KEY}) > (?, ?, ?, ?) and seen_at < ? ` +
  `order by ${KEY} limit ${PAGE}`;
const FORGET: BulkStatement = {
  types: ["text", "text", "integer"],
  sqlite: "delete from observations where scan_id = ? and server_id = ? and round = ?",
  postgres: "delete from observations using unnest($1::text[], $2::text[], $3::integer[]) " +
    "as old (scan_id, server_id, round) where observations.scan_id = old.scan_id " +
    "and observations.server_id = old.server_id and observations.round = old.round",
};

/**
 * Thins the observations of all servers.
 *
 * @param between Called between two transactions: others get their turn.
 * @param signal Ends it early; what is done by then is done.
 * @returns How many were deleted.
 */
export async function downsampleObservations(
  database: Database,
  cuts: Cuts,
  between: () => Promise<void>,
  signal?: AbortSignal,
): Promise<number> {
  let from: Value[] = ["", 0, "", 0];
  let last: Row | undefined;
  let deleted = 0;
  while (!signal?.aborted) {
    const page = await database.rows(OLD, [...from, cuts.hourly]);
    const covered: Row[] = [];
    for (const row of page) {
      if (last?.server_id === row.server_id && isLess(last, row, cuts)) covered.push(last);
      last = row;
    }
    if (covered.length > 0) {
      deleted += await database.transaction(() =>
        database.bulk(FORGET, covered.map((row) => [row.scan_id, row.server_id, row.round]))
      );
    }
    if (page.length < PAGE) break;
    from = [last!.server_id, last!.seen_at, last!.scan_id, last!.round];
    await between();
  }
  return deleted;
}

function isLess(one: Row, following: Row, cuts: Cuts): boolean {
  return isCovered(Number(one.seen_at), Number(following.seen_at), cuts);
}
