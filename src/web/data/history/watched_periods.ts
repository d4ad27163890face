/**
 * The parts of a period in which a server was watched.
 *
 * @module
 */
import { type Database, timeParameter } from "../../../store/database/database.ts";
import {
  DAY_MS,
  HOUR_MS,
  readState,
  startOf,
  VALID_MS,
} from "../../../store/uptime/rollup_hours.ts";
import type { StoredSpan } from "../../../store/uptime/uptime_of_polls.ts";
import { uptimePoints } from "../../../store/uptime/uptime_queries.ts";

/** A period of time, Unix milliseconds. */
export interface Period {
  /** Start. */
  readonly from: number;
  /** End. */
  readonly to: number;
}

/** The spans of watches that observed a server, as far as they are still known, in their order. */
export async function spansOf(
  database: Database,
  id: number,
  { from, to }: Period,
): Promise<StoredSpan[]> {
  const time = timeParameter(database);
  const rows = await database.rows(
    `select w.scan, w.started_at, w.ended_at from watch_spans w where w.started_at < ${time} ` +
      `and w.ended_at > ${time} and w.scan in (select o.scan from observations o ` +
      `where o.server = ? and o.at >= ${time} and o.at <= ${time}) order by w.started_at`,
    [to, from, id, from - VALID_MS, to],
  );
  return rows.map(({ scan, started_at: start, ended_at: end }) => ({
    scan: Number(scan),
    startedAt: Number(start),
    endedAt: Number(end),
  }));
}

/**
 * The parts of a period in which no watch watched a server.
 *
 * @param watched The times in which watches did, as far as their rows are still known.
 */
export async function unwatchedIn(
  database: Database,
  id: number,
  period: Period,
  watched: readonly Period[],
): Promise<Period[]> {
  return gapsOf(period, await withSealed(database, id, period, watched));
}

/** The parts of a period that no other period contains. */
export function gapsOf(period: Period, parts: readonly Period[]): Period[] {
  const gaps: Period[] = [];
  let end = period.from;
  for (const { from, to } of parts.toSorted((a, b) => a.from - b.from)) {
    if (from >= period.to) break;
    if (from > end) gaps.push({ from: end, to: from });
    end = Math.max(end, to);
  }
  if (end < period.to) gaps.push({ from: end, to: period.to });
  return gaps;
}

/**
 * Adds the final hours and days that rollups call watched for longer than the known times do: a
 * prune removed their spans or observations. Where in a day the watch ran is not known any more:
 * the whole day is added.
 */
async function withSealed(
  database: Database,
  id: number,
  { from, to }: Period,
  watched: readonly Period[],
): Promise<Period[]> {
  const { sealedUntil } = await readState(database);
  const end = Math.min(startOf(to + DAY_MS - 1, DAY_MS), sealedUntil);
  if (from >= end) return [...watched];
  const points = await uptimePoints(database, id, startOf(from, DAY_MS), end);
  const sealed = points
    .map(({ at, hours, watchedS }) => ({ from: at, to: at + hours * HOUR_MS, watchedS }))
    .filter((one) => one.watchedS > knownS(one, watched));
  return [...watched, ...sealed];
}

/** The seconds of a period that other periods contain, rounded up. */
function knownS(period: Period, watched: readonly Period[]): number {
  const gaps = gapsOf(period, watched);
  const gapMs = gaps.reduce((sum, { from, to }) => sum + to - from, 0);
  return Math.ceil((period.to - period.from - gapMs) / 1000);
}
