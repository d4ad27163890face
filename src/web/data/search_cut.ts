/**
 * Finds in the database what the server index lacks: whole texts of servers, tags, names, mods and
 * plugins, and what scans saw.
 *
 * @module
 */
import { type Database, isInList, listValue } from "../../store/database/database.ts";
import {
  conditionsOf,
  lastScanId,
  membersOf,
  partsOfNames,
  SEARCHED,
  SERVER_FILTERS,
} from "../../store/mod.ts";
import type { CachedServerIndex } from "../server_index/cached_server_index.ts";
import { type DashboardFilters, DataError } from "../queries/dashboard_data.ts";

/** The message while the server index of the database is being made. */
export const COUNTING = "The servers are being counted. Try again in some seconds.";

/** Number of servers that are read at once. */
const PAGE = 500;
/**
 * Maximum number of servers that are searched: of others, only the part that is in the server
 * index.
 */
export const MAX_CUT = 20_000;

/** The texts of a row. */
type SearchedTexts = Readonly<Record<typeof SEARCHED[number], string | null>>;

/** Finds the servers for the filters whose values the server index lacks, and adds them to it. */
export async function searchDatabase(
  database: Database,
  serverIndex: CachedServerIndex | undefined,
  filters: DashboardFilters,
): Promise<void> {
  await findSeen(database, serverIndex, filters);
  await searchCut(database, serverIndex, filters);
  await findWhole(database, serverIndex, filters);
  await findListing(database, serverIndex, filters);
}

/** Finds the servers with tags or names, of which the server index has nothing. */
async function findWhole(
  database: Database,
  serverIndex: CachedServerIndex | undefined,
  filters: DashboardFilters,
): Promise<void> {
  if (serverIndex === undefined) return;
  for (const name of ["tag", "named"] as const) {
    const { [name]: wanted } = filters;
    if (wanted === undefined) continue;
    const [{ ids }] = await conditionsOf(database, { [name]: wanted });
    const rows = await database.rows(`${ids!.sql} order by 1`, ids!.values);
    serverIndex.addFound(name, filters, rows.map(({ id }) => Number(id)));
  }
}

/** Finds the names of mods and plugins among the servers that list any. */
async function findListing(
  database: Database,
  serverIndex: CachedServerIndex | undefined,
  filters: DashboardFilters,
): Promise<void> {
  if (serverIndex === undefined) return;
  for (const list of ["mods", "plugins"] as const) {
    const names = partsOfNames(filters[list] ?? []);
    if (names.length === 0) continue;
    const [{ sql, values }] = await conditionsOf(database, { [list]: names });
    const isListing = isInList(database, "s.id", "integer");
    const rows = await database.rows(
      `select s.id as id from servers s where ${isListing} and ${sql} order by 1`,
      [listValue(database, serverIndex.idsListing(list)), ...values],
    );
    serverIndex.addFound(list, filters, rows.map(({ id }) => Number(id)));
  }
}

/** Finds the servers of a scan. */
async function findSeen(
  database: Database,
  serverIndex: CachedServerIndex | undefined,
  { scan, saw }: DashboardFilters,
): Promise<void> {
  if (scan === undefined && saw === undefined) return;
  if (serverIndex === undefined) throw new DataError("slow", COUNTING);
  const id = scan ?? await lastScanId(database);
  const ids = id === undefined ? [] : await membersOf(database, id, saw ?? "found");
  serverIndex.addFound("scan", { scan, saw }, ids);
}

/**
 * Searches whole texts for the text of filters, and adds the servers to those that the server index
 * finds.
 */
async function searchCut(
  database: Database,
  serverIndex: CachedServerIndex | undefined,
  { text }: DashboardFilters,
): Promise<void> {
  if (serverIndex === undefined || text === undefined) return;
  const ids = serverIndex.cutIds.slice(0, MAX_CUT);
  const found: number[] = [];
  const isMatch = SERVER_FILTERS.text.test(text);
  for (let i = 0; i < ids.length; i += PAGE) {
    const rows = await database.rows(
      `select s.id, ${SEARCHED.map((name) => `s.${name}`).join(", ")} from servers s ` +
        `where ${isInList(database, "s.id", "integer")} order by s.id`,
      [listValue(database, ids.slice(i, i + PAGE))],
    );
    for (const row of rows) {
      if (isMatch(row as SearchedTexts)) found.push(Number(row.id));
    }
  }
  serverIndex.addFound("text", { text }, found);
}
