/**
 * Writes rows of the table `observations`.
 *
 * @module
 */
import {
  type BulkStatement,
  type ColumnDefinition,
  type Database,
  insertInto,
  type Value,
} from "../database/database.ts";
import { markLateRows } from "../uptime/dirty_hours.ts";
import type { ServerValues } from "../rows/server_values.ts";
import { storableTime } from "../rows/stored_values.ts";
import type { WrittenServer } from "./write_servers.ts";

const OBSERVATION_COLUMNS: readonly ColumnDefinition[] = [
  ["server", "integer"],
  ["at", "timestamptz"],
  ["scan", "integer"],
  ["online", "boolean"],
  ["players_online", "integer"],
  ["players_max", "integer"],
  ["latency_ms", "double precision"],
  ["content", "bytea"],
  ["polls", "integer"],
];

/** Inserts observations. Writing one again adds no row. */
export const INSERT_OBSERVATION: BulkStatement = insertInto(
  "observations",
  OBSERVATION_COLUMNS,
  "on conflict (server, at, scan) do nothing",
);

/** The server, the time and the scan of an observation. */
interface ObservationKey {
  /** `servers.id`. */
  readonly server: number;
  /** When the server was probed, Unix milliseconds. */
  readonly at: number;
  /** `scans.id`. */
  readonly scan: number;
}

/**
 * The values of an observation, in the order of the columns that {@linkcode INSERT_OBSERVATION} fills.
 *
 * @param polls Number of polls of a watch that the row stands for; 0: the row is of a scan.
 * @param reply The values and the round trip of the reply; `undefined`: no reply.
 */
export function observationValues(
  { server, at, scan }: ObservationKey,
  polls: number,
  reply?: { readonly values: ServerValues; readonly latencyMs: number | null },
): Value[] {
  const time = storableTime(at);
  if (reply === undefined) return [server, time, scan, 0, null, null, null, null, polls];
  const { values: { playersOnline, playersMax, content }, latencyMs } = reply;
  const latency = Number.isFinite(latencyMs) ? latencyMs : null;
  return [server, time, scan, 1, playersOnline, playersMax, latency, content, polls];
}

/** Writes an observation of each server that replied to a scan with a row in `scans`. */
export async function observeReplies(
  database: Database,
  written: readonly WrittenServer[],
): Promise<void> {
  const rows: Value[][] = [];
  for (const { id: server, values, write: { scan, repliedAt: at, record } } of written) {
    if (scan === null || at === null) continue;
    rows.push(observationValues({ server, at, scan }, 0, { values, latencyMs: record.latency_ms }));
  }
  await writeObservations(database, rows);
}

/**
 * Writes observations in the order of servers. Late ones make the hours dirty in which they are valid.
 */
export async function writeObservations(
  database: Database,
  rows: readonly (readonly Value[])[],
): Promise<void> {
  const inOrder = rows.toSorted((a, b) =>
    Number(a[0]) - Number(b[0]) || Number(a[1]) - Number(b[1])
  );
  await database.bulk(INSERT_OBSERVATION, inOrder);
  await markLateRows(
    database,
    inOrder.map((row) => ({ server: Number(row[0]), at: Number(row[1]), scan: Number(row[2]) })),
  );
}
