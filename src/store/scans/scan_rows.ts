/**
 * Looks up which servers of a resumed scan have a row in a database.
 *
 * @module
 */
import { formatAddress, parseEndpoint } from "../../core/address.ts";
import { serverId } from "../../core/record.ts";
import type { Database } from "../database/database.ts";
import { canonicalHost, hasAddressIn } from "../rows/addresses.ts";
import { storableUuid } from "../rows/stored_values.ts";

/** Number of servers that one query handles. */
const BATCH = 500;

/**
 * Finds the endpoints whose row of an unfinished scan is in a database. `scan_servers` has them until
 * the scan finishes. Rows that were imported from a spill file have an observation of the scan.
 *
 * @param scanId The scan's identity, UUIDv7.
 * @param ids The results of {@linkcode serverId}.
 * @returns The ids of the endpoints that have a row.
 */
export async function serversWithRow(
  database: Database,
  scanId: string,
  ids: readonly string[],
): Promise<Set<string>> {
  const uuid = storableUuid(scanId);
  const [scan] = uuid === null
    ? []
    : await database.rows("select id from scans where uuid = ?", [uuid]);
  const withRow = new Set<string>();
  if (scan === undefined) return withRow;
  for (let at = 0; at < ids.length; at += BATCH) {
    const batch = ids.slice(at, at + BATCH);
    for (const id of await batchWithRow(database, Number(scan.id), batch)) withRow.add(id);
  }
  return withRow;
}

async function batchWithRow(
  database: Database,
  scan: number,
  ids: readonly string[],
): Promise<string[]> {
  const hosts = ids.map((id) => formatAddress(parseEndpoint(id)!.address));
  const { condition, value } = hasAddressIn(database, hosts);
  const rows = await database.rows(
    `select s.address, s.port from servers s where ${condition} and ` +
      "(exists (select 1 from scan_servers e where e.scan = ? and e.server = s.id " +
      "and e.what % 2 = 1) or " +
      "exists (select 1 from observations o where o.server = s.id and o.scan = ? and o.online))",
    [value, scan, scan],
  );
  const wanted = new Set(ids);
  return rows.map(({ address, port }) =>
    serverId({ host: canonicalHost(String(address)), port: Number(port) })
  ).filter((id) => wanted.has(id));
}
