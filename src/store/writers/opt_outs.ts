/**
 * The addresses in a database that opted out of scans.
 *
 * @module
 */
import { formatAddress, parseAddress } from "../../core/address.ts";
import { type Range, rangeOfOne, unmapped } from "../../targets/ranges.ts";
import {
  type BulkStatement,
  type Database,
  isInList,
  listValue,
  type Row,
  timeParameter,
} from "../database/database.ts";
import { addressColumn, addressSort, canonicalHost } from "../rows/addresses.ts";
import type { OptOut } from "./polls.ts";
import { storableTime } from "../rows/stored_values.ts";
import { markChanged } from "./write_servers.ts";

/** A server whose address has just opted out. */
export interface OptedOutServer {
  /** `servers.id`. */
  readonly id: number;
  /** `servers.key`. */
  readonly key: string;
  /** The address in canonical form. */
  readonly host: string;
  /** The last port. */
  readonly port: number;
  /** The name in the key; `null`: none. */
  readonly hostname: string | null;
  /** The server's own name; `null`: none. */
  readonly name: string | null;
  /** When a reply first carried the opt-out, Unix milliseconds of the database's clock. */
  readonly at: number;
}

/** The opt-out counts as the last probe: earlier polls that are written later do not set a server online. */
const SET_OFFLINE: BulkStatement = {
  types: ["timestamptz", "integer"],
  sqlite: "update server_state set online = 0, probed_at = max(probed_at, ?) where server = ?",
  postgres:
    "update server_state as t set online = false, probed_at = greatest(t.probed_at, n.at) " +
    "from unnest($1::timestamptz[], $2::integer[]) as n (at, server) where t.server = n.server",
};

/**
 * Stores opt-outs, and marks the servers of their addresses as offline. The time of an address that is
 * already stored stays unchanged. The caller has begun a transaction.
 *
 * @returns The servers of the addresses that were not stored before, in the order of their ids.
 */
export async function writeOptOuts(
  database: Database,
  optOuts: readonly OptOut[],
): Promise<readonly OptedOutServer[]> {
  const times = new Map(
    optOuts.map(({ address, at }) => [formatAddress(address), at + database.clockOffsetMs]),
  );
  const added = new Set<string>();
  for (const [host, at] of [...times].sort(([a], [b]) => a < b ? -1 : 1)) {
    if (await insertOptOut(database, host, at)) added.add(host);
  }
  if (times.size === 0) return [];
  const type = database.engine === "postgres" ? "inet" : "text";
  const isThere = isInList(database, `s.${addressColumn(database)}`, type);
  const hosts = [...times.keys()].map((host) => type === "inet" ? host : addressSort(host));
  const rows = await database.rows(
    "select s.id, s.key, s.address, s.port, s.hostname, s.name, t.online from servers s " +
      `join server_state t on t.server = s.id where ${isThere} order by s.id`,
    [listValue(database, hosts)],
  );
  const online = rows.filter(({ online }) => online === 1).map((row) => optedOutServer(row, times));
  await database.bulk(SET_OFFLINE, online.map(({ id, at }) => [storableTime(at) ?? 0, id]));
  await markChanged(database, online.map(({ id }) => id));
  return rows.map((row) => optedOutServer(row, times))
    .filter(({ host }) => added.has(host));
}

/** Stores an opt-out. Returns whether the address was not stored before. */
async function insertOptOut(database: Database, host: string, at: number): Promise<boolean> {
  const parameter = database.engine === "postgres" ? "?::inet" : "?";
  const inserted = await database.run(
    `insert into opt_outs (address, noted_at) values (${parameter}, ${timeParameter(database)}) ` +
      "on conflict (address) do nothing",
    [host, storableTime(at) ?? 0],
  );
  return inserted > 0;
}

function optedOutServer(
  { id, key, address, port, hostname, name }: Row,
  times: ReadonlyMap<string, number>,
): OptedOutServer {
  const host = canonicalHost(String(address));
  const texts = {
    hostname: hostname === null ? null : String(hostname),
    name: name === null ? null : String(name),
  };
  const at = times.get(host)!;
  return { id: Number(id), key: String(key), host, port: Number(port), ...texts, at };
}

/** Reads the opted-out addresses of a database, each as a range of one address. */
export async function readOptOuts(database: Database): Promise<Range[]> {
  const ranges: Range[] = [];
  for await (const { address } of database.stream("select address from opt_outs")) {
    const start = parseAddress(String(address));
    if (start === undefined) continue; // another program wrote this row: blocksweep writes addresses only
    ranges.push(unmapped(rangeOfOne(start)));
  }
  return ranges;
}
