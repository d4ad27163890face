/**
 * Answers the dashboard's questions from one open database.
 *
 * @module
 */
import type { Database } from "../../store/database/database.ts";
import { eventsBefore } from "../../store/events/event_feed.ts";
import { newestScans, scanWithId } from "../../store/scans/scan_list.ts";
import { countCells, countFacets } from "./counts.ts";
import type { DashboardData } from "./dashboard_data.ts";
import { readHistory } from "./history.ts";
import { readIcon } from "./icons.ts";
import { type PlaceLookup, UNKNOWN_PLACE } from "./listed_servers.ts";
import { countAll, readFinds, readOverview } from "./overview.ts";
import { readDetails } from "./server_details.ts";
import { readPage } from "./server_pages.ts";
import { readTrends } from "./trends.ts";

/** Number of scans that are listed. */
const SCANS = 100;

/** The data of an open database. */
export function dataOf(
  database: Database,
  places: PlaceLookup = () => UNKNOWN_PLACE,
): DashboardData {
  const aliasesOf = async (endpoint: string) => {
    const rows = await database.rows("select id from servers where alias_of = ?", [endpoint]);
    return rows.map(({ id }) => Number(id));
  };
  return {
    overview: async () => await readOverview(database, places, await countAll(database)),
    servers: (query) => readPage(database, query, places),
    facets: (filters) => countFacets(database, filters),
    server: (id) => readDetails(database, id, places, aliasesOf),
    history: (id, from, to) => readHistory(database, id, from, to),
    icon: (hash) => readIcon(database, hash),
    map: (query) => countCells(database, query),
    trends: (query) => readTrends(database, query, database.now()),
    events: (query) => eventsBefore(database, { ...query, onBroken: () => {} }),
    scans: () => newestScans(database, SCANS),
    scan: (id) => scanWithId(database, id),
    finds: (scan, limit) => readFinds(database, scan, limit, places),
  };
}
