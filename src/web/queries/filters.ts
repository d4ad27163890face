/**
 * Filters of servers in the query of a URL, for pages and the JSON API.
 *
 * @module
 */
import type { DashboardData, DashboardFilters } from "./dashboard_data.ts";
import { DASHBOARD_FILTERS } from "./dashboard_filters.ts";
import { type Parameters, readParameters, writeParameters } from "./parameters.ts";

/** The names of filters in URLs, and in code. */
const NAMES = (Object.keys(DASHBOARD_FILTERS) as (keyof DashboardFilters)[]).map((name) =>
  [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), name] as const
);

/** The names of filters in code, by their names in URLs. */
export const FILTER_NAMES: Readonly<Record<string, keyof DashboardFilters>> = Object.fromEntries(
  NAMES,
);

/** The parameters of filters, by their names in URLs. */
export const FILTER_PARAMETERS: Parameters = Object.fromEntries(
  NAMES.map(([name, filter]) => [name, DASHBOARD_FILTERS[filter].parameter]),
);

/** The filters among the values of parameters. */
export function filtersOf(values: Readonly<Record<string, unknown>>): DashboardFilters {
  const given = NAMES.map(([name, filter]) => [filter, values[name]] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

/**
 * Reads filters from the query of a URL.
 *
 * @throws ParameterError for a parameter that is not a filter, or not valid.
 *
 * @example
 * ```ts
 * import { filterQuery, readFilters } from "./filters.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const filters = readFilters(new URLSearchParams("port=25565&port=19132&text=&min_players=5"));
 * assertEquals(filters, { port: [19132, 25565], minPlayers: 5 });
 * assertEquals(filterQuery(filters), "port=19132&port=25565&min_players=5");
 * ```
 */
export function readFilters(query: URLSearchParams): DashboardFilters {
  return filtersOf(readParameters(query, FILTER_PARAMETERS));
}

/** Writes filters as the canonical query of a URL, without `?`: equal filters have equal queries. */
export function filterQuery(filters: DashboardFilters): string {
  const values = NAMES.map(([name, filter]) => [name, filters[filter]]);
  return writeParameters(Object.fromEntries(values), FILTER_PARAMETERS);
}

/** The filters of times. */
const TIMES = ["since", "down", "replied", "stale"] as const;
const MINUTE_MS = 60_000;

/** Filters with times in place of ages, to the minute: questions of one minute have the same answer. */
export function filtersAt(filters: DashboardFilters, now: number): DashboardFilters {
  const at = (age: number) => Math.max(0, MINUTE_MS * Math.floor((now + age) / MINUTE_MS));
  const times = TIMES.flatMap((name) => {
    const value = filters[name];
    return value === undefined ? [] : [[name, value < 0 ? at(value) : value] as const];
  });
  return { ...filters, ...Object.fromEntries(times) };
}

/** Data whose filters may have ages, at a time. */
export function dataAt(data: DashboardData, now: number): DashboardData {
  const timed = <Query extends { readonly filters: DashboardFilters }>(query: Query) => ({
    ...query,
    filters: filtersAt(query.filters, now),
  });
  return {
    ...data,
    servers: (query) => data.servers(timed(query)),
    facets: (filters, group) => data.facets(filtersAt(filters, now), group),
    map: (query) => data.map(timed(query)),
  };
}
