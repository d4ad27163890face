/**
 * Finds the servers of a server index that filters match.
 *
 * @module
 */
import { givenFilters } from "../../store/queries/filters.ts";
import { type DashboardFilters, type FacetName, FACETS } from "../data/dashboard_data.ts";
import { DASHBOARD_FILTERS } from "../data/dashboard_filters.ts";
import { BITS, type ServerIndexReader } from "./server_index.ts";

/** The bit of a facet's filter in {@linkcode Matches.failed}. */
export const FAILED = Object.fromEntries(
  FACETS.map((name, i) => [name, 1 << i]),
) as Readonly<Record<FacetName, number>>;
/** The bit of servers that other filters do not match, and of removed servers. */
const EXCLUDED = 1 << FACETS.length;

/** Which servers of a server index filters match. */
export interface Matches {
  /** Number of places of the server index. */
  readonly count: number;
  /** For each server, the bits of the filters that do not match; 0: all match. */
  readonly failed: Uint16Array;
}

/**
 * Finds the servers that filters match.
 *
 * @param found The `servers.id` of servers whose whole texts contain the text of the filters, though perhaps
 * not the part that is in the server index.
 */
export function match(
  serverIndex: ServerIndexReader,
  filters: DashboardFilters,
  found: readonly number[] = [],
): Matches {
  const { count, columns: { bits } } = serverIndex;
  const failed = new Uint16Array(count);
  for (let i = 0; i < count; i++) if (bits[i] & BITS.removed) failed[i] = EXCLUDED;
  for (const { name, value } of givenFilters(DASHBOARD_FILTERS, filters)) {
    const isMatch = DASHBOARD_FILTERS[name].columns(serverIndex, value as never, found);
    const bit = FAILED[name as FacetName] ?? EXCLUDED;
    for (let i = 0; i < count; i++) if (!isMatch(i)) failed[i] |= bit;
  }
  return { count, failed };
}
