/**
 * The filter of servers by networks and addresses.
 *
 * @module
 */
import type { Address } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { parseTarget } from "../../targets/parse.ts";
import { type Range, RangeSet } from "../../targets/ranges.ts";
import type { Database } from "../database/database.ts";
import { addressColumn, addressValue } from "../rows/addresses.ts";
import { ofRanges, type ServerCondition } from "./server_conditions.ts";

/** The condition of the filter `network`. */
export function isWithin(
  database: Database,
  { network = [] }: { readonly network?: readonly string[] },
): ServerCondition {
  const column = addressColumn(database);
  const type = database.engine === "postgres" ? "::inet" : "";
  const ranges = disjoint(network.map(parseNetwork)).map(({ start, end }) => {
    const last = (typeof end === "bigint" ? end - 1n : end - 1) as Address;
    return [addressValue(database, start), addressValue(database, last)];
  });
  const isIn = (s: string) => `${s}${column} >= ?${type} and ${s}${column} <= ?${type}`;
  return { ...ofRanges(isIn, ranges), ...ranges.length === 1 && { order: "address" as const } };
}

/** Ranges that contain the same addresses, and of which no two overlap. */
function disjoint(ranges: readonly Range[]): Range[] {
  const isV4 = (range: Range): range is Range<number> => typeof range.start === "number";
  const isV6 = (range: Range): range is Range<bigint> => typeof range.start === "bigint";
  return [...RangeSet.of(ranges.filter(isV4)), ...RangeSet.of(ranges.filter(isV6))];
}

/**
 * The network of a filter: CIDR notation, a range of addresses, or one address.
 *
 * @throws InputError for another text.
 */
export function parseNetwork(text: string): Range {
  const target = parseTarget(text);
  if ("range" in target && target.port === undefined) return target.range;
  throw new InputError(`Cannot use "${text}" as a network: write 192.0.2.0/24 or 2001:db8::/32`);
}

/** Whether an address is in one of some networks. */
export function isInNetworks(networks: readonly string[]): (address: Address) => boolean {
  const ranges = networks.map(parseNetwork);
  const v4 = ranges.filter(({ start }) => typeof start === "number");
  const v6 = ranges.filter(({ start }) => typeof start === "bigint");
  return (address) => {
    for (const { start, end } of typeof address === "number" ? v4 : v6) {
      if (address >= start && address < end) return true;
    }
    return false;
  };
}
