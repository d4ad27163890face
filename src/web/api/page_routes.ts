/**
 * The pages of the dashboard, and the data that each one needs.
 *
 * @module
 */
import {
  type DashboardData,
  type DashboardFilters,
  DataError,
  type Facets,
} from "../data/dashboard_data.ts";
import { htmlContent } from "../http/answer.ts";
import { breakdownPage } from "../pages/breakdown_page.tsx";
import { eventsPage } from "../pages/events_page.tsx";
import { mapPage } from "../pages/map_page.tsx";
import { overviewPage } from "../pages/overview_page.tsx";
import type { PageContext } from "../pages/page_context.ts";
import { scanPage } from "../pages/scan_page.tsx";
import { scansPage } from "../pages/scans_page.tsx";
import { serverPage } from "../pages/server_page.tsx";
import { serversPage } from "../pages/servers_page.tsx";
import {
  BY,
  DAYS,
  daysOf,
  LAYER,
  LIMIT,
  PREFIX,
  SCAN_ID,
  SERVER_ID,
  SORT,
  squareOf,
  time,
} from "./common_parameters.ts";
import { BEFORE_EVENT, cursorIn, positionOf, SERVERS_CURSOR } from "./cursors.ts";
import { FILTER_PARAMETERS, filtersOf } from "./filters.ts";
import { ParameterError, several, text } from "./parameters.ts";
import { type Route, route, type RouteRequest } from "./route.ts";

/** Number of servers of a page. */
const PAGE = 50;
/** Number of events of a page. */
const EVENTS = 100;
/** Number of the last servers of a scan. */
const FINDS = 20;
/** The usual period of a server's history, milliseconds: a week. */
const HISTORY_MS = 7 * 86_400_000;

const HTML = { contentType: "text/html", description: "The page." };

/** What a page receives besides its data. */
export function contextOf(
  { path, now, database, assets, hasPlaces, attributions }: RouteRequest,
  filters: DashboardFilters = {},
): PageContext {
  return { path, now, database, assets, hasPlaces, attributions, filters };
}

/** The counts of servers; `undefined` if counting takes too long: the page then has none. */
async function facetsOf(
  data: DashboardData,
  filters: DashboardFilters,
): Promise<Facets | undefined> {
  try {
    return await data.facets(filters);
  } catch (error) {
    if (error instanceof DataError && error.trouble === "slow") return undefined;
    throw error;
  }
}

/** The pages. */
export const PAGE_ROUTES: readonly Route[] = [
  route({
    path: "/",
    summary: "The start page.",
    parameters: { days: DAYS },
    answer: HTML,
    async respond({ days: text }, request) {
      const days = daysOf(text);
      const [overview, [trend]] = await Promise.all([
        request.data.overview(),
        request.data.trends({ days }),
      ]);
      return htmlContent(overviewPage({ overview, trend, days }, contextOf(request)));
    },
  }),
  route({
    path: "/servers",
    summary: "The list of servers.",
    parameters: { ...FILTER_PARAMETERS, sort: SORT, limit: LIMIT, cursor: SERVERS_CURSOR },
    answer: HTML,
    async respond({ sort, limit = PAGE, cursor, ...values }, request) {
      const filters = filtersOf(values);
      const query = { filters, limit, ...cursorIn(cursor, sort, "players") };
      const [page, facets] = await Promise.all([
        request.data.servers(query),
        facetsOf(request.data, filters),
      ]);
      return htmlContent(serversPage({ query, page, facets }, contextOf(request, filters)));
    },
  }),
  route({
    path: "/servers/{id}",
    summary: "One server.",
    pathParameters: { id: SERVER_ID },
    parameters: { from: time("Start of the history."), to: time("End of the history.") },
    answer: HTML,
    async respond({ id, from, to = undefined }, request) {
      const period = periodOf(from, to, request.now);
      const details = await request.data.server(id);
      if (details === undefined) return undefined;
      const history = await request.data.history(id, period.from, period.to);
      return htmlContent(serverPage({ details, history }, contextOf(request)));
    },
  }),
  route({
    path: "/map",
    summary: "The map of IPv4 addresses.",
    parameters: { ...FILTER_PARAMETERS, prefix: PREFIX, layer: LAYER },
    answer: HTML,
    async respond({ prefix = "0.0.0.0/0", layer = "servers", ...values }, request) {
      const filters = filtersOf(values);
      const query = { ...squareOf(prefix)!, layer, filters };
      const cells = await request.data.map(query);
      return htmlContent(mapPage({ query, cells }, contextOf(request, filters)));
    },
  }),
  route({
    path: "/breakdown",
    summary: "How servers are distributed over versions, software, editions, ports and operators.",
    parameters: { ...FILTER_PARAMETERS, by: BY, days: DAYS },
    answer: HTML,
    async respond({ by = "version", days: text, ...values }, request) {
      const [days, filters] = [daysOf(text), filtersOf(values)];
      const [facets, trends] = await Promise.all([
        facetsOf(request.data, filters),
        request.data.trends({ days, by }),
      ]);
      const data = { facets, trends, by, days };
      return htmlContent(breakdownPage(data, contextOf(request, filters)));
    },
  }),
  route({
    path: "/scans",
    summary: "The newest scans and watches.",
    answer: HTML,
    async respond(_, request) {
      const scans = await request.data.scans();
      return htmlContent(scansPage({ scans }, contextOf(request)));
    },
  }),
  route({
    path: "/scans/{scan_id}",
    summary: "One scan or watch.",
    pathParameters: { scan_id: SCAN_ID },
    answer: HTML,
    async respond({ scan_id }, request) {
      const scan = await request.data.scan(scan_id);
      if (scan === undefined) return undefined;
      const finds = await request.data.finds(scan_id, FINDS);
      return htmlContent(scanPage({ scan, finds }, contextOf(request)));
    },
  }),
  route({
    path: "/events",
    summary: "The feed of events, the newest first.",
    parameters: {
      kind: several(text("Only events of this kind.")),
      server: SERVER_ID,
      before: BEFORE_EVENT,
    },
    answer: HTML,
    async respond({ kind: kinds, server, before }, request) {
      const query = { kinds, server, before: positionOf(before), limit: EVENTS };
      const events = await request.data.events(query);
      return htmlContent(eventsPage({ query, events }, contextOf(request)));
    },
  }),
  route({
    path: "/icons/{hash}.png",
    summary: "The icon of a server.",
    pathParameters: { hash: text("`favicon_hash` of a server.") },
    answer: { contentType: "image/png", description: "A PNG of at most 128 x 128 pixels." },
    async respond({ hash }, { data }) {
      const icon = /^[\da-f]{64}$/.test(hash) ? await data.icon(hash) : undefined;
      if (icon === undefined) return undefined;
      return { contentType: "image/png", body: new Uint8Array(icon), cached: "forever" };
    },
  }),
];

/**
 * The period of a history. Default: it ends now, and lasts a week.
 *
 * @throws ParameterError if it has no length.
 */
export function periodOf(
  from: number | undefined,
  to: number | undefined,
  now: number,
): { readonly from: number; readonly to: number } {
  const end = to ?? now;
  const start = from ?? Math.max(0, end - HISTORY_MS);
  if (start < end) return { from: start, to: end };
  throw new ParameterError("Cannot use from: it is not before to", "a time before to");
}
