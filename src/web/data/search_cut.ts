/**
 * Searches the whole texts of the servers of whose texts the picture has only a part.
 *
 * @module
 */
import { type Database, isInList, listValue } from "../../store/database/database.ts";
import type { CountedPicture } from "../picture/counted_picture.ts";
import type { DashboardFilters } from "./dashboard_data.ts";
import { hasText } from "./server_filters.ts";

/** Number of servers that are read at once. */
const PAGE = 500;
/** Maximum number of servers that are searched: of others, only the part that is in the picture. */
export const MOST_CUT = 20_000;
const COLUMNS = ["name", "motd_plain", "map", "software"];

/** Searches whole texts for the text of filters, and adds the servers to those that the picture finds. */
export async function searchCut(
  database: Database,
  picture: CountedPicture | undefined,
  { text }: DashboardFilters,
): Promise<void> {
  if (picture === undefined || text === undefined) return;
  const ids = picture.cutIds.slice(0, MOST_CUT);
  const found: number[] = [];
  for (let i = 0; i < ids.length; i += PAGE) {
    const rows = await database.rows(
      `select s.id, ${COLUMNS.map((name) => `s.${name}`).join(", ")} from servers s ` +
        `where ${isInList(database, "s.id", "integer")} order by s.id`,
      [listValue(database, ids.slice(i, i + PAGE))],
    );
    for (const row of rows) {
      const texts = COLUMNS.map((name) => row[name] === null ? null : String(row[name]));
      if (hasText(texts, text)) found.push(Number(row.id));
    }
  }
  picture.addFound(text, found);
}
