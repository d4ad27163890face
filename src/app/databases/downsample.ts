/**
 * Downsamples old observations of databases: once, or daily while a watch runs.
 *
 * @module
 */
import { sleep, systemClock } from "../../net/clock.ts";
import type { Database } from "../../store/database/database.ts";
import { downsampleCutoffs, downsampleObservations } from "../../store/downsample.ts";
import type { DatabaseLocation } from "../../store/database_location.ts";
import { removeEvents } from "../../store/events/remove_events.ts";
import { type ConnectionEnvironment, openExisting } from "../../store/open_store.ts";
import { withDatabaseErrors } from "../../store/store.ts";
import { DAY_MS, startOf } from "../../store/uptime/hours.ts";
import { rollUp } from "../../store/uptime/roll_up.ts";
import { removeHours, sealHours } from "../../store/uptime/seal_hours.ts";
import { countOf } from "../../core/quantities.ts";

/** Pause between two transactions, milliseconds: other programs write meanwhile, and polls continue. */
const PAUSE_MS = 10;

/** The result of downsampling a database. */
interface Downsampled {
  /** The database's name in messages. */
  readonly name: string;
  /** Number of deleted observations. */
  readonly pruned: number;
  /** Number of deleted events. */
  readonly events: number;
}

/**
 * Downsamples old observations of a database.
 *
 * @param signal Ends it early.
 * @throws StoreError
 */
async function downsample(
  database: Database,
  keepMs: number,
  signal?: AbortSignal,
): Promise<Downsampled> {
  const between = () => sleep(systemClock, PAUSE_MS, signal);
  const cuts = downsampleCutoffs(Date.now(), keepMs);
  const counts = await withDatabaseErrors("write to", database, async () => {
    // Uptime is computed from observations, so it is computed before observations are removed.
    await rollUp(database, { between, signal });
    const hourly = await sealHours(database, cuts.hourly);
    const daily = Math.min(cuts.daily, startOf(hourly, DAY_MS));
    await removeHours(database, hourly, between, signal);
    const events = await removeEvents(database, cuts.hourly, between, signal);
    const pruned = await downsampleObservations(database, { hourly, daily }, between, signal);
    return { pruned, events };
  });
  return { name: database.name, ...counts };
}

/** A line that describes what was pruned. */
export function downsampledLine({ name, pruned, events }: Downsampled): string {
  return `${name}: ${countOf(pruned, "observation")} and ${countOf(events, "event")} pruned`;
}

/** How often a watch prunes its databases, and after how long the first time, milliseconds. */
const DAILY_MS = 86_400_000;
const FIRST_MS = 60_000;

/**
 * Prunes databases until the signal aborts. Each database is pruned over a connection of its own,
 * so other transactions go on meanwhile. A failure is reported.
 */
export async function keepDownsampled(
  lists: readonly DatabaseLocation[],
  keepMs: number | undefined,
  environment: ConnectionEnvironment,
  signal: AbortSignal,
  report: (line: string) => void,
): Promise<void> {
  if (keepMs === undefined) return;
  for (let wait = FIRST_MS;; wait = DAILY_MS) {
    await sleep(systemClock, wait, signal);
    for (const list of lists) {
      if (signal.aborted) return;
      await downsampleOnce(list, keepMs, environment, signal).catch((error) =>
        report((error as Error).message)
      );
    }
    if (signal.aborted) return;
  }
}

/** Prunes a database over a connection of its own. */
export async function downsampleOnce(
  place: DatabaseLocation,
  keepMs: number,
  environment: ConnectionEnvironment,
  signal?: AbortSignal,
): Promise<Downsampled> {
  await using database = await openExisting(place, environment);
  return await downsample(database, keepMs, signal);
}
