/**
 * Hours and days of uptime, in UTC.
 *
 * @module
 */
import { HOUR_MS } from "../../core/quantities.ts";
import {
  type Database,
  isInList,
  listValue,
  type Sql,
  StoreError,
  timeParameter,
} from "../database/database.ts";

/**
 * How long an observation is valid at most, milliseconds. A watch writes an observation of each
 * server at least every hour, and of an offline server with its next poll, which comes within 1.1
 * hours.
 */
export const VALID_MS = 3 * HOUR_MS;

/** A period of time, Unix milliseconds. */
export interface Period {
  /** Start. */
  readonly from: number;
  /** End. */
  readonly to: number;
}

/** The start of the hour or day that contains a time, Unix milliseconds. */
export function periodStart(at: number, lengthMs: number): number {
  return Math.floor(at / lengthMs) * lengthMs;
}

/** The starts of all hours that overlap the time from `from` to `to`, Unix milliseconds. */
export function hoursBetween(from: number, to: number): number[] {
  const hours: number[] = [];
  for (let hour = periodStart(from, HOUR_MS); hour < to; hour += HOUR_MS) hours.push(hour);
  return hours;
}

/**
 * The times up to which rollups are computed: the only row of `rollup_state`. Times are Unix
 * milliseconds.
 */
export interface RollupState {
  /** Rows before this time are late: they make their hours dirty. */
  readonly closingUntil: number;
  /** Hours before this time were computed, or are in `dirty_hours`. */
  readonly closedUntil: number;
  /** Hours before this time are final. */
  readonly sealedUntil: number;
}

/**
 * Reads the row of `rollup_state`.
 *
 * @throws StoreError when another program has removed the row.
 */
export async function readState(database: Database): Promise<RollupState> {
  const [row] = await database.rows(
    "select closing_until, closed_until, sealed_until from rollup_state",
  );
  if (row === undefined) {
    throw new StoreError(`Cannot use ${database.name}: its table rollup_state is empty`);
  }
  return {
    closingUntil: Number(row.closing_until),
    closedUntil: Number(row.closed_until),
    sealedUntil: Number(row.sealed_until),
  };
}

/** Sets a column of `rollup_state` to a later time. An earlier time changes nothing. */
export async function advanceState(
  database: Database,
  column: "closing_until" | "closed_until" | "sealed_until",
  until: number,
): Promise<void> {
  const time = timeParameter(database);
  await database.run(
    `update rollup_state set ${column} = ${time} where ${column} < ${time}`,
    [until, until],
  );
}

/** SQL of a condition: a column has one of the times of a list, which is one `?` parameter. */
export function isTimeIn({ engine }: Database, column: string): string {
  return engine === "postgres"
    ? `${column} = any (?::timestamptz[])`
    : `${column} in (select value from json_each(?))`;
}

/** The parameter of {@linkcode isTimeIn}. */
export function timeList(database: Database, times: readonly number[]): string {
  const isPostgres = database.engine === "postgres";
  return listValue(
    database,
    isPostgres ? times.map((at) => new Date(at).toISOString()) : times,
  );
}

/** Servers whose ids lie this close together, on average, are read as one range of ids. */
const DENSE = 4;

/**
 * The condition that a column has one of these servers. If the servers are consecutive, an index
 * that ends with the column is read once from the first to the last server, instead of once for
 * each server.
 *
 * @param servers `servers.id`, at least one, in order.
 */
export function isServerIn(
  database: Database,
  column: string,
  servers: readonly number[],
): Sql {
  const [first, last, list] = [servers[0], servers.at(-1)!, listValue(database, servers)];
  if (last - first >= DENSE * servers.length) {
    return { sql: isInList(database, column, "integer"), values: [list] };
  }
  // The unary plus keeps the query planner from searching the index once for each server of the list.
  const isListed = isInList(database, `+${column}`, "integer");
  return { sql: `${column} between ? and ? and ${isListed}`, values: [first, last, list] };
}

/** The key of the advisory lock of programs that compute rollups. */
const LOCK = 7022642159;

/** Runs `work` in a transaction. Only one program at a time runs such a transaction. */
export async function exclusively<T>(database: Database, work: () => Promise<T>): Promise<T> {
  return await database.transaction(async () => {
    if (database.engine === "postgres") {
      await database.script(`select pg_advisory_xact_lock(${LOCK})`);
    }
    return await work();
  });
}
