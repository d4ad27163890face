/**
 * The addresses that the user named as targets of a scan, and those of them that the scan omits.
 *
 * @module
 */
import { type Address, family, formatAddress } from "../../core/address.ts";
import { type Range, RangeSet } from "../../targets/ranges.ts";
import {
  type ColumnDefinition,
  type Database,
  insertInto,
  type Value,
} from "../database/database.ts";
import { storableTime } from "../rows/stored_values.ts";

export interface ScanAddresses {
  /** The addresses that the user named as targets, in any order. */
  readonly requested: readonly Range[];
  /** Those of them that the scan does not probe: excluded, opted out or never probed. */
  readonly excluded: readonly Range[];
  /** Whether the scan is adaptive, and probes only some of the other addresses. Default: no. */
  readonly sampled?: boolean;
}

/** More ranges than this are widened. */
export const MAX_RANGES = 100_000;

/** Prefix lengths to which ranges are widened. The first one that leaves few enough ranges is used. */
const WIDENED = { 4: [16], 6: [48, 32, 16] } as const;

/** Ranges of a set, and whether they contain addresses that are not in the set. */
export interface MergedRanges {
  readonly ranges: readonly Range[];
  readonly widened: boolean;
}

/**
 * Merges ranges that overlap or touch. More than 100,000 of an address family are widened to whole
 * networks: /16 of IPv4; /48, /32 or /16 of IPv6.
 *
 * @param limit Maximum number of ranges of an address family. Default: 100,000.
 */
export function mergedRanges(ranges: readonly Range[], limit = MAX_RANGES): MergedRanges {
  const merged: Range[] = [];
  let widened = false;
  for (const bits of [4, 6] as const) {
    let set = RangeSet.of<Address>(ranges.filter(({ start }) => family(start) === bits));
    for (const length of WIDENED[bits]) {
      if (set.length <= limit) break;
      set = RangeSet.of([...set].map((range) => networksOf(range, length)));
      widened = true;
    }
    for (const range of set) merged.push(range);
  }
  return { ranges: merged, widened };
}

/** The networks of a prefix length that contain a range. */
function networksOf({ start, end }: Range, length: number): Range {
  const wide = 1n << BigInt((family(start) === 4 ? 32 : 128) - length);
  const [first, last] = [BigInt(start) / wide * wide, ((BigInt(end) - 1n) / wide + 1n) * wide];
  return family(start) === 4 ? { start: Number(first), end: Number(last) } : {
    start: first,
    end: last,
  };
}

const COLUMNS: readonly ColumnDefinition[] = [
  ["scan", "integer"],
  ["excluded", "boolean"],
  ["first", "inet"],
  ["last", "inet"],
  ["widened", "boolean"],
  ["sampled", "boolean"],
  ["noted_at", "timestamptz"],
];

const INSERT_RANGE = insertInto("scan_ranges", COLUMNS, "on conflict do nothing");

/**
 * Writes the addresses of a scan. Ranges that the scan has already stay: a resumed scan adds what has
 * been excluded since. The caller has begun a transaction.
 *
 * @param scan `scans.id`.
 * @param at When the scan began to use them, Unix milliseconds of the database's clock.
 */
export async function writeScanRanges(
  database: Database,
  scan: number,
  { requested, excluded, sampled = false }: ScanAddresses,
  at: number,
): Promise<void> {
  const rows = [requested, excluded].flatMap((addresses, isExcluded) => {
    const { ranges, widened } = mergedRanges(addresses);
    return ranges.map(({ start, end }): Value[] => [
      scan,
      isExcluded,
      formatAddress(start),
      formatAddress(typeof end === "number" ? end - 1 : end - 1n),
      widened ? 1 : 0,
      sampled && isExcluded === 0 ? 1 : 0,
      storableTime(at) ?? 0,
    ]);
  });
  await database.bulk(INSERT_RANGE, rows);
}
