/**
 * The addresses in a database that opted out of scans.
 *
 * @module
 */
import { type Address, formatAddress, parseAddress } from "../core/address.ts";
import type { Range } from "../targets/ranges.ts";
import {
  type BulkStatement,
  type Database,
  insertInto,
  isInList,
  listValue,
} from "./database/database.ts";
import { addressColumn, addressSort } from "./rows/addresses.ts";
import { markChanged } from "./rows/write_servers.ts";

/** An address that opted out. */
export interface OptOut {
  /** The address whose servers are not queried any more. */
  readonly address: Address;
  /** When a reply first carried the opt-out, Unix milliseconds. */
  readonly at: number;
}

const INSERT_OPT_OUT = insertInto(
  "opt_outs",
  [["address", "inet"], ["noted_at", "timestamptz"]],
  "on conflict (address) do nothing",
);

const SET_OFFLINE: BulkStatement = {
  types: ["integer"],
  sqlite: "update server_state set online = 0 where server = ?",
  postgres: "update server_state set online = false where server = any ($1::integer[])",
};

/**
 * Stores opt-outs, and marks the servers of their addresses as offline. The time of an address that is
 * already stored stays unchanged. The caller has begun a transaction.
 */
export async function writeOptOuts(
  database: Database,
  optOuts: readonly OptOut[],
): Promise<void> {
  const times = new Map(
    optOuts.map(({ address, at }) => [formatAddress(address), at + database.clockOffsetMs]),
  );
  await database.bulk(INSERT_OPT_OUT, [...times].sort(([a], [b]) => a < b ? -1 : 1));
  if (times.size === 0) return;
  const type = database.engine === "postgres" ? "inet" : "text";
  const isThere = isInList(database, `s.${addressColumn(database)}`, type);
  const hosts = [...times.keys()].map((host) => type === "inet" ? host : addressSort(host));
  const rows = await database.rows(
    "select s.id from servers s join server_state t on t.server = s.id " +
      `where t.online and ${isThere} order by s.id`,
    [listValue(database, hosts)],
  );
  const ids = rows.map(({ id }) => Number(id));
  await database.bulk(SET_OFFLINE, ids.map((id) => [id]));
  await markChanged(database, ids.map((id) => [database.now(), id]));
}

/** Reads the opted-out addresses of a database, each as a range of one address. */
export async function readOptOuts(database: Database): Promise<Range[]> {
  const ranges: Range[] = [];
  for await (const { address } of database.stream("select address from opt_outs")) {
    const start = parseAddress(String(address));
    if (start === undefined) continue; // another program wrote this row: blocksweep writes addresses only
    ranges.push({ start, end: typeof start === "number" ? start + 1 : start + 1n });
  }
  return ranges;
}
