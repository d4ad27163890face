/**
 * Writes observations, and which servers replied to an unfinished scan.
 *
 * @module
 */
import {
  type BulkStatement,
  type Database,
  insertInto,
  isInList,
  listValue,
  type Value,
} from "../database/database.ts";
import { OBSERVATION_COLUMNS } from "../server_columns.ts";

/** Inserts observations. Writing one again adds no row. */
export const INSERT_OBSERVATION: BulkStatement = insertInto(
  "observations",
  OBSERVATION_COLUMNS,
  "on conflict (server, at, scan) do nothing",
);

/** Inserts servers that replied to a scan. */
export const INSERT_SCAN_SERVER = insertInto(
  "scan_servers",
  [["scan", "integer"], ["server", "integer"]],
  "on conflict (scan, server) do nothing",
);

/** Writes observations in the order of servers. */
export async function writeObservations(
  database: Database,
  rows: readonly (readonly Value[])[],
): Promise<void> {
  const inOrder = rows.toSorted(([a, at], [b, other]) =>
    a === b ? Number(at) - Number(other) : Number(a) - Number(b)
  );
  await database.bulk(INSERT_OBSERVATION, inOrder);
}

/** Writes which servers replied to a scan, in the order of their ids. */
export async function writeScanServers(
  database: Database,
  scan: number,
  servers: readonly number[],
): Promise<void> {
  const inOrder = servers.toSorted((a, b) => a - b);
  await database.bulk(INSERT_SCAN_SERVER, inOrder.map((server) => [scan, server]));
}

/** The servers, among those given, that have replied to an unfinished scan. */
export async function repliedServers(
  database: Database,
  scan: number,
  servers: readonly number[],
): Promise<Set<number>> {
  if (servers.length === 0) return new Set();
  const rows = await database.rows(
    `select server from scan_servers where scan = ? and ${isInList(database, "server", "integer")}`,
    [scan, listValue(database, servers)],
  );
  return new Set(rows.map(({ server }) => Number(server)));
}
