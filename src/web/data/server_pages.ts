/**
 * Reads pages of servers.
 *
 * @module
 */
import type { Database } from "../../store/database/database.ts";
import {
  conditionsOf,
  givenFilters,
  pageOf,
  type PageSteps,
  readPosition,
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
import { DASHBOARD_FILTERS, testOfRows } from "../queries/dashboard_filters.ts";

/** Without a server index, rows are read in this number, at most this many times. */
const ROWS = 500;
const MAX_ROWS = 20_000;

/**
 * Reads a page of servers. Without a server index, only the first rows in the order are searched.
 */
export async function readPage(
  database: Database,
  serverIndex: CachedServerIndex | undefined,
  query: ServersQuery,
  geoipOf: GeoipLookup,
  steps?: PageSteps,
): Promise<ServersPage> {
  const { filters, limit } = query;
  await searchDatabase(database, serverIndex, filters);
  const isBackwards = query.cursor?.direction === "before";
  const direction = isBackwards ? "before" : "after";
  const isMatch = testOfRows(filters);
  const isAny = givenFilters(DASHBOARD_FILTERS, filters).length === 0;
  const found: ListedServer[] = [];
  let { cursor } = query;
  for (let read = 0; found.length <= limit;) {
    const size = serverIndex === undefined && !isAny ? ROWS : limit + 1 - found.length;
    const ids = await nextIds(database, serverIndex, { ...query, cursor, limit: size }, steps);
    const servers = await listedServers(database, ids, geoipOf);
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
    total: serverIndex?.counts(filters).servers ?? null,
  };
}

/** The `servers.id` of the next servers in the order that may match the filters. */
async function nextIds(
  database: Database,
  serverIndex: CachedServerIndex | undefined,
  { filters, sort, limit, cursor }: ServersQuery,
  steps: PageSteps | undefined,
): Promise<readonly number[]> {
  const start = startAt(database, sort, cursor);
  const isAny = givenFilters(DASHBOARD_FILTERS, filters).length === 0;
  const matches = isAny ? undefined : serverIndex?.matchIndex(filters);
  const conditions = matches === undefined
    ? []
    : await conditionsOf(database, indexedFilters(filters));
  return await pageOf(database, { sort, limit, start, conditions, matches }, steps);
}

/** The filters of columns that the index of a sort order has. */
function indexedFilters(
  { online, minPlayers, maxPlayers, since, network }: DashboardFilters,
): DashboardFilters {
  return { online, minPlayers, maxPlayers, since, network };
}
