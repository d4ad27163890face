/**
 * Searches the whole texts of the servers of whose texts the server index has only a part.
 *
 * @module
 */
import { type Database, isInList, listValue } from "../../store/database/database.ts";
import { SEARCHED } from "../../store/queries/conditions.ts";
import { SERVER_FILTERS } from "../../store/queries/filters.ts";
import type { CachedServerIndex } from "../server_index/cached_server_index.ts";
import type { DashboardFilters } from "./dashboard_data.ts";

/** Number of servers that are read at once. */
const PAGE = 500;
/**
 * Maximum number of servers that are searched: of others, only the part that is in the server
 * index.
 */
export const MAX_CUT = 20_000;

/** The texts of a row. */
type SearchedTexts = Readonly<Record<typeof SEARCHED[number], string | null>>;

/**
 * Searches whole texts for the text of filters, and adds the servers to those that the server index
 * finds.
 */
export async function searchCut(
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
  serverIndex.addFound(text, found);
}
