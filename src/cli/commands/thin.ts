/**
 * Thinning lists: the command thin, and `--keep` of others.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { sleep, systemClock } from "../../net/clock.ts";
import type { Database } from "../../store/database/database.ts";
import { openExisting, type StorePlace } from "../../store/open_store.ts";
import { attempt } from "../../store/store.ts";
import { cutsFor, thin } from "../../store/downsample.ts";
import { readArgs } from "../options/parse_arguments.ts";
import { tellLine } from "../term/console.ts";
import { namedPlace } from "../../app/databases/select_servers.ts";
import { count } from "../../app/targets/scan_plan.ts";
import { SURROUNDINGS } from "../../app/databases/connection_environment.ts";
import { Settings } from "../../app/settings/option_values.ts";

/** Between two transactions others may write, and polls go on, milliseconds. */
const PAUSE_MS = 10;

/** Runs `thin`; returns the exit code. */
export async function runThin(args: readonly string[]): Promise<number> {
  const settings = new Settings(readArgs("thin", args));
  const { words } = settings.values;
  const place = namedPlace(words[0]);
  const keepMs = settings.age("keep");
  if (keepMs === undefined) {
    throw new InputError("Cannot thin a list without --keep: how long all is kept, as 90d");
  }
  const line = await thinOnce(place, keepMs);
  if (!settings.has("quiet")) tellLine(line);
  return 0;
}

/**
 * Thins a list.
 *
 * @param signal Ends it early.
 * @returns What there is to say of it.
 * @throws StoreError
 */
async function thinList(
  database: Database,
  keepMs: number,
  signal?: AbortSignal,
): Promise<string> {
  const between = () => sleep(systemClock, PAUSE_MS, signal);
  const cuts = cutsFor(Date.now(), keepMs);
  const deleted = await attempt("write to", database, () => thin(database, cuts, between, signal));
  return `${database.name}: ${count(deleted, "observation")} thinned out`;
}

/** A day: watches thin their lists so often, and first after a minute, milliseconds. */
const DAILY_MS = 86_400_000;
const FIRST_MS = 60_000;

/**
 * Thins lists until the signal, each over a connection of its own: transactions of others go on
 * meanwhile. What cannot be thinned is told.
 */
export async function keepThin(
  lists: readonly StorePlace[],
  keepMs: number | undefined,
  signal: AbortSignal,
  tell: (line: string) => void,
): Promise<void> {
  if (keepMs === undefined) return;
  for (let wait = FIRST_MS;; wait = DAILY_MS) {
    await sleep(systemClock, wait, signal);
    for (const list of lists) {
      if (signal.aborted) return;
      await thinOnce(list, keepMs, signal).catch((error) => tell((error as Error).message));
    }
    if (signal.aborted) return;
  }
}

/**
 * Thins a list over a connection of its own.
 *
 * @returns What there is to say of it.
 */
export async function thinOnce(
  place: StorePlace,
  keepMs: number,
  signal?: AbortSignal,
): Promise<string> {
  await using database = await openExisting(place, SURROUNDINGS);
  return await thinList(database, keepMs, signal);
}
