/**
 * Ends scans that were killed: they count as running, and have written no heartbeat for a minute.
 *
 * @module
 */
import { type Database, timeParameter } from "../database/database.ts";
import { HEARTBEAT_TIMEOUT_MS, writeScanEnd } from "../scans/scan_progress.ts";
import { writeMemberCounts } from "./scan_events.ts";

/**
 * Ends each killed scan as interrupted, at its last heartbeat, and writes its summary. A scan that still runs
 * is running again with its next heartbeat. Campaigns are left to their collectors, and watches to others.
 *
 * @param begun The `uuid` of a scan that has just begun: its heartbeat is old if the database was unavailable.
 */
export async function endKilledScans(database: Database, begun?: string): Promise<void> {
  const isKilled = "c.state = 'running' and c.kind in ('sweep', 'lan') and c.parts = 1 and " +
    `c.heartbeat_at < ${timeParameter(database)} and ` +
    "not exists (select 1 from scan_parts p where p.scan = c.id)";
  const staleAt = database.now() - HEARTBEAT_TIMEOUT_MS;
  const killed = await database.rows(
    `select c.id, c.uuid from scans c where ${isKilled} order by c.id`,
    [staleAt],
  );
  const lock = database.engine === "postgres" ? " for update" : "";
  for (const { id, uuid } of killed) {
    if (uuid === begun) continue;
    await database.transaction(async () => {
      const [scan] = await database.rows(
        `select c.heartbeat_at from scans c where c.id = ? and ${isKilled}${lock}`,
        [Number(id), staleAt],
      );
      if (scan === undefined) return; // it was resumed, or another program ended it
      const end = { state: "interrupted", at: Number(scan.heartbeat_at) } as const;
      await writeScanEnd(database, Number(id), end);
      await writeMemberCounts(database, Number(id), end);
    });
  }
}
