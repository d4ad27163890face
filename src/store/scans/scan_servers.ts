/**
 * Writes rows of the table `scan_servers`: the servers that replied to an unfinished scan.
 *
 * @module
 */
import { type Database, listValue } from "../database/database.ts";
import type { WrittenServer } from "../rows/write_servers.ts";

/** Inserts servers that replied to a scan: a list of `servers.id`. */
const INSERT_SCAN_SERVERS = {
  sqlite: "insert into scan_servers (scan, server) select ?, value from json_each(?) where true " +
    "on conflict (scan, server) do nothing",
  postgres: "insert into scan_servers (scan, server) " +
    "select ?::integer, unnest(?::integer[]) on conflict (scan, server) do nothing",
};

/** Writes which servers replied to scans, in the order of the scans and of the servers. */
export async function writeScanServers(
  database: Database,
  written: readonly WrittenServer[],
): Promise<void> {
  const byScan = Map.groupBy(written, ({ write: { scan } }) => scan);
  const scans = [...byScan.keys()].filter((scan) => scan !== null).sort((a, b) => a - b);
  for (const scan of scans) {
    const ids = byScan.get(scan)!.map(({ id }) => id).sort((a, b) => a - b);
    const sql = INSERT_SCAN_SERVERS[database.engine];
    await database.run(sql, [scan, listValue(database, ids)]);
  }
}
