/**
 * Reads pages of servers.
 *
 * @module
 */
import type { Database } from "../../store/database/database.ts";
import {
  conditionsOf,
  givenFilters,
  hiddenMembers,
  type MatchIndex,
  othersOf,
  pageOf,
  type PageSteps,
  readPosition,
  type ServerFilters,
  type ServerGroups,
  startAt,
} from "../../store/mod.ts";
import type { GeoipLookup } from "../../app/geoip/mod.ts";
import type { CachedServerIndex } from "../server_index/cached_server_index.ts";
import {
  type DashboardFilters,
  DataError,
  type ServersPage,
  type ServersQuery,
} from "../queries/dashboard_data.ts";
import type { ListedServer } from "../queries/schemas.ts";
import { COUNTING, searchDatabase } from "./search_cut.ts";
import { listedServers } from "./listed_servers.ts";
import { DASHBOARD_FILTERS } from "../queries/dashboard_filters.ts";
import { testOfRows } from "../queries/row_filters.ts";

/** Without a server index, rows are read in this number, at most this many times. */
const ROWS = 500;
const MAX_ROWS = 20_000;

/**
 * Reads a page of servers. Without a server index, only the first rows in the order are searched, and rows
 * that filters match are not grouped.
 *
 * @param groups The groups of which only one row is shown. Default: all rows are shown.
 */
export async function readPage(
  database: Database,
  serverIndex: CachedServerIndex | undefined,
  query: ServersQuery,
  geoipOf: GeoipLookup,
  groups?: ServerGroups,
  steps?: PageSteps,
): Promise<ServersPage> {
  const { filters, limit } = query;
  await searchDatabase(database, serverIndex, filters);
  const isBackwards = query.cursor?.direction === "before";
  const direction = isBackwards ? "before" : "after";
  const isMatch = testOfRows(filters);
  const isAny = givenFilters(DASHBOARD_FILTERS, filters).length === 0;
  const hidden = groups === undefined || serverIndex === undefined && !isAny
    ? NONE
    : serverIndex?.hidden(filters, groups, hiddenMembers) ?? hiddenMembers(groups, () => true);
  const isSearch = serverIndex === undefined && !(isAny && hidden.size === 0);
  const found: ListedServer[] = [];
  let { cursor } = query;
  for (let read = 0; found.length <= limit;) {
    const size = isSearch ? ROWS : limit + 1 - found.length;
    const next = { ...query, cursor, limit: size };
    const ids = await nextIds(database, serverIndex, next, hidden, steps);
    const servers = await listedServers(database, ids.filter((id) => !hidden.has(id)), geoipOf);
    // The server index may be older than the rows.
    found.push(...servers.filter(isMatch));
    if (ids.length < size) break;
    read += ids.length;
    if (serverIndex === undefined && read >= MAX_ROWS) {
      throw new DataError("slow", COUNTING);
    }
    cursor = { direction, position: await readPosition(database, query.sort, ids.at(-1)!) };
  }
  const servers = found.slice(0, limit);
  const isMore = found.length > limit;
  if (isBackwards) servers.reverse();
  const cursorAt = async (direction: "after" | "before", server: ListedServer | undefined) =>
    server === undefined
      ? null
      : { direction, position: await readPosition(database, query.sort, server.id) };
  const hasPrevious = isBackwards ? isMore : query.cursor !== undefined;
  return {
    servers,
    previous: hasPrevious ? await cursorAt("before", servers[0]) : null,
    next: isBackwards || isMore ? await cursorAt("after", servers.at(-1)) : null,
    total: serverIndex === undefined ? null : serverIndex.counts(filters).servers - hidden.size,
    hidden: serverIndex === undefined ? null : hidden.size,
    others: Object.fromEntries(
      servers.flatMap(({ id }) => {
        const others = othersOf(groups?.get(id), id);
        return others === null ? [] : [[id, others]];
      }),
    ),
  };
}

const NONE: ReadonlySet<number> = new Set();

/** The `servers.id` of the next servers in the order that may match the filters. */
async function nextIds(
  database: Database,
  serverIndex: CachedServerIndex | undefined,
  { filters, sort, limit, cursor }: ServersQuery,
  hidden: ReadonlySet<number>,
  steps: PageSteps | undefined,
): Promise<readonly number[]> {
  const start = startAt(database, sort, cursor);
  const isAny = givenFilters(DASHBOARD_FILTERS, filters).length === 0;
  const all = isAny && hidden.size === 0 ? undefined : serverIndex?.matchIndex(filters);
  const matches = all && hidden.size > 0 ? without(all, hidden) : all;
  const conditions = matches === undefined
    ? []
    : await conditionsOf(database, indexedFilters(filters));
  return await pageOf(database, { sort, limit, start, conditions, matches }, steps);
}

/** The servers that match, without some of them. */
function without(
  { count, all, has, ids }: MatchIndex,
  hidden: ReadonlySet<number>,
): MatchIndex {
  return {
    count: count - hidden.size,
    all,
    has: (id) => !hidden.has(id) && has(id),
    ids: () => ids().filter((id) => !hidden.has(id)),
  };
}

/** The filters of columns that the index of a sort order has. */
function indexedFilters(
  { online, minPlayers, maxPlayers, since, network }: DashboardFilters,
): ServerFilters {
  return { online, minPlayers, maxPlayers, since, network };
}
