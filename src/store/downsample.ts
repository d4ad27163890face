/**
 * Downsamples observations: to one per hour, and older ones to one per day.
 *
 * @module
 */
import { DAY_MS, HOUR_MS } from "../core/quantities.ts";
import {
  type BulkStatement,
  type Database,
  type Row,
  timeParameter,
  type Value,
} from "./database/database.ts";

/** Observations older than this multiple of `keepMs` are downsampled to one per day. */
const DAILY_AFTER = 4;
/** Observations per query and per transaction. */
const PAGE = 2000;

/** The ages at which observations are downsampled, Unix milliseconds. */
export interface DownsampleCutoffs {
  /** Before this time, only the last observation of each hour (UTC) is kept. */
  readonly hourly: number;
  /** Before this time, only the last observation of each day (UTC) is kept. */
  readonly daily: number;
  /** A period whose observations are all kept. Default: none. */
  readonly kept?: { readonly from: number; readonly to: number };
}

/**
 * Computes the cutoffs. They are rounded down to whole hours and days, so downsampling is idempotent:
 * earlier runs do not change the result of a later run.
 *
 * @param now Unix milliseconds.
 * @param keepMs Age up to which all observations are kept, milliseconds.
 */
export function downsampleCutoffs(now: number, keepMs: number): DownsampleCutoffs {
  const daily = Math.floor((now - DAILY_AFTER * keepMs) / DAY_MS) * DAY_MS;
  return { hourly: Math.floor((now - keepMs) / HOUR_MS) * HOUR_MS, daily };
}

/** Whether a later observation in the same hour or day makes an observation redundant. */
function isRedundant(
  earlier: Row,
  later: Row,
  { hourly, daily, kept }: DownsampleCutoffs,
): boolean {
  const seenAt = Number(earlier.at);
  if (seenAt >= hourly || (kept && seenAt >= kept.from && seenAt <= kept.to)) return false;
  const span = seenAt < daily ? DAY_MS : HOUR_MS;
  return Math.floor(seenAt / span) === Math.floor(Number(later.at) / span);
}

const KEY = "server, at, scan";

/** A page of observations after a key and before a time. */
function selectOld(database: Database): string {
  const time = timeParameter(database);
  return `select ${KEY} from observations where (${KEY}) > (?, ${time}, ?) and at < ${time} ` +
    `order by ${KEY} limit ${PAGE}`;
}

const DELETE: BulkStatement = {
  types: ["integer", "timestamptz", "integer"],
  sqlite: "delete from observations where server = ? and at = ? and scan = ?",
  postgres: "delete from observations old using " +
    "unnest($1::integer[], $2::timestamptz[], $3::integer[]) as one (server, at, scan) " +
    "where old.server = one.server and old.at = one.at and old.scan = one.scan",
};

/**
 * Downsamples the observations of all servers.
 *
 * @param between Awaited between two transactions, so that other work can run.
 * @param signal Cancels the rest; committed deletions remain.
 * @returns The number of deleted observations.
 */
export async function downsampleObservations(
  database: Database,
  cutoffs: DownsampleCutoffs,
  between: () => Promise<void>,
  signal?: AbortSignal,
): Promise<number> {
  let cursor: Value[] = [0, 0, 0];
  let last: Row | undefined;
  let deleted = 0;
  while (!signal?.aborted) {
    const page = await database.rows(selectOld(database), [...cursor, cutoffs.hourly]);
    const redundant: Row[] = [];
    for (const row of page) {
      if (last?.server === row.server && isRedundant(last, row, cutoffs)) {
        redundant.push(last);
      }
      last = row;
    }
    if (redundant.length > 0) {
      deleted += await database.transaction(() =>
        database.bulk(DELETE, redundant.map((row) => [row.server, row.at, row.scan]))
      );
    }
    if (page.length < PAGE) break;
    cursor = [last!.server, last!.at, last!.scan];
    await between();
  }
  return deleted;
}
