/**
 * Closes hours: from then on, their rollups are computed, and late rows make them dirty.
 *
 * @module
 */
import { type Database, timeParameter } from "../database/database.ts";
import { othersEnded } from "../database/other_transactions.ts";
import { ALL_SERVERS, GRACE_MS, markHours } from "./dirty_hours.ts";
import {
  advanceState,
  DAY_MS,
  exclusively,
  HOUR_MS,
  hoursBetween,
  readState,
  startOf,
} from "./hours.ts";

/** Maximum number of checks for the end of other transactions. */
const ATTEMPTS = 50;

/**
 * Closes the hours that have ended.
 *
 * First it commits a new `closing_until`, from which other transactions see that rows of these
 * hours are late. Then it waits for the transactions that began before, because they may not have
 * seen that. Then it puts the hours into `dirty_hours`.
 *
 * @param now Unix milliseconds.
 * @param pause Awaited between two checks for other transactions.
 * @returns Whether the hours are closed. `false`: a transaction of another program did not end in
 * time.
 */
export async function closeHours(
  database: Database,
  now: number,
  pause: () => Promise<void>,
): Promise<boolean> {
  const until = startOf(now - GRACE_MS, HOUR_MS);
  const { closedUntil } = await readState(database);
  if (closedUntil >= until) return true;
  await exclusively(database, () => advanceState(database, "closing_until", until));
  if (!await othersEnded(database, pause, ATTEMPTS)) return false;
  await exclusively(database, () => markClosed(database, until));
  return true;
}

/** Puts the hours between `closed_until` and a later time into `dirty_hours`. */
async function markClosed(database: Database, until: number): Promise<void> {
  const { closedUntil: since, sealedUntil } = await readState(database);
  if (since >= until) return;
  const time = timeParameter(database);
  const rows = await database.rows(
    `select started_at, ended_at from watch_spans where started_at < ${time} and ended_at > ${time}`,
    [until, startOf(since, DAY_MS)],
  );
  const watched = new Set(
    rows.flatMap(({ started_at: start, ended_at: end }) =>
      hoursBetween(
        Math.max(Number(start), startOf(since, DAY_MS), sealedUntil),
        Math.min(Number(end), until),
      )
    ),
  );
  const closed = [...watched].filter((hour) => hour >= since);
  await markHours(
    database,
    [...closed, ...lastOfDays(watched, since, until)].map((hour) => [hour, ALL_SERVERS]),
  );
  await advanceState(database, "closed_until", until);
}

/**
 * For each day that ends in the period, its last watched hour. Computing this hour also computes the
 * day.
 */
function lastOfDays(watched: ReadonlySet<number>, since: number, until: number): number[] {
  const last = new Map<number, number>();
  for (const hour of watched) {
    const day = startOf(hour, DAY_MS);
    last.set(day, Math.max(hour, last.get(day) ?? 0));
  }
  return [...last].filter(([day]) => day + DAY_MS > since && day + DAY_MS <= until)
    .map(([, hour]) => hour);
}
