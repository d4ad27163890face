/**
 * Answers the dashboard's questions from an open database and its server index.
 *
 * @module
 */
import type { Database } from "../../store/database/database.ts";
import { readEvents } from "./events.ts";
import {
  hiddenMembers,
  listedParts,
  newestScans,
  runningScans,
  scanBefore,
  scanWithId,
  type ServerGroups,
} from "../../store/mod.ts";
import { type GeoipLookup, UNKNOWN_GEOIP } from "../../app/geoip/mod.ts";
import type { CachedServerIndex } from "../server_index/cached_server_index.ts";
import type { ServerMapQuery } from "../server_index/map_cells.ts";
import {
  type DashboardData,
  DataError,
  type MapCells,
  type MapQuery,
} from "../queries/dashboard_data.ts";
import { observedSince, readHistory } from "./history/read_history.ts";
import { hourlyPlayers } from "./history/hourly_players.ts";
import { readIcon } from "./icons.ts";
import { idsWithoutOptedOut, isOptedOut, namedServers, readStatus } from "./named_servers.ts";
import { countAll, readFinds, readOverview, STALE_SERVER_MS } from "./overview.ts";
import { readScanMembers } from "./scan_members.ts";
import { ScannedSpace } from "./scanned_space.ts";
import { readDetails } from "./server_details.ts";
import { readPage } from "./server_pages.ts";
import { COUNTING, searchDatabase } from "./search_cut.ts";
import { readTrends } from "./trends.ts";

/** Number of scans that are listed. */
const SCANS = 100;

/** The state of reading that outlasts an answer. */
export interface ReaderState {
  /** The server index of the database; `undefined`: it is being made. */
  readonly serverIndex?: CachedServerIndex;
  /** The addresses of scans. */
  readonly space: ScannedSpace;
  /** Rows that certainly belong to one server; `undefined`: not yet read, so that each row is shown. */
  readonly groups?: ServerGroups;
}

/** The data of an open database. */
export function dashboardDataOf(
  database: Database,
  { serverIndex, space, groups }: ReaderState = { space: new ScannedSpace() },
  geoipOf: GeoipLookup = () => UNKNOWN_GEOIP,
): DashboardData {
  return {
    overview: async () =>
      await readOverview(database, geoipOf, await countsOf(database, serverIndex)),
    servers: (query) =>
      readPage(database, serverIndex, query, geoipOf, query.group ? groups : undefined),
    facets: async (filters, group) => {
      await searchDatabase(database, serverIndex, filters);
      const index = existing(serverIndex);
      return group && groups
        ? index.facetsOfGroups(filters, groups, hiddenMembers)
        : index.facets(filters);
    },
    named: (name) => namedServers(database, name),
    server: (id) => readDetails(database, id, geoipOf, serverIndex, groups),
    history: (id, from, to, step) => readHistory(database, id, from, to, step),
    withoutOptedOut: (ids) => idsWithoutOptedOut(database, ids),
    hourlyPlayers: (ids) => hourlyPlayers(database, ids),
    observedSince: (ids, since) => observedSince(database, ids, since),
    icon: (hash) => readIcon(database, hash),
    status: (query) => readStatus(database, query),
    isOptedOut: (address) => isOptedOut(database, address),
    map: async (query) => {
      await searchDatabase(database, serverIndex, query.filters);
      return await readMap(database, serverIndex, space, query);
    },
    trends: (query) => readTrends(database, query, database.now()),
    events: (query) => readEvents(database, query, geoipOf),
    scans: () => newestScans(database, SCANS),
    runningScans: (ids) => runningScans(database, ids, SCANS),
    scan: (id) => scanWithId(database, id),
    scanBefore: async (id) => {
      const scan = await scanWithId(database, id);
      return scan && await scanBefore(database, scan);
    },
    parts: (scan) => listedParts(database, scan),
    finds: (scan, limit) => readFinds(database, scan, limit, geoipOf),
    members: (scan, kinds, limit) => readScanMembers(database, scan, kinds, limit, geoipOf),
  };
}

/** @throws DataError while the server index is being made. */
function existing(serverIndex: CachedServerIndex | undefined): CachedServerIndex {
  if (serverIndex === undefined) throw new DataError("slow", COUNTING);
  return serverIndex;
}

async function countsOf(database: Database, serverIndex: CachedServerIndex | undefined) {
  if (serverIndex === undefined) return await countAll(database);
  return {
    ...serverIndex.all(database.now() - STALE_SERVER_MS),
    newestReplyAt: serverIndex.newestReplyAt,
  };
}

async function readMap(
  database: Database,
  serverIndex: CachedServerIndex | undefined,
  space: ScannedSpace,
  query: MapQuery,
): Promise<MapCells> {
  const { layer } = query;
  const cells = (layer: ServerMapQuery["layer"]) =>
    existing(serverIndex).cells({ ...query, layer }, database.now());
  if (layer !== "scanned") return cells(layer);
  const { square, servers } = cells("servers");
  return { ...await space.cells(database, square), servers };
}
