/**
 * Addresses that opted out, as a database marks them.
 *
 * @module
 */
import { type Address, formatAddress, parseAddress } from "../core/address.ts";
import type { Range } from "../targets/ranges.ts";
import { type Database, insertInto } from "./database/database.ts";

/** An address that opted out. */
export interface OptOut {
  /** It. */
  readonly address: Address;
  /** When that was noticed, Unix milliseconds. */
  readonly at: number;
}

const NOTE = insertInto(
  "opt_outs",
  [["host", "text"], ["noted_at", "bigint"]],
  "on conflict (host) do nothing",
);

/** Marks addresses as opted out; the first time counts. */
export async function writeOptOuts(
  database: Database,
  optOuts: readonly OptOut[],
): Promise<void> {
  const hosts = new Map(optOuts.map(({ address, at }) => [formatAddress(address), at]));
  if (hosts.size > 0) await database.bulk(NOTE, [...hosts]);
}

/** The addresses that a database marks. */
export async function readOptOuts(database: Database): Promise<Range[]> {
  const ranges: Range[] = [];
  for await (const { host } of database.stream("select host from opt_outs")) {
    const start = parseAddress(String(host));
    if (start === undefined) continue; // written by somebody else: we write addresses alone
    ranges.push({ start, end: typeof start === "number" ? start + 1 : start + 1n });
  }
  return ranges;
}
