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
import { exclusively } from "./uptime/rollup_hours.ts";

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

/** A page of observations from a key on and before a time. */
function selectOld(database: Database): string {
  const time = timeParameter(database);
  return `select ${KEY}, polls from observations where (${KEY}) >= (?, ${time}, ?) and at < ${time} ` +
    `order by ${KEY} limit ${PAGE}`;
}

const DELETE: BulkStatement = {
  types: ["integer", "timestamptz", "integer"],
  sqlite: "delete from observations where server = ? and at = ? and scan = ?",
  postgres: "delete from observations old using " +
    "unnest($1::integer[], $2::timestamptz[], $3::integer[]) as one (server, at, scan) " +
    "where old.server = one.server and old.at = one.at and old.scan = one.scan",
};

/** Sets the number of polls of observations that are kept. */
const UPDATE: BulkStatement = {
  types: ["integer", "timestamptz", "integer", "integer"],
  sqlite: "update observations set polls = ?4 where server = ?1 and at = ?2 and scan = ?3",
  postgres: "update observations old set polls = one.polls from " +
    "unnest($1::integer[], $2::timestamptz[], $3::integer[], $4::integer[]) " +
    "as one (server, at, scan, polls) " +
    "where old.server = one.server and old.at = one.at and old.scan = one.scan",
};

/** What downsampling changes in a page. */
interface Changes {
  readonly redundant: readonly Row[];
  /** Those that are kept, with the polls of the redundant ones before them. */
  readonly kept: readonly Row[];
}

function changesOf(page: readonly Row[], cutoffs: DownsampleCutoffs): Changes {
  const [redundant, kept]: [Row[], Row[]] = [[], []];
  let last: Row | undefined;
  let hasMore = false; // whether `last` has the polls of a redundant one
  for (const row of page) {
    const isLast = last === undefined || last.server !== row.server ||
      !isRedundant(last, row, cutoffs);
    if (isLast && hasMore) kept.push(last!);
    if (!isLast) redundant.push(last!);
    hasMore = !isLast;
    last = isLast ? row : { ...row, polls: sumOf(last!.polls, row.polls) };
  }
  if (hasMore) kept.push(last!);
  return { redundant, kept };
}

/** The sum of two numbers of polls. If one is unknown, so is the sum. */
function sumOf(a: Value, b: Value): number | null {
  return a === null || b === null ? null : Number(a) + Number(b);
}

/**
 * Downsamples the observations of all servers. An observation that is kept stands for the polls of those
 * that are deleted before it.
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
  let deleted = 0;
  const read = () => database.rows(selectOld(database), [...cursor, cutoffs.hourly]);
  while (!signal?.aborted) {
    const page = await read();
    if (changesOf(page, cutoffs).redundant.length > 0) {
      // Another program may have downsampled the page since it was read: its polls would count twice.
      deleted += await exclusively(database, async () => {
        const { redundant, kept } = changesOf(await read(), cutoffs);
        await database.bulk(
          UPDATE,
          kept.map(({ server, at, scan, polls }) => [server, at, scan, polls]),
        );
        return await database.bulk(
          DELETE,
          redundant.map(({ server, at, scan }) => [server, at, scan]),
        );
      });
    }
    if (page.length < PAGE) break;
    const { server, at, scan } = page.at(-1)!; // the next page begins with it: it may be redundant
    cursor = [server, at, scan];
    await between();
  }
  return deleted;
}
