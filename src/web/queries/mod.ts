/**
 * The words of searches, which the command line has too.
 *
 * @module
 */
export type { DashboardFilters } from "./dashboard_data.ts";
export { filtersAt } from "./filters.ts";
export { dividedUnknown, testOfPlaces } from "./row_filters.ts";
export { ParameterError } from "./parameters.ts";
export { readSearch } from "./search_words.ts";
