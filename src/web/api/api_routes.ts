/**
 * The JSON API.
 *
 * @module
 */
import { formatAddress } from "../../core/address.ts";
import { SCHEMA } from "../../sinks/json.ts";
import type { ListedEvent, StoredEvent } from "../../store/events/event_feed.ts";
import { DAY_MS } from "../../store/uptime/hours.ts";
import type { Uptime } from "../../store/uptime/integrate.ts";
import {
  DataError,
  type History,
  type MapCells,
  type ServerDetails,
} from "../data/dashboard_data.ts";
import { type Content, jsonContent } from "../http/answer.ts";
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
import {
  BEFORE_EVENT,
  cursorIn,
  eventCursor,
  positionOf,
  SERVERS_CURSOR,
  serversCursor,
} from "./cursors.ts";
import { FILTER_PARAMETERS, filtersOf } from "./filters.ts";
import { MOST_STREAMS, withoutPlayers } from "./live_feed.ts";
import { openApi } from "./openapi.ts";
import { periodOf } from "./page_routes.ts";
import { type JsonSchema, type Parameters, several, text, wholeNumber } from "./parameters.ts";
import { type Route, route, type RouteRequest } from "./route.ts";
import { ANSWERS } from "./schemas.ts";

/** Number of rows of a page whose URL does not name one. */
const USUAL_ROWS = 100;
/** Number of the last servers of a scan. */
const FINDS = 20;

/** An answer in JSON. */
function json(schema: JsonSchema, description: string) {
  return { contentType: "application/json", schema, description };
}

/** A document with the version of the schema. */
function document(members: Readonly<Record<string, unknown>>): Content {
  return jsonContent({ schema: SCHEMA, ...members });
}

const EVENT_PARAMETERS = {
  kind: several(text("Only events of this kind.")),
  before: BEFORE_EVENT,
  limit: LIMIT,
} as const satisfies Parameters;

/** The routes of the API but `openapi.json`. */
const DATA_ROUTES: readonly Route[] = [
  route({
    path: "/api/servers",
    summary: "Servers that the filters match, page by page.",
    parameters: { ...FILTER_PARAMETERS, sort: SORT, limit: LIMIT, cursor: SERVERS_CURSOR },
    answer: json(ANSWERS.servers, "A page of servers."),
    async respond({ sort: given, limit = USUAL_ROWS, cursor, ...values }, { data }) {
      const place = cursorIn(cursor, given, "players");
      const page = await data.servers({ filters: filtersOf(values), limit, ...place });
      const { servers, total, next, previous } = page;
      return document({
        ...{ total, servers: servers.map(withoutPlayers) },
        next: next && serversCursor(place.sort, next),
        previous: previous && serversCursor(place.sort, previous),
      });
    },
  }),
  route({
    path: "/api/servers/{id}",
    summary: "All that the database has of one server.",
    pathParameters: { id: SERVER_ID },
    answer: json(ANSWERS.server, "The server."),
    async respond({ id }, { data }) {
      const details = await data.server(id);
      return details && document(detailsOf(details));
    },
  }),
  route({
    path: "/api/servers/{id}/history",
    summary: "Players, slots and latency of one server over time.",
    pathParameters: { id: SERVER_ID },
    parameters: {
      from: time("Start of the period. Default: a week before its end."),
      to: time("End of the period. Default: now."),
      step: wholeNumber(
        "Minimum length of a step, milliseconds. Default: a point for each observation, if they are few.",
        0,
        365 * DAY_MS,
      ),
    },
    answer: json(ANSWERS.history, "The points of a chart."),
    async respond({ id, from, to, step }, { data, now }) {
      const period = periodOf(from, to, now);
      if (await data.server(id) === undefined) return undefined;
      return document(historyOf(await data.history(id, period.from, period.to, step)));
    },
  }),
  route({
    path: "/api/servers/{id}/events",
    summary: "Events of one server, the newest first.",
    pathParameters: { id: SERVER_ID },
    parameters: EVENT_PARAMETERS,
    answer: json(ANSWERS.serverEvents, "A page of events."),
    async respond({ id, ...values }, request) {
      if (await request.data.server(id) === undefined) return undefined;
      return await eventsAnswer({ ...values, server: id }, request);
    },
  }),
  route({
    path: "/api/events",
    summary: "Events of all servers, the newest first.",
    parameters: { ...EVENT_PARAMETERS, server: SERVER_ID },
    answer: json(ANSWERS.serverEvents, "A page of events."),
    respond: eventsAnswer,
  }),
  route({
    path: "/api/facets",
    summary: "Counts of the servers that the filters match, by the values of their properties.",
    parameters: FILTER_PARAMETERS,
    answer: json(ANSWERS.facets, "The counts. A property is counted without its own filter."),
    async respond(values, { data }) {
      return document({ ...await data.facets(filtersOf(values)) });
    },
  }),
  route({
    path: "/api/map",
    summary: "A square of the map of IPv4 addresses: 65,536 networks of equal size.",
    parameters: { ...FILTER_PARAMETERS, prefix: PREFIX, layer: LAYER },
    answer: json(ANSWERS.map, "The cells of the square."),
    async respond({ prefix = "0.0.0.0/0", layer = "servers", ...values }, { data }) {
      const square = squareOf(prefix)!;
      const cells = await data.map({ ...square, layer, filters: filtersOf(values) });
      const network = `${formatAddress(square.address)}/${square.prefix}`;
      return document({ network, layer, ...mapOf(cells) });
    },
  }),
  route({
    path: "/api/trends",
    summary: "Numbers of servers and players over time.",
    parameters: { days: DAYS, by: BY },
    answer: json(ANSWERS.trends, "A trend of all servers, or one for each value of `by`."),
    async respond({ days: text, by }, { data }) {
      const days = daysOf(text);
      return document({ days, by: by ?? null, trends: await data.trends({ days, by }) });
    },
  }),
  route({
    path: "/api/scans",
    summary: "The newest scans and watches.",
    answer: json(ANSWERS.scans, "At most 100 scans and watches."),
    respond: async (_, { data }) => document({ scans: await data.scans() }),
  }),
  route({
    path: "/api/scans/{scan_id}",
    summary: "One scan or watch, and the servers that it wrote last.",
    pathParameters: { scan_id: SCAN_ID },
    answer: json(ANSWERS.scan, "The scan."),
    async respond({ scan_id }, { data }) {
      const scan = await data.scan(scan_id);
      if (scan === undefined) return undefined;
      const finds = await data.finds(scan_id, FINDS);
      return document({ scan, finds: finds.map(withoutPlayers) });
    },
  }),
  route({
    path: "/api/live",
    summary: "The state of running scans and watches as server-sent events named `state`.",
    parameters: { scan: SCAN_ID },
    answer: {
      contentType: "text/event-stream",
      schema: ANSWERS.live,
      description:
        "A state at once, and another one whenever it has changed, at most once a second.",
    },
    respond({ scan }, { live }) {
      const onEnd = live.limit.open();
      if (onEnd === undefined) {
        throw new DataError("slow", `${MOST_STREAMS} live pages are open. Close one of them.`);
      }
      return Promise.resolve({
        contentType: "text/event-stream",
        headers: { "x-accel-buffering": "no" }, // nginx passes each event on at once
        stream: (signal) => live.stream(scan, signal),
        onEnd,
      });
    },
  }),
];

/** The API. */
export const API_ROUTES: readonly Route[] = [
  ...DATA_ROUTES,
  route({
    path: "/api/openapi.json",
    summary: "This description of the API, in OpenAPI 3.1.",
    answer: json(ANSWERS.openapi, "An OpenAPI document."),
    respond: () => Promise.resolve(jsonContent(openApi(API_ROUTES))),
  }),
];

/** A page of events. */
async function eventsAnswer(
  { kind: kinds, before, limit = USUAL_ROWS, server }: {
    readonly kind?: readonly string[];
    readonly before?: string;
    readonly limit?: number;
    readonly server?: number;
  },
  { data }: Pick<RouteRequest, "data">,
): Promise<Content> {
  const found = await data.events({ kinds, server, before: positionOf(before), limit });
  const last = found.at(-1);
  const next = last === undefined || found.length < limit ? null : eventCursor(last);
  return document({ events: found.map(eventOf), next });
}

/** An event without the parts of its position. */
function eventOf({ tx, seq, ...event }: StoredEvent | ListedEvent) {
  return { position: eventCursor({ tx, seq }), ...event };
}

function detailsOf(
  { server, tags, notes, players, aliasOf, aliases, uptime, replies, events }: ServerDetails,
): Readonly<Record<string, unknown>> {
  return {
    ...{ server: withoutPlayers(server), tags, notes, players, alias_of: aliasOf, aliases },
    uptime: {
      "24h": uptimeOf(uptime["24h"]),
      "7d": uptimeOf(uptime["7d"]),
      "30d": uptimeOf(uptime["30d"]),
    },
    replies: replies && replies.map(({ protocol, seenAt, size, bytes }) => ({
      ...{ protocol, seen_at: seenAt, size, hex: bytes.toHex() },
    })),
    events: events.map(eventOf),
  };
}

function uptimeOf({ watchedS, onlineS, playerS, playersMin, playersMax }: Uptime) {
  return {
    ...{ watched_s: watchedS, online_s: onlineS, player_s: playerS },
    ...{ players_min: playersMin, players_max: playersMax },
  };
}

function historyOf({ from, to, step, points, unwatched, peak }: History) {
  return {
    ...{ from, to, step },
    points: points.map(({ at, online, players, playersMost, slots, latencyMs }) => ({
      ...{ at, online, players, players_most: playersMost, slots, latency_ms: latencyMs },
    })),
    ...{ unwatched, peak },
  };
}

/** The cells of a map, with the distances of indexes: a third of the size of the indexes, compressed. */
function mapOf({ cells, values, servers }: MapCells) {
  return { servers, gaps: cells.map((cell, i) => cell - (i === 0 ? -1 : cells[i - 1])), values };
}
