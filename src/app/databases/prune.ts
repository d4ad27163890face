/**
 * Prunes databases: removes rows that are older than their retention, once, or daily while a watch runs.
 *
 * @module
 */
import { countOf, DAY_MS } from "../../core/quantities.ts";
import { type Clock, sleep, systemClock } from "../../net/clock.ts";
import type { Database } from "../../store/database/database.ts";
import type { DatabaseLocation } from "../../store/database_location.ts";
import {
  addMonths,
  compactMonths,
  type ConnectionEnvironment,
  downsampleCutoffs,
  downsampleObservations,
  endKilledScans,
  judgePlayers,
  lastWatched,
  openExisting,
  packAbandonedScans,
  periodStart,
  removeAllOrphanedIcons,
  removeEvents,
  removeHours,
  removePlayers,
  removeReplies,
  type Removing,
  rollUp,
  sealHours,
  withDatabaseErrors,
} from "../../store/mod.ts";

/** Pause between two transactions, milliseconds: other programs write meanwhile, and polls continue. */
const PAUSE_MS = 10;

/** How long rows are kept, milliseconds. `undefined`: for ever. 0: not at all. */
export interface Retention {
  /** All observations up to this age; some of the older ones stay. */
  readonly observations?: number;
  /** Events up to this age. */
  readonly events?: number;
  /** Raw bytes of the last replies, if the reply came within this time. */
  readonly replies?: number;
  /** Names of players that servers published within this time. */
  readonly players?: number;
}

/** The result of pruning a database: numbers of removed rows. `undefined`: they are kept for ever. */
export interface Pruned {
  /** The database's name in messages. */
  readonly name: string;
  readonly observations: number | undefined;
  readonly events: number | undefined;
  readonly replies: number | undefined;
  /** Number of servers whose players' names were removed. */
  readonly players: number | undefined;
  /** Number of icons that no server has. */
  readonly icons: number;
}

/** The latest time that a database can store, Unix milliseconds. */
const LATEST = Date.UTC(9999, 11, 31);

/**
 * Prunes a database. Also computes uptime that is missing, judges numbers of players, ends scans that were
 * killed, removes icons that no server has, and packs what abandoned scans saw of servers.
 *
 * @param report Receives a line for each month whose space is freed later.
 * @param signal Ends it early.
 * @throws StoreError
 */
async function prune(
  database: Database,
  { observations, events, replies, players }: Retention,
  report: (line: string) => void,
  signal?: AbortSignal,
): Promise<Pruned> {
  const removing: Removing = { between: () => sleep(systemClock, PAUSE_MS, signal), signal };
  const now = database.now();
  const remove = async (keepMs: number | undefined, rows: (before: number) => Promise<number>) => {
    if (keepMs === undefined) return undefined;
    return await rows(keepMs === 0 ? LATEST : now - keepMs);
  };
  return await withDatabaseErrors("write to", database, async () => {
    // Uptime is computed from observations, so it is computed before observations are removed.
    await rollUp(database, removing);
    await judgePlayers(database, removing);
    return {
      name: database.name,
      observations: observations === undefined
        ? undefined
        : await pruneObservations(database, downsampleCutoffs(now, observations), removing, report),
      events: await remove(
        events,
        (before) => removeEvents(database, before, removing.between, signal),
      ),
      replies: await remove(replies, (before) => removeReplies(database, before, removing)),
      players: await remove(players, (before) => removePlayers(database, before, removing)),
      icons: await removeStale(database, now, removing),
    };
  });
}

async function pruneObservations(
  database: Database,
  cuts: { readonly hourly: number; readonly daily: number },
  { between, signal }: Removing,
  report: (line: string) => void,
): Promise<number> {
  const hourly = await sealHours(database, cuts.hourly);
  const daily = Math.min(cuts.daily, periodStart(hourly, DAY_MS));
  await removeHours(database, hourly, between, signal);
  await addMonths(database, database.now());
  const kept = await lastWatched(database);
  const removed = await downsampleObservations(database, { hourly, daily, kept }, between, signal);
  const deferred = signal?.aborted ? [] : await compactMonths(database, daily, between, signal);
  for (const one of deferred) {
    report(`${database.name}: ${one}; the space of its old rows is freed by a later prune`);
  }
  return removed;
}

/** Ends killed scans, and removes rows that nothing refers to. Returns the number of icons. */
async function removeStale(database: Database, now: number, removing: Removing): Promise<number> {
  await endKilledScans(database);
  await packAbandonedScans(database, now, removing);
  return await removeAllOrphanedIcons(database, removing.between, removing.signal);
}

export function prunedLine(
  { name, observations, events, replies, players, icons }: Pruned,
): string {
  const counts = [
    [observations, "observation", "observations"],
    [events, "event", "events"],
    [replies, "reply", "replies"],
    [players, "list of players", "lists of players"],
    [icons === 0 ? undefined : icons, "icon", "icons"],
  ] as const;
  const texts = counts.flatMap(([count, one, more]) =>
    count === undefined ? [] : [countOf(count, one, more)]
  );
  return `${name}: ${texts.join(", ")} pruned`;
}

/** Time between two prunings of a watch, and from its start to the first one, milliseconds. */
const DAILY_MS = DAY_MS;
const FIRST_MS = 60_000;

/**
 * Prunes databases until the signal aborts. Each database is pruned over a connection of its own,
 * so other transactions go on meanwhile. A failure is reported.
 *
 * @param keepMs How long all observations are kept, milliseconds; `undefined`: nothing is pruned.
 */
export async function keepPruned(
  lists: readonly DatabaseLocation[],
  keepMs: number | undefined,
  environment: ConnectionEnvironment,
  signal: AbortSignal,
  report: (line: string) => void,
  clock: Clock,
): Promise<void> {
  if (keepMs === undefined) return;
  for (let wait = FIRST_MS;; wait = DAILY_MS) {
    await sleep(clock, wait, signal);
    for (const list of lists) {
      if (signal.aborted) return;
      await pruneOnce(list, { observations: keepMs }, environment, report, signal).catch((error) =>
        report((error as Error).message)
      );
    }
    if (signal.aborted) return;
  }
}

/**
 * Prunes a database over a connection of its own.
 *
 * @param report Receives a line for each month whose space is freed later.
 */
export async function pruneOnce(
  location: DatabaseLocation,
  retention: Retention,
  environment: ConnectionEnvironment,
  report: (line: string) => void,
  signal?: AbortSignal,
): Promise<Pruned> {
  await using database = await openExisting(location, environment);
  return await prune(database, retention, report, signal);
}

/**
 * Judges the numbers of players in a database over a connection of its own, at most once a day.
 *
 * @param signal Ends it early.
 * @throws StoreError
 */
export async function judgeOnce(
  location: DatabaseLocation,
  environment: ConnectionEnvironment,
  signal?: AbortSignal,
): Promise<void> {
  await using database = await openExisting(location, environment);
  const between = () => sleep(systemClock, 0, signal);
  await withDatabaseErrors(
    "write to",
    database,
    () => judgePlayers(database, { between, signal, everyMs: DAY_MS }),
  );
}
