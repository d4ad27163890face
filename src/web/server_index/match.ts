/**
 * Finds the servers of a server index that filters match.
 *
 * @module
 */
import { givenFilters } from "../../store/queries/filters.ts";
import type { DashboardFilters } from "../queries/dashboard_data.ts";
import { type FacetName, FACETS } from "../queries/schemas.ts";
import { DASHBOARD_FILTERS, type FoundIds } from "../queries/dashboard_filters.ts";
import { SERVER_BITS, type ServerIndexReader } from "./server_index.ts";

export type { FoundIds };

/** The bit of a facet's filter in {@linkcode Matches.failed}. */
export const FAILED = Object.fromEntries(
  FACETS.map((name, i) => [name, 1 << i]),
) as Readonly<Record<FacetName, number>>;
/** The bit of servers that other filters do not match, and of removed servers. */
const EXCLUDED = 1 << FACETS.length;

/** Runs a function while some of the matching servers count as excluded. */
export function withoutSlots<T>(
  { failed }: Matches,
  slots: readonly number[],
  work: () => T,
): T {
  for (const slot of slots) failed[slot] |= EXCLUDED;
  try {
    return work();
  } finally {
    for (const slot of slots) failed[slot] &= ~EXCLUDED;
  }
}

/** The share of the servers up to which those that are not excluded are listed. */
const FEW = 1 / 8;

/** Which servers of a server index filters match. */
export interface Matches {
  /** Number of slots of the server index. */
  readonly count: number;
  /**
   * For each server, the bits of the filters that do not match; 0: all match. A server that a filter
   * without a facet excludes may lack the bits of facets.
   */
  readonly failed: Uint16Array;
  /**
   * The slots of the servers that only filters of facets may exclude, ascending. `undefined`: there are
   * many.
   */
  readonly few: Uint32Array | undefined;
}

/**
 * Finds the servers that filters match.
 *
 * @param found The servers that the database found for the filters.
 * @param memory At least as long as the server index: receives {@linkcode Matches.failed}.
 */
export function match(
  serverIndex: ServerIndexReader,
  filters: DashboardFilters,
  found: FoundIds,
  memory: Uint16Array,
): Matches {
  const { count, columns: { bits } } = serverIndex;
  const failed = memory.subarray(0, count);
  for (let i = 0; i < count; i++) failed[i] = bits[i] & SERVER_BITS.removed ? EXCLUDED : 0;
  let few: Uint32Array | undefined;
  const given = givenFilters(DASHBOARD_FILTERS, filters)
    .map(({ name, value }) => ({ name, value, bit: FAILED[name as FacetName] ?? EXCLUDED }))
    .sort((a, b) => b.bit - a.bit); // facets do not test the servers that other filters exclude
  for (const { name, value, bit } of given) {
    const isMatch = DASHBOARD_FILTERS[name].columns(serverIndex, value as never, found);
    setFailed(failed, few, bit, isMatch);
    if (bit === EXCLUDED) few = fewOf(failed, few);
  }
  return { count, failed, few };
}

/** Sets the bit of a filter for the servers that it does not match, unless they are excluded. */
function setFailed(
  failed: Uint16Array,
  few: Uint32Array | undefined,
  bit: number,
  isMatch: (slot: number) => boolean,
): void {
  const length = few?.length ?? failed.length;
  for (let k = 0; k < length; k++) {
    const i = few === undefined ? k : few[k];
    if (!(failed[i] & EXCLUDED) && !isMatch(i)) failed[i] |= bit;
  }
}

/** The slots of the servers that are not excluded, if they are few. */
function fewOf(failed: Uint16Array, few: Uint32Array | undefined): Uint32Array | undefined {
  if (few !== undefined) return few.filter((i) => failed[i] === 0);
  let count = 0;
  for (let i = 0; i < failed.length; i++) if (failed[i] === 0) count++;
  if (count > FEW * failed.length) return undefined;
  const slots = new Uint32Array(count);
  for (let i = 0, k = 0; k < count; i++) if (failed[i] === 0) slots[k++] = i;
  return slots;
}
