/**
 * Answers the dashboard's questions from an open database and its picture.
 *
 * @module
 */
import type { Database } from "../../store/database/database.ts";
import { eventsBefore, leaveOut } from "../../store/events/event_feed.ts";
import { newestScans, runningScans, scanWithId } from "../../store/scans/scan_list.ts";
import type { CountedPicture } from "../picture/counted_picture.ts";
import type { ServerMapQuery } from "../picture/map_cells.ts";
import { type DashboardData, DataError, type MapCells, type MapQuery } from "./dashboard_data.ts";
import { readHistory } from "./history.ts";
import { readIcon } from "./icons.ts";
import { type PlaceLookup, UNKNOWN_PLACE } from "../../app/geoip/places.ts";
import { countAll, readFinds, readOverview, STALE_MS } from "./overview.ts";
import { ScannedSpace } from "./scanned_space.ts";
import { readDetails } from "./server_details.ts";
import { COUNTING, readPage } from "./server_pages.ts";
import { searchCut } from "./search_cut.ts";
import { readTrends } from "./trends.ts";

/** Number of scans that are listed. */
const SCANS = 100;

/** The state of reading that outlasts an answer. */
export interface ReaderState {
  /** The picture of the database; `undefined`: it is being made. */
  readonly picture?: CountedPicture;
  /** The addresses of scans. */
  readonly space: ScannedSpace;
}

/** The data of an open database. */
export function dataOf(
  database: Database,
  { picture, space }: ReaderState = { space: new ScannedSpace() },
  places: PlaceLookup = () => UNKNOWN_PLACE,
): DashboardData {
  return {
    overview: async () => await readOverview(database, places, await countsOf(database, picture)),
    servers: async (query) => {
      await searchCut(database, picture, query.filters);
      return await readPage(database, picture, query, places);
    },
    facets: async (filters) => {
      await searchCut(database, picture, filters);
      return existing(picture).facets(filters);
    },
    server: (id) => readDetails(database, id, places, picture),
    history: (id, from, to, step) => readHistory(database, id, from, to, step),
    icon: (hash) => readIcon(database, hash),
    map: async (query) => {
      await searchCut(database, picture, query.filters);
      return await readMap(database, picture, space, query);
    },
    trends: (query) => readTrends(database, query, database.now()),
    events: (query) => eventsBefore(database, { ...query, onBroken: leaveOut }),
    scans: () => newestScans(database, SCANS),
    runningScans: (ids) => runningScans(database, ids, SCANS),
    scan: (id) => scanWithId(database, id),
    finds: (scan, limit) => readFinds(database, scan, limit, places),
  };
}

/** @throws DataError while the picture is being made. */
function existing(picture: CountedPicture | undefined): CountedPicture {
  if (picture === undefined) throw new DataError("slow", COUNTING);
  return picture;
}

async function countsOf(database: Database, picture: CountedPicture | undefined) {
  if (picture === undefined) return await countAll(database);
  return { ...picture.all(database.now() - STALE_MS), newestReplyAt: picture.newestReplyAt };
}

async function readMap(
  database: Database,
  picture: CountedPicture | undefined,
  space: ScannedSpace,
  query: MapQuery,
): Promise<MapCells> {
  const { layer } = query;
  const cells = (layer: ServerMapQuery["layer"]) =>
    existing(picture).cells({ ...query, layer }, database.now());
  if (layer !== "scanned") return cells(layer);
  const { servers } = cells("servers");
  return { ...await space.cells(database, query), servers };
}
