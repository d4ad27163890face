/**
 * Closes hours: from then on, their rollups are computed, and late rows make them dirty.
 *
 * @module
 */
import { DAY_MS, HOUR_MS } from "../../core/quantities.ts";
import { type Database, timeParameter } from "../database/database.ts";
import { othersEnded } from "../database/other_transactions.ts";
import { ALL_SERVERS, GRACE_MS, markHours } from "./dirty_hours.ts";
import {
  advanceState,
  exclusively,
  hoursBetween,
  periodStart,
  readState,
  type RollupState,
} from "./rollup_hours.ts";

/** Maximum number of checks for the end of other transactions. */
const ATTEMPTS = 50;
/** Two clocks differ by at most this much, milliseconds: each differs from the database's by a minute. */
const SKEW_MS = 2 * 60_000;

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
  const until = periodStart(now - GRACE_MS, HOUR_MS);
  await reopenHours(database, periodStart(now + SKEW_MS - GRACE_MS, HOUR_MS));
  const { closedUntil } = await readState(database);
  if (closedUntil >= until) return true;
  await exclusively(database, () => advanceState(database, "closing_until", until));
  if (!await othersEnded(database, pause, ATTEMPTS)) return false;
  await exclusively(database, () => markClosed(database, until));
  return true;
}

/**
 * Reopens hours that a program whose clock was ahead has closed or made final before their end. They are
 * computed again from the last hour that has rollups.
 *
 * @param until Hours before this time may have ended, Unix milliseconds.
 */
async function reopenHours(database: Database, until: number): Promise<void> {
  const isAhead = ({ closingUntil, closedUntil, sealedUntil }: RollupState) =>
    Math.max(closingUntil, closedUntil, sealedUntil) > until;
  if (!isAhead(await readState(database))) return;
  await exclusively(database, async () => {
    const state = await readState(database);
    if (!isAhead(state)) return;
    const sealed = Math.min(state.sealedUntil, until);
    const [{ computed }] = await database.rows(
      "select max(at) as computed from rollups where hours = 1",
    );
    const closed = Math.min(state.closedUntil, until, Math.max(sealed, Number(computed)));
    const time = timeParameter(database);
    await database.run(
      `update rollup_state set closing_until = ${time}, closed_until = ${time}, sealed_until = ${time}`,
      [Math.min(state.closingUntil, until), closed, sealed],
    );
  });
}

/** Puts the hours between `closed_until` and a later time into `dirty_hours`. */
async function markClosed(database: Database, until: number): Promise<void> {
  const { closedUntil: since, sealedUntil } = await readState(database);
  if (since >= until) return;
  const time = timeParameter(database);
  const rows = await database.rows(
    `select started_at, ended_at from watch_spans where started_at < ${time} and ended_at > ${time}`,
    [until, periodStart(since, DAY_MS)],
  );
  const watched = new Set(
    rows.flatMap(({ started_at: start, ended_at: end }) =>
      hoursBetween(
        Math.max(Number(start), periodStart(since, DAY_MS), sealedUntil),
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
    const day = periodStart(hour, DAY_MS);
    last.set(day, Math.max(hour, last.get(day) ?? 0));
  }
  return [...last].filter(([day]) => day + DAY_MS > since && day + DAY_MS <= until)
    .map(([, hour]) => hour);
}
