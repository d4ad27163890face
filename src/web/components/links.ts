/**
 * The URLs of the dashboard's pages.
 *
 * @module
 */
import type { DashboardFilters, ServersQuery } from "../queries/dashboard_data.ts";
import type { MemberKind } from "../../store/mod.ts";
import { serversCursor } from "../queries/cursors.ts";
import type { FacetName } from "../queries/schemas.ts";
import { filterQuery } from "../queries/filters.ts";

/** Names of the filters with a list of values. */
export type ListFilter = {
  [Name in keyof DashboardFilters]-?: NonNullable<DashboardFilters[Name]> extends readonly unknown[]
    ? Name
    : never;
}[keyof DashboardFilters];

/** The sort order of the list of servers whose URL does not name one. */
export const USUAL_SORT = "players";

/** The list of servers that filters match. */
export function serversUrl(
  filters: DashboardFilters,
  { sort, cursor, group = true }: Partial<Pick<ServersQuery, "sort" | "cursor" | "group">> = {},
): string {
  return urlOf("/servers", filters, {
    sort: sort === USUAL_SORT ? undefined : sort,
    cursor: cursor && serversCursor(sort ?? USUAL_SORT, cursor),
    group: group ? undefined : "no",
  });
}

/** A path or URL with filters and further parameters. Parameters that are undefined are omitted. */
export function urlOf(
  path: string,
  filters: DashboardFilters,
  more: Readonly<Record<string, string | number | undefined>> = {},
): string {
  const rest = Object.entries(more).filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value!)}`);
  const query = [filterQuery(filters), ...rest].filter((part) => part !== "").join("&");
  return query === "" ? path : `${path}${path.includes("?") ? "&" : "?"}${query}`;
}

/**
 * The link to a contact, which is an e-mail address or a URL.
 *
 * @param subject The subject of the e-mail. Default: none.
 */
export function contactUrl(contact: string, subject?: string): string {
  if (/^https?:/i.test(contact)) return contact;
  const query = subject === undefined ? "" : `?subject=${encodeURIComponent(subject)}`;
  return `mailto:${encodeURIComponent(contact).replace("%40", "@")}${query}`;
}

export function serverUrl(id: number): string {
  return `/servers/${id}`;
}

export function compareUrl(
  ids: readonly number[],
  period: { readonly from?: number; readonly to?: number } = {},
): string {
  const { from, to } = period;
  return urlOf(`/compare${ids.map((id, i) => `${i === 0 ? "?" : "&"}server=${id}`).join("")}`, {}, {
    from,
    to,
  });
}

/** The servers of a scan that it saw in a way. */
export function membersUrl(scan: string, saw: MemberKind): string {
  return serversUrl({ scan, saw });
}

export function scanUrl(id: string): string {
  return `/scans/${encodeURIComponent(id.toWellFormed())}`;
}

/** Filters with a value of a list added, or removed if they have it. */
export function toggled(
  filters: DashboardFilters,
  name: ListFilter,
  value: string | number,
): DashboardFilters {
  const before: readonly (string | number)[] = filters[name] ?? [];
  const after = before.includes(value) ? before.filter((one) => one !== value) : [...before, value];
  return { ...filters, [name]: after.length === 0 ? undefined : after };
}

/** Filters with a value of a facet added, or removed if they have it; null: with unknown values only. */
export function toggledFacet(
  filters: DashboardFilters,
  name: FacetName,
  value: string | number | null,
): DashboardFilters {
  if (value === null) return toggled({ ...filters, [name]: undefined }, "unknown", name);
  const known = filters.unknown?.filter((one) => one !== name) ?? [];
  return toggled({ ...filters, unknown: known.length === 0 ? undefined : known }, name, value);
}

/** Maximum length of the query of a URL. The server refuses longer ones. */
const LONGEST_URL = 4096;

/** A URL that the server accepts; undefined for a longer one, as that of a value with many characters. */
export function acceptedUrl(url: string): string | undefined {
  return url.length <= LONGEST_URL ? url : undefined;
}
