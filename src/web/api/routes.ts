/**
 * All routes of the dashboard: each row has a path, its parameters and its data, and shows the data as a
 * page, as a document of the JSON API, and as files.
 *
 * @module
 */
import { oneOf, wholeNumber } from "../../core/checked_values.ts";
import { DAY_MS } from "../../core/quantities.ts";
import { EVENT_KINDS } from "../../store/events/watch_event.ts";

import { type DashboardData, type DashboardFilters, DataError } from "../queries/dashboard_data.ts";
import { jsonContent } from "./answer.ts";
import { breakdownPage } from "../pages/breakdown_page.tsx";
import { comparePage, MAX_COMPARED } from "../pages/compare_page.tsx";
import { comparedServers, pagePeriod } from "./compared_servers.ts";
import { DASHBOARD_FILTERS } from "../queries/dashboard_filters.ts";
import { EVENT_PERIODS, type EventPeriod } from "../events/events_url.ts";
import { eventsPage } from "../pages/events_page.tsx";
import { mapPage } from "../pages/map_page.tsx";
import { overviewPage } from "../pages/overview_page.tsx";
import { CHANGES, scanPage } from "../pages/scan_page.tsx";
import { scansPage } from "../pages/scans_page.tsx";
import { serverPage } from "../pages/server_page.tsx";
import { serversPage } from "../pages/servers_page.tsx";
import {
  BY,
  DAYS,
  daysOf,
  GROUP,
  LAYER,
  LIMIT,
  periodOf,
  PREFIX,
  SCAN_ID,
  SERVER,
  SERVER_ID,
  SERVERS,
  SORT,
  squareOf,
  TABLE_PAGE,
  time,
} from "../queries/common_parameters.ts";
import { BEFORE_EVENT, cursorIn, parseEventCursor, SERVERS_CURSOR } from "../queries/cursors.ts";
import {
  detailsDocument,
  eventsDocument,
  historyDocument,
  mapDocument,
  serversDocument,
} from "./documents.ts";
import { FILES } from "./export_files.ts";
import { MAX_STREAMS, withoutPlayersColumn } from "./live_feed.ts";
import { openApi } from "./openapi.ts";
import { checkBounds, parameter, ParameterError, several, TEXT } from "../queries/parameters.ts";
import { resource, type Route, route, type RouteRequest } from "./route.ts";
import { ANSWERS } from "../queries/schemas.ts";

/** Number of servers of a page. */
const PAGE = 50;
/** Number of rows of a document whose URL does not name one. */
const USUAL_ROWS = 100;
/** Number of servers that a scan found last, and of those that are new, back and so on. */
const [FINDS, FIRST_CHANGES] = [20, 10];
/** Number of events of a page. */
const PAGE_EVENTS = 250;

const PERIOD = {
  from: time("Start of the period. Default: a week before its end."),
  to: time("End of the period. Default: now."),
};
const EVENT_PARAMETERS = {
  kind: several("Only events of this kind.", oneOf(EVENT_KINDS)),
  from: time("Only events at this time or later."),
  to: time("Only events at this time or earlier."),
  period: parameter(
    "Only events of this time before now, in place of from and to.",
    oneOf(Object.keys(EVENT_PERIODS) as EventPeriod[]),
  ),
  before: BEFORE_EVENT,
  limit: LIMIT,
};

/** The routes of the dashboard, but that of their description. */
const DATA_ROUTES: readonly Route[] = [
  resource({
    path: "/",
    parameters: { days: DAYS },
    async data({ days: text }, { data }) {
      const trends = data.trends({ days: daysOf(text) });
      const [overview, { days, trends: [trend] }] = await Promise.all([data.overview(), trends]);
      return { overview, trend, days };
    },
    page: { html: overviewPage },
  }),
  resource({
    path: "/servers",
    hasFilters: true,
    parameters: { sort: SORT, limit: LIMIT, cursor: SERVERS_CURSOR, group: GROUP },
    async data({ filters, sort, limit = USUAL_ROWS, cursor, group }, { data }) {
      const more = { limit, group: group === "yes" };
      const query = { filters, ...more, ...cursorIn(cursor, sort, "players") };
      return { query, page: await data.servers(query) };
    },
    page: {
      defaults: { limit: PAGE, group: "yes" },
      more: async ({ filters, group }, { data }) => ({
        facets: await facetsOf(data, filters, group === "yes"),
      }),
      html: serversPage,
    },
    json: {
      summary: "Servers that the filters match, page by page.",
      schema: ANSWERS.servers,
      description: "A page of servers.",
      document: serversDocument,
    },
    files: FILES,
  }),
  resource({
    path: "/servers/{id}",
    pathParameters: { id: SERVER_ID },
    parameters: PERIOD,
    async data({ id }, { data }) {
      const details = await data.server(id);
      return details && { details };
    },
    page: {
      async more({ id, from, to }, { data, now }) {
        const period = await pagePeriod(data, [id], { from, to }, now);
        return { history: await data.history(id, period.from, period.to) };
      },
      html: serverPage,
    },
    json: {
      summary: "All that the database has of one server.",
      names: [],
      schema: ANSWERS.server,
      description: "The server.",
      document: detailsDocument,
    },
  }),
  resource({
    path: "/compare",
    parameters: { server: SERVERS, ...PERIOD },
    async data({ server: names = [], from, to }, { data, now }) {
      const wanted = [...new Set(names)];
      if (wanted.length > MAX_COMPARED) {
        const message = `Cannot use server: it has ${wanted.length} values`;
        throw new ParameterError(message, `at most ${MAX_COMPARED} servers`);
      }
      return await comparedServers(data, wanted, { from, to }, now);
    },
    page: { html: comparePage },
  }),
  resource({
    path: "/servers/{id}/history",
    pathParameters: { id: SERVER_ID },
    parameters: {
      ...PERIOD,
      step: parameter(
        "Minimum length of a step, milliseconds. Default: a point for each change, if they are few.",
        wholeNumber(0, 365 * DAY_MS),
      ),
    },
    async data({ id, from, to, step }, { data, now }) {
      const period = periodOf(from, to, now);
      if (await data.server(id) === undefined) return undefined;
      return await data.history(id, period.from, period.to, step);
    },
    json: {
      summary: "Players, slots and latency of one server over time.",
      schema: ANSWERS.history,
      description: "The points of a chart.",
      document: historyDocument,
    },
  }),
  resource({
    path: "/servers/{id}/events",
    pathParameters: { id: SERVER_ID },
    parameters: EVENT_PARAMETERS,
    async data({ id, ...values }, request) {
      if (await request.data.server(id) === undefined) return undefined;
      return await eventsOf({ ...values, server: id }, request);
    },
    json: {
      summary: "Events of one server, the newest first by time.",
      schema: ANSWERS.serverEvents,
      description: "A page of events.",
      document: eventsDocument,
    },
  }),
  resource({
    path: "/events",
    parameters: {
      ...EVENT_PARAMETERS,
      server: SERVER,
      network: DASHBOARD_FILTERS.network.parameter,
    },
    data: eventsOf,
    page: {
      names: ["kind", "server", "network", "period", "from", "to", "before"],
      defaults: { limit: PAGE_EVENTS },
      html: eventsPage,
    },
    json: {
      summary: "Events of all servers, the newest first by time.",
      schema: ANSWERS.serverEvents,
      description: "A page of events.",
      document: eventsDocument,
    },
  }),
  resource({
    path: "/facets",
    hasFilters: true,
    parameters: { group: GROUP },
    data: ({ filters, group }, { data }) => data.facets(filters, group === "yes"),
    json: {
      summary: "Counts of the servers that the filters match, by the values of their properties.",
      schema: ANSWERS.facets,
      description: "The counts. A property is counted without its own filter.",
      document: (counts) => counts,
    },
  }),
  resource({
    path: "/map",
    hasFilters: true,
    parameters: { prefix: PREFIX, layer: LAYER, page: TABLE_PAGE },
    async data({ filters, prefix, layer = "servers", page = 1 }, { data }) {
      const square = prefix === undefined ? undefined : squareOf(prefix);
      const query = { square, layer, filters };
      return { query, cells: await data.map(query), page };
    },
    page: { html: mapPage },
    json: {
      names: ["prefix", "layer"],
      summary: "A square of the map of IPv4 addresses: 65,536 networks of equal size.",
      schema: ANSWERS.map,
      description: "The cells of the square.",
      document: mapDocument,
    },
  }),
  resource({
    path: "/breakdown",
    hasFilters: true,
    parameters: { by: BY, days: DAYS },
    async data({ filters, by = "version", days: text }, { data }) {
      const trends = data.trends({ days: daysOf(text), by });
      return { facets: await facetsOf(data, filters), ...await trends, by };
    },
    page: {
      html: breakdownPage,
    },
  }),
  resource({
    path: "/trends",
    parameters: { days: DAYS, by: BY },
    async data({ days: text, by }, { data }) {
      return { by: by ?? null, ...await data.trends({ days: daysOf(text), by }) };
    },
    json: {
      summary: "Numbers of servers and players over time.",
      schema: ANSWERS.trends,
      description: "A trend of all servers, or one for each value of `by`.",
      document: (trends) => trends,
    },
  }),
  resource({
    path: "/scans",
    data: async (_, { data }) => ({ scans: await data.scans() }),
    page: { html: scansPage },
    json: {
      summary: "The newest scans and watches.",
      schema: ANSWERS.scans,
      description: "At most 100 scans and watches.",
      document: (scans) => scans,
    },
  }),
  resource({
    path: "/scans/{scan_id}",
    pathParameters: { scan_id: SCAN_ID },
    async data({ scan_id: id }, { data, live }) {
      const scan = await data.scan(id);
      if (scan === undefined) return undefined;
      const isLive = scan.state === "running" || scan.members === null;
      const finds = isLive
        ? await data.finds(id, FINDS)
        : (await data.members(id, ["found"], FINDS)).servers.found ?? [];
      const rates = scan.state === "running" ? live.ratesOf(scan) : [];
      return { scan, finds, parts: await data.parts(id), rates };
    },
    page: {
      more: async ({ scan_id: id }, { data }) => ({
        changes: await data.members(id, CHANGES, FIRST_CHANGES),
        before: await data.scanBefore(id),
      }),
      html: scanPage,
    },
    json: {
      summary: "One scan or watch, servers that it found, and the parts of a campaign.",
      schema: ANSWERS.scan,
      description:
        "The scan. `finds`: at most 20 servers; of a running scan or a watch, those that " +
        "replied last. /api/servers?scan=ID&saw=new has all that are new, and so on.",
      document: ({ scan, finds, parts }) => ({
        ...{ scan, finds: finds.map(withoutPlayersColumn) },
        ...parts,
      }),
    },
  }),
  [route({
    path: "/icons/{hash}.png",
    pathParameters: { hash: parameter("`favicon_hash` of a server.", TEXT) },
    async respond({ hash }, { data }) {
      const icon = /^[\da-f]{64}$/.test(hash) ? await data.icon(hash) : undefined;
      if (icon === undefined) return undefined;
      return { contentType: "image/png", body: new Uint8Array(icon), cached: "forever" };
    },
  })],
  [route({
    path: "/api/live",
    parameters: { scan: SCAN_ID },
    operation: {
      summary: "The state of running scans and watches as server-sent events named `state`.",
      contentType: "text/event-stream",
      schema: ANSWERS.live,
      description:
        "A state at once, and another one whenever it has changed, at most once a second.",
    },
    respond({ scan }, { live }) {
      const onEnd = live.limit.open();
      if (onEnd === undefined) {
        throw new DataError("slow", `${MAX_STREAMS} live pages are open. Close one of them.`);
      }
      return Promise.resolve({
        contentType: "text/event-stream",
        headers: { "x-accel-buffering": "no" }, // nginx passes each event on at once
        stream: (signal) => live.stream(scan, signal),
        onEnd,
      });
    },
  })],
].flat();

export const ROUTES: readonly Route[] = [
  ...DATA_ROUTES,
  route({
    path: "/api/openapi.json",
    operation: {
      summary: "This description of the API, in OpenAPI 3.1.",
      schema: ANSWERS.openapi,
      description: "An OpenAPI document.",
    },
    respond: (_, { publicRoutes }) => Promise.resolve(jsonContent(openApi(ROUTES, publicRoutes))),
  }),
];

/** The counts of servers; `undefined` if counting takes too long: the page then has none. */
async function facetsOf(data: DashboardData, filters: DashboardFilters, group = false) {
  try {
    return await data.facets(filters, group);
  } catch (error) {
    if (error instanceof DataError && error.trouble === "slow") return undefined;
    throw error;
  }
}

async function eventsOf(
  { kind: kinds, before, limit = USUAL_ROWS, server, network, period, ...bounds }: {
    readonly network?: readonly string[];
    readonly period?: EventPeriod;
    readonly kind?: readonly string[];
    readonly before?: string;
    readonly limit?: number;
    readonly server?: number | string;
    readonly from?: number;
    readonly to?: number;
  },
  { data, now }: Pick<RouteRequest, "data" | "now">,
) {
  const { from, to } = period === undefined ? bounds : { from: now - EVENT_PERIODS[period] };
  checkBounds(["from", from], ["to", to]);
  const cursor = before === undefined ? undefined : parseEventCursor(before);
  const query = { kinds, server, network, from, to, before: cursor, limit };
  return { query, period, page: await data.events(query) };
}
