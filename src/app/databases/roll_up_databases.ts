/**
 * Computes the uptime of servers in databases every hour while a watch runs, and judges numbers of players daily.
 *
 * @module
 */
import { DAY_MS, HOUR_MS } from "../../core/quantities.ts";
import { type Clock, sleep, systemClock } from "../../net/clock.ts";
import type { DatabaseLocation } from "../../store/database_location.ts";
import {
  type ConnectionEnvironment,
  GRACE_MS,
  judgePlayers,
  openExisting,
  rollUp,
  withDatabaseErrors,
} from "../../store/mod.ts";

/** Pause between two transactions, milliseconds: other programs write meanwhile, and polls continue. */
const PAUSE_MS = 10;
/** Time from the start of the watch to the first computation, milliseconds. */
const FIRST_MS = 30_000;
/**
 * Time from the moment at which the rollup of an hour can be computed to its computation,
 * milliseconds.
 */
const AFTER_MS = 30_000;
/** Time until the next try while a transaction of another program runs, milliseconds. */
const RETRY_MS = 60_000;

/**
 * Computes the rollups of databases every hour until the signal aborts. Each database has a
 * connection of its own, so that other transactions go on meanwhile. A failure is reported, and so
 * is a transaction of another program that runs for longer than {@linkcode RETRY_MS}.
 */
export async function keepRolledUp(
  locations: readonly DatabaseLocation[],
  environment: ConnectionEnvironment,
  signal: AbortSignal,
  report: (line: string) => void,
  clock: Clock = systemClock,
): Promise<void> {
  if (locations.length === 0) return;
  /** Number of tries in a row that failed because a transaction of another program took too long. */
  const tries = new Map<DatabaseLocation, number>();
  for (let wait = FIRST_MS; !signal.aborted;) {
    await sleep(clock, wait, signal);
    for (const location of locations) {
      if (signal.aborted) return;
      const isDone = await rollUpOnce(location, environment, signal).catch((error) => {
        report((error as Error).message);
        return true;
      });
      tries.set(location, isDone || signal.aborted ? 0 : (tries.get(location) ?? 0) + 1);
      if (tries.get(location) === 2) report(delayedLine(location));
    }
    const isDelayed = tries.values().some((count) => count > 0);
    wait = Math.min(untilNextHour(clock.wall()), isDelayed ? RETRY_MS : Infinity);
  }
}

/** Why the uptime of the last hours is missing. */
function delayedLine({ path }: DatabaseLocation): string {
  return `the uptime in ${path} is not computed yet: a transaction that began earlier is running ` +
    'in the database (docs/database.md, "Long transactions in PostgreSQL")';
}

/** The time until the rollup of the next hour is computed, milliseconds. */
export function untilNextHour(now: number): number {
  const after = now - GRACE_MS - AFTER_MS;
  return HOUR_MS - (after % HOUR_MS);
}

/**
 * Computes the rollups of a database over a connection of its own.
 *
 * @returns `false` when it was cancelled, or when a transaction of another program takes long.
 */
async function rollUpOnce(
  location: DatabaseLocation,
  environment: ConnectionEnvironment,
  signal: AbortSignal,
): Promise<boolean> {
  await using database = await openExisting(location, environment);
  const between = () => sleep(systemClock, PAUSE_MS, signal);
  const work = async () => {
    const isDone = await rollUp(database, { between, signal });
    await judgePlayers(database, { between, signal, everyMs: DAY_MS });
    return isDone;
  };
  return await withDatabaseErrors("write to", database, work);
}
