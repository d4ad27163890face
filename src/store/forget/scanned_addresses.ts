/**
 * Removes the addresses of forgotten servers from the ranges of scans.
 *
 * @module
 */
import { formatAddress, parseEndpoint } from "../../core/address.ts";
import { type Database, isInList, listValue } from "../database/database.ts";
import { canonicalHost, hasAddressIn } from "../rows/addresses.ts";

/** Addresses per transaction. */
const PAGE = 10_000;

/**
 * Removes the ranges of scans that consist of one address of these servers, unless another server has
 * the address. Longer ranges stay: they do not show which of their addresses had a server.
 *
 * @param endpoints Keys of endpoints. Other keys are ignored.
 */
export async function removeScannedAddresses(
  database: Database,
  endpoints: readonly string[],
): Promise<void> {
  const hosts = new Set(endpoints.flatMap((key) => {
    const endpoint = parseEndpoint(key);
    return endpoint === undefined ? [] : [formatAddress(endpoint.address)];
  }));
  const all = [...hosts];
  for (let from = 0; from < all.length; from += PAGE) {
    await database.transaction(() => removePage(database, all.slice(from, from + PAGE)));
  }
}

async function removePage(database: Database, hosts: readonly string[]): Promise<void> {
  const { condition, value } = hasAddressIn(database, hosts);
  const rows = await database.rows(`select distinct s.address from servers s where ${condition}`, [
    value,
  ]);
  const used = new Set(rows.map(({ address }) => canonicalHost(String(address))));
  const type = database.engine === "postgres" ? "inet" : "text";
  await database.run(
    `delete from scan_ranges where first = last and ${isInList(database, "first", type)}`,
    [listValue(database, hosts.filter((host) => !used.has(host)))],
  );
}
