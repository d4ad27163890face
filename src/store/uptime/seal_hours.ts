/**
 * Makes hours final, so that their observations and the rollups of single hours can be removed.
 *
 * @module
 */
import { DAY_MS, HOUR_MS } from "../../core/quantities.ts";
import { type Database, timeParameter } from "../database/database.ts";
import {
  advanceState,
  exclusively,
  type Period,
  periodStart,
  readState,
  VALID_MS,
} from "./rollup_hours.ts";

/** Rows per transaction. */
const PAGE = 5000;

/**
 * Makes the hours before a time final, as far as they are closed and not dirty. Late rows change them
 * no more. Because the clock may be ahead, hours that end after the last write of a scan or watch do
 * not become final.
 *
 * @param until Unix milliseconds.
 * @returns The time before which observations may be removed, Unix milliseconds: no later than
 * `until`. Observations that are still valid in the first hour that is not final must stay.
 */
export async function sealHours(database: Database, until: number): Promise<number> {
  return await exclusively(database, async () => {
    const [{ watched }] = await database.rows(
      "select count(*) as watched from (select 1 from watch_spans limit 1) as spans",
    );
    if (Number(watched) === 0) return until;
    const { closedUntil, sealedUntil } = await readState(database);
    const [{ dirty }] = await database.rows("select min(hour) as dirty from dirty_hours");
    const written = periodStart(await newestWrite(database), HOUR_MS);
    const clean = Math.min(closedUntil, written, dirty === null ? Infinity : Number(dirty));
    const sealed = Math.max(sealedUntil, Math.min(periodStart(until + VALID_MS, HOUR_MS), clean));
    await advanceState(database, "sealed_until", sealed);
    return Math.min(until, sealed - VALID_MS);
  });
}

/** When a scan or watch last wrote its numbers or a span, Unix milliseconds. */
async function newestWrite(database: Database): Promise<number> {
  const [row] = await database.rows(
    "select (select max(ended_at) from watch_spans) as watched, max(started_at) as started, " +
      "max(finished_at) as finished, max(heartbeat_at) as beat from scans",
  );
  return Math.max(...[row.watched, row.started, row.finished, row.beat].map(Number));
}

/**
 * The last hour in which a watch ran, and the time in which observations are valid in that hour;
 * `undefined`: no watch ran. The observations of this period stay, because the next watch may begin in
 * the same hour. Clocks do not decide this: a scan whose clock was ahead may have made the hour final.
 */
export async function lastWatched(database: Database): Promise<Period | undefined> {
  const [{ ended }] = await database.rows("select max(ended_at) as ended from watch_spans");
  if (ended === null) return undefined;
  return { from: periodStart(Number(ended), HOUR_MS) - VALID_MS, to: Number(ended) };
}

/**
 * Removes the rollups of single hours, and spans that no hour needs. The rollups of days stay, and
 * those of the hours of the last day in which a watch ran.
 *
 * @param until Only rows of days that end at this time or earlier are removed, Unix milliseconds.
 * @param between Awaited between two transactions.
 * @param signal Cancels the rest.
 */
export async function removeHours(
  database: Database,
  until: number,
  between: () => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const { sealedUntil } = await readState(database);
  const { from, to } = await lastWatched(database) ?? { from: Infinity, to: Infinity };
  const end = periodStart(Math.min(until, sealedUntil, to), DAY_MS);
  const time = timeParameter(database);
  await database.run(`delete from watch_spans where ended_at < ${time}`, [
    Math.min(sealedUntil - VALID_MS, from),
  ]);
  await database.run(`delete from rollup_totals where hours = 1 and at < ${time}`, [end]);
  while (!signal?.aborted) {
    const page = await database.rows(
      `select at, server from rollups where hours = 1 and at < ${time} order by at, server limit ${PAGE}`,
      [end],
    );
    if (page.length === 0) return;
    const { at, server } = page.at(-1)!;
    await database.run(
      `delete from rollups where hours = 1 and (at < ${time} or at = ${time} and server <= ?)`,
      [at, at, server],
    );
    await between();
  }
}
