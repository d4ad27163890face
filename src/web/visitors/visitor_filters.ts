/**
 * What visitors of the public list may ask: its filters, and the URLs of its pages.
 *
 * @module
 */
import { DAY_MS } from "../../core/quantities.ts";
import type { PageCursor } from "../../store/mod.ts";
import { serversCursor } from "../queries/cursors.ts";
import type { DashboardFilters } from "../queries/dashboard_data.ts";
import { FILTER_NAMES, FILTER_PARAMETERS, filterQuery, filtersOf } from "../queries/filters.ts";
import { searchParameters } from "../queries/search_words.ts";

/** The filters that visitors have. */
const NAMES = [
  ...[
    "text",
    "edition",
    "version",
    "software",
    "country",
    "tag",
    "minPlayers",
    "full",
    "mods",
  ] as const,
  ...["network", "port"] as const, // an address that is searched
];

export type VisitorFilters = Pick<DashboardFilters, typeof NAMES[number]>;

/** The order of the list: by players of the last day, which a short rush does not change. */
export const VISITOR_SORT = "average";
/** Servers whose last reply is older are not shown. */
const OLDEST_REPLY_MS = DAY_MS;

/** The filters of the database for those of a visitor: the list has no servers that are gone. */
export function listedFilters(filters: VisitorFilters): DashboardFilters {
  return { ...filters, replied: -OLDEST_REPLY_MS, noAliases: true };
}

/**
 * Reads the filters of a URL. Parameters that no filter has, and values that no filter takes, are ignored, so
 * that links from other sites work. A search with a word that no filter has is a text.
 *
 * @example
 * ```ts
 * import { readVisitorFilters } from "./visitor_filters.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const read = (query: string) => readVisitorFilters(new URLSearchParams(query));
 * assertEquals(read("q=sky+version:1.21&utm_source=forum"), { text: ["sky"], version: ["1.21"] });
 * assertEquals(read("q=wow:&min_players=x"), { text: ["wow:"] });
 * ```
 */
export function readVisitorFilters(query: URLSearchParams): VisitorFilters {
  const pairs: (readonly [string, string])[] = [...query].filter(([name]) => name !== "q");
  for (const search of query.getAll("q")) pairs.push(...searchPairs(search.trim()));
  const values: Record<string, unknown> = {};
  for (const [name, text] of pairs) {
    const parameter = Object.hasOwn(FILTER_PARAMETERS, name) ? FILTER_PARAMETERS[name] : undefined;
    const value = text === "" ? undefined : parameter?.read(text);
    if (parameter === undefined || value === undefined) continue;
    if (!parameter.repeats) values[name] = value;
    else values[name] = [...values[name] as unknown[] ?? [], value].slice(0, MAX_VALUES);
  }
  const filters = filtersOf(values);
  return Object.fromEntries(
    NAMES.flatMap((name) => filters[name] === undefined ? [] : [[name, filters[name]]]),
  );
}

/** The filters in a search that the list does not have, by their names in URLs. */
export function ignoredWords(search: string): readonly string[] {
  const isKnown = (name: string) => NAMES.some((one) => one === FILTER_NAMES[name]);
  return [...new Set(searchPairs(search.trim()).map(([name]) => name))]
    .filter((name) => !isKnown(name));
}

/** Maximum number of values of a filter. */
const MAX_VALUES = 10;
/** Maximum length of a search, UTF-16 units. */
export const LONGEST_SEARCH = 100;

function searchPairs(search: string): (readonly [string, string])[] {
  if (search === "" || search.length > LONGEST_SEARCH || !search.isWellFormed()) return [];
  try {
    return [...searchParameters(search)];
  } catch {
    return [["text", search]]; // no words of the language: a name such as "wow:"
  }
}

/** The list that filters choose. */
export function listUrl(filters: VisitorFilters, cursor?: PageCursor | null): string {
  const page = cursor ? `cursor=${encodeURIComponent(serversCursor(VISITOR_SORT, cursor))}` : "";
  const query = [filterQuery(filters), page].filter((part) => part !== "").join("&");
  return query === "" ? "/" : `/?${query}`;
}

/** The page of a server. */
export function visitorServerUrl(key: string): string {
  return `/s/${encodeURIComponent(key)}`;
}
