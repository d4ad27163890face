/**
 * Makes hours dirty: their rollups must be computed again, because rows came after the hour was closed.
 *
 * @module
 */
import { HOUR_MS } from "../../core/quantities.ts";
import { type BulkStatement, type Database, isInList, listValue } from "../database/database.ts";
import { hoursBetween, periodStart, VALID_MS } from "./rollup_hours.ts";

/** An hour is closed at the earliest this long after its end, milliseconds. */
export const GRACE_MS = 5 * 60_000;
/**
 * From this long before the end of an hour, a writer checks whether the hour is closed,
 * milliseconds. The clocks of two programs differ from the database's by at most a minute each, so
 * a writer never skips the check for a closed hour.
 */
const SLACK_MS = 3 * 60_000;

/** Makes those hours dirty that are closed and not final. */
const MARK: BulkStatement = {
  types: ["timestamptz", "integer"],
  sqlite: "insert into dirty_hours (hour, server, next_server, marks) " +
    "select ?1, ?2, 0, 1 from rollup_state where closing_until > ?1 and sealed_until <= ?1 " +
    "on conflict (hour, server) do update set next_server = 0, marks = dirty_hours.marks + 1",
  postgres: "insert into dirty_hours (hour, server, next_server, marks) " +
    "select new.hour, new.server, 0, 1 " +
    "from unnest($1::timestamptz[], $2::integer[]) as new (hour, server), rollup_state " +
    "where closing_until > new.hour and sealed_until <= new.hour " +
    "on conflict (hour, server) do update set next_server = 0, marks = dirty_hours.marks + 1",
};

/** In `dirty_hours.server`: all servers. */
export const ALL_SERVERS = 0;

/** A row of a server that a watch has written. */
export interface WrittenRow {
  /** `servers.id`. */
  readonly server: number;
  /** The time of the row, Unix milliseconds. */
  readonly at: number;
  /** `scans.id`. */
  readonly scan: number;
}

/**
 * Makes the hours dirty in which late observations of watches are valid. The caller has written the
 * observations in the same transaction: a program that closes hours waits for the transactions that
 * began before.
 */
export async function markLateRows(database: Database, rows: readonly WrittenRow[]): Promise<void> {
  const now = database.now();
  const late = rows.filter(({ at }) => mayBeClosed(now, at));
  if (late.length === 0) return;
  const watches = await watchesAmong(database, late.map(({ scan }) => scan));
  const ofWatches = late.filter(({ scan }) => watches.has(scan));
  await markHours(
    database,
    ofWatches.flatMap(({ server, at }) =>
      hoursBetween(at, at + VALID_MS).map((hour) => [hour, server] as const)
    ),
  );
}

/** Makes those hours from one time to another dirty that are closed, for all servers. */
export async function markPeriod(database: Database, from: number, to: number): Promise<void> {
  if (!mayBeClosed(database.now(), from)) return;
  await markHours(database, hoursBetween(from, to).map((hour) => [hour, ALL_SERVERS]));
}

/** Makes hours of servers dirty, in one order for all writers. */
export async function markHours(
  database: Database,
  hours: readonly (readonly [hour: number, server: number])[],
): Promise<void> {
  const unique = new Map(hours.map((one) => [one.join(), one]));
  const inOrder = [...unique.values()].sort(([a, one], [b, other]) => a - b || one - other);
  await database.bulk(MARK, inOrder);
}

/** Whether the hour of a time may be closed already. `now`: the database's time, Unix milliseconds. */
function mayBeClosed(now: number, at: number): boolean {
  return periodStart(at, HOUR_MS) + HOUR_MS <= now + SLACK_MS;
}

/** The scans that are watches, among those given. */
async function watchesAmong(
  database: Database,
  scans: readonly number[],
): Promise<ReadonlySet<number>> {
  const rows = await database.rows(
    `select distinct scan from watch_spans where ${isInList(database, "scan", "integer")}`,
    [listValue(database, [...new Set(scans)])],
  );
  return new Set(rows.map(({ scan }) => Number(scan)));
}
