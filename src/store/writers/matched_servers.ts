/**
 * Matches the records of a scan with the servers of a database.
 *
 * @module
 */
import type { ServerRecord } from "../../core/record.ts";
import type { Database } from "../database/database.ts";
import { withoutForgotten } from "../forget/tombstones.ts";
import { byAddress, type Identified, identified, type ServerIdentity } from "../rows/identity.ts";
import { PART_COLUMNS } from "../merging/kept_columns.ts";
import { type KnownServer, readKnownServers, repliedServers } from "../rows/known_servers.ts";
import { scanNumbers } from "../rows/scan_numbers.ts";

/** The servers of a batch of records, and their stored data. */
export interface MatchedServers {
  /** All records whose host is an address, with the identities that their names give. */
  readonly all: readonly Identified[];
  /** At most one record per server. */
  readonly servers: readonly Identified[];
  /** The known servers by key. */
  readonly known: ReadonlyMap<string, KnownServer>;
  /** `scans.id` by the identity of a scan. */
  readonly scans: ReadonlyMap<string | null, number>;
  /** By `scans.id`: the `servers.id` of known servers that have replied to this scan before. */
  readonly replied: ReadonlyMap<number, ReadonlySet<number>>;
}

/**
 * Finds the servers to which records belong. In one scan, a name is the key of one server. If the
 * name led to several endpoints, the first one gets the name; the others get no name.
 *
 * @param attempt The attempt of the transaction.
 */
export async function matchServers(
  database: Database,
  records: readonly ServerRecord[],
  attempt: number,
): Promise<MatchedServers> {
  const scans = await scanNumbers(database, records.map(({ scan_id: id }) => id));
  const [all] = await withoutForgotten(database, [identified(records)]);
  const unique = onePerServer(all);
  const options = { columns: PART_COLUMNS, attempt };
  const known = await readKnownServers(
    database,
    unique.map(({ identity }) => identity.key),
    options,
  );
  const replied = new Map<number, ReadonlySet<number>>();
  const knownIds = [...known.values()].map(({ id }) => id);
  for (const scan of scans.values()) {
    replied.set(scan, await repliedServers(database, scan, knownIds));
  }
  const isTaken = ({ identity, record }: Identified) => {
    const before = known.get(identity.key);
    const scan = scans.get(record.scan_id);
    return before !== undefined && identity.hostname !== null &&
      !isSameEndpoint(before, identity) &&
      scan !== undefined && replied.get(scan)!.has(before.id);
  };
  if (!unique.some(isTaken)) return { all, servers: unique, known, scans, replied };
  const renamed = unique.map((one) =>
    isTaken(one) ? { ...one, identity: byAddress(one.identity) } : one
  );
  const keys = renamed.map(({ identity }) => identity.key);
  for (const [key, server] of await readKnownServers(database, keys, options)) {
    known.set(key, server);
  }
  return { all, servers: onePerServer(renamed), known, scans, replied };
}

/**
 * At most one record per server, the last one. In one scan, a name is the key of one server. If the
 * name led to several endpoints, the first one gets the name; the others get no name.
 */
function onePerServer(records: readonly Identified[]): Identified[] {
  const servers = new Map<string, Identified>();
  for (const one of records) {
    const first = servers.get(one.identity.key);
    const isOther = first !== undefined && !isSameEndpoint(first.identity, one.identity);
    const named = isOther ? { ...one, identity: byAddress(one.identity) } : one;
    servers.set(named.identity.key, named);
  }
  return [...servers.values()];
}

function isSameEndpoint(
  a: Pick<ServerIdentity, "address" | "port">,
  b: Pick<ServerIdentity, "address" | "port">,
): boolean {
  return a.address === b.address && a.port === b.port;
}
