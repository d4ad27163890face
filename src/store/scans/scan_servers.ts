/**
 * Writes rows of the table `scan_servers`: the servers that replied to an unfinished scan.
 *
 * @module
 */
import { type BulkStatement, type Database, insertInto } from "../database/database.ts";
import type { WrittenServer } from "../rows/write_servers.ts";

/** Inserts servers that replied to a scan. */
export const INSERT_SCAN_SERVER: BulkStatement = insertInto(
  "scan_servers",
  [["scan", "integer"], ["server", "integer"]],
  "on conflict (scan, server) do nothing",
);

/** Writes which servers replied to scans, in the order of the scans and of the servers. */
export async function writeScanServers(
  database: Database,
  written: readonly WrittenServer[],
): Promise<void> {
  const rows = written.flatMap(({ id, write: { scan } }) => scan === null ? [] : [[scan, id]]);
  rows.sort(([scan, id], [other, next]) => scan - other || id - next);
  await database.bulk(INSERT_SCAN_SERVER, rows);
}
