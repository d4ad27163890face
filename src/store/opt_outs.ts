/**
 * The addresses in a database that opted out of scans.
 *
 * @module
 */
import { type Address, formatAddress, parseAddress } from "../core/address.ts";
import type { Range } from "../targets/ranges.ts";
import { type Database, insertInto } from "./database/database.ts";

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

/** Stores opt-outs. The time of an address that is already stored stays unchanged. */
export async function writeOptOuts(
  database: Database,
  optOuts: readonly OptOut[],
): Promise<void> {
  const times = new Map(
    optOuts.map(({ address, at }) => [formatAddress(address), at + database.clockOffsetMs]),
  );
  await database.bulk(INSERT_OPT_OUT, [...times].sort(([a], [b]) => a < b ? -1 : 1));
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
