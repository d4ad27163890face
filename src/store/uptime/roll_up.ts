/**
 * Computes the rollups of hours and days. An hour is always computed anew from observations and spans.
 *
 * @module
 */
import { DAY_MS } from "../../core/quantities.ts";
import {
  type BulkStatement,
  type Database,
  type Row,
  timeParameter,
} from "../database/database.ts";
import { closeHours } from "./close_hours.ts";
import { ALL_SERVERS } from "./dirty_hours.ts";
import { exclusively, periodStart, readState, type RollupState } from "./rollup_hours.ts";
import { computeDay, computeHour } from "./rollup_rows.ts";
import { computeFirstUptime, computeServerUptime, resetOldUptime } from "./server_uptime.ts";
import { type DirtyHour, writeTotals } from "./rollup_totals.ts";

/** Servers per transaction. */
const PAGE = 2000;
/** In `dirty_hours.next_server`: only the totals are left. */
const ONLY_TOTALS = 2 ** 31 - 1;

/** Options of {@linkcode rollUp}. */
export interface RollUpOptions {
  /** Unix milliseconds. Default: the database's clock. */
  readonly now?: number;
  /** Awaited between two transactions, so that other work can run. */
  readonly between: () => Promise<void>;
  /** Cancels the rest; the next call continues. */
  readonly signal?: AbortSignal;
}

/**
 * Closes the hours that have ended, and computes all rollups that are missing or dirty. If several
 * programs do so at once, each of their transactions computes the next page of servers.
 *
 * @returns Whether all rollups of ended hours are up to date.
 */
export async function rollUp(
  database: Database,
  { now = database.now(), between, signal }: RollUpOptions,
): Promise<boolean> {
  const isClosed = await closeHours(database, now, between);
  await exclusively(database, () => resetOldUptime(database, now));
  while (!signal?.aborted) {
    const next = await exclusively(database, () => computePage(database));
    if (next === "done") return isClosed;
    if (typeof next === "object") await writeTotals(database, next, between, signal);
    await between();
  }
  return false;
}

/**
 * Computes the next page of servers.
 *
 * @returns `done`: nothing is dirty. An hour: its totals are left.
 */
async function computePage(database: Database): Promise<"done" | "more" | DirtyHour> {
  const state = await readState(database);
  const time = timeParameter(database);
  await database.run(`delete from dirty_hours where hour < ${time}`, [state.sealedUntil]);
  const marks = await database.rows(
    "select hour, server, next_server, marks from dirty_hours " +
      `order by hour, server desc limit ${PAGE}`,
  );
  if (marks.length === 0) return "done";
  const [{ hour, server, next_server: first, marks: count }] = marks;
  if (server !== ALL_SERVERS) {
    const ofHour = marks.filter((mark) => mark.hour === hour && mark.server !== ALL_SERVERS);
    await computeServers(database, Number(hour), ofHour.toReversed(), state);
    return "more";
  }
  const whole = { hour: Number(hour), marks: Number(count) };
  if (Number(first) === ONLY_TOTALS) return whole;
  await computeNext(database, whole, Number(first), state);
  return "more";
}

/** Removes dirty hours, unless they became dirty again meanwhile. */
const UNMARK: BulkStatement = {
  types: ["timestamptz", "integer", "integer"],
  sqlite: "delete from dirty_hours where hour = ? and server = ? and marks = ?",
  postgres: "delete from dirty_hours as old using unnest($1::timestamptz[], $2::integer[], " +
    "$3::integer[]) as new (hour, server, marks) where old.hour = new.hour " +
    "and old.server = new.server and old.marks = new.marks",
};

/** Computes an hour for single servers for which it is dirty. */
async function computeServers(
  database: Database,
  hour: number,
  marks: readonly Row[],
  state: RollupState,
): Promise<void> {
  const servers = marks.map(({ server }) => Number(server));
  await computeHour(database, hour, servers);
  await computeDayOf(database, hour, servers, state);
  await database.bulk(UNMARK, marks.map(({ server, marks }) => [hour, server, marks]));
  // Another program may be summing the rollups of before: it sees by the marks that it has to begin anew.
  await database.run(
    "insert into dirty_hours (hour, server, next_server, marks) " +
      `values (${timeParameter(database)}, ?, ?, 1) ` +
      "on conflict (hour, server) do update set marks = dirty_hours.marks + 1",
    [hour, ALL_SERVERS, ONLY_TOTALS],
  );
}

/** Computes an hour that is dirty for all servers, for the next page of servers. */
async function computeNext(
  database: Database,
  { hour, marks }: DirtyHour,
  first: number,
  state: RollupState,
): Promise<void> {
  const rows = await database.rows(
    `select id from servers where id > ? order by id limit ${PAGE}`,
    [first],
  );
  const servers = rows.map(({ id }) => Number(id));
  if (servers.length > 0) {
    await computeHour(database, hour, servers);
    await computeDayOf(database, hour, servers, state);
  }
  const next = servers.length < PAGE ? ONLY_TOTALS : servers.at(-1)!;
  // An hour that became dirty again meanwhile begins anew.
  await database.run(
    "update dirty_hours set next_server = ? " +
      `where hour = ${timeParameter(database)} and server = ? and marks = ?`,
    [next, hour, ALL_SERVERS, marks],
  );
}

/**
 * Computes the day of an hour for servers, and their uptime. Does nothing while another hour of that day
 * is still to be computed for them, because the day is computed with its last hour.
 */
async function computeDayOf(
  database: Database,
  hour: number,
  servers: readonly number[],
  state: RollupState,
): Promise<void> {
  const day = periodStart(hour, DAY_MS);
  if (day + DAY_MS > state.closedUntil) {
    await computeFirstUptime(database, servers, state);
    return;
  }
  const time = timeParameter(database);
  const later = await database.rows(
    `select 1 from dirty_hours where hour >= ${time} and hour < ${time} and hour <> ${time} ` +
      "and server = ? and next_server < ? limit 1",
    [day, day + DAY_MS, hour, ALL_SERVERS, servers[0]],
  );
  if (later.length > 0) return;
  await computeDay(database, day, servers);
  await computeServerUptime(database, hour, servers, state);
}
