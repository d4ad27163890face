/**
 * The paths of the public list, and what each answers.
 *
 * @module
 */
import { DAY_MS, HOUR_MS } from "../../core/quantities.ts";
import { type Content, htmlContent } from "../api/answer.ts";
import { readServersCursor } from "../queries/cursors.ts";
import {
  type DashboardData,
  DataError,
  type Facets,
  type ServersPage,
  type ServersQuery,
} from "../queries/dashboard_data.ts";
import {
  ignoredWords,
  listedFilters,
  readVisitorFilters,
  VISITOR_SORT,
  type VisitorFilters,
  visitorServerUrl,
} from "./visitor_filters.ts";
import { visitorListPage } from "./visitor_list_page.tsx";
import { aboutPage, statisticsPage } from "./visitor_pages.tsx";
import { CHART_DAYS, visitorServerPage } from "./visitor_server_page.tsx";
import type { VisitorContext } from "./visitor_site.ts";

/** Number of servers of a page, and of those that are similar to another one. */
const [PAGE, SIMILAR] = [30, 6];
/** How long anybody may keep a page, the list of all pages, and an icon, seconds. */
const [FRESH_S, SITEMAP_S, ICON_S] = [30, 3600, 86_400];
/** Number of servers in the list of all pages, and read at a time. */
const [MAX_LISTED, READ] = [5000, 500];
/** Days of the statistics. */
const TREND_DAYS = 30;

/** Answers a request; `undefined`: there is no such page. */
export async function visitorAnswer(context: VisitorContext): Promise<Content | undefined> {
  const { path } = context;
  const key = /^\/s\/([^/]+)$/.exec(path)?.[1];
  if (key !== undefined) return await serverAnswer(decoded(key), context);
  const hash = /^\/icons\/([\da-f]{64})\.png$/.exec(path)?.[1];
  if (hash !== undefined) return await iconAnswer(hash, context);
  return await PATHS[path]?.(context);
}

const PATHS: Readonly<Record<string, (context: VisitorContext) => Promise<Content>>> = Object
  .assign(Object.create(null), {
    "/": listAnswer,
    "/stats": statisticsAnswer,
    "/about": (context: VisitorContext) => Promise.resolve(page(aboutPage(context))),
    "/sitemap.xml": sitemapAnswer,
    "/robots.txt": robotsAnswer,
  });

function page(html: string): Content {
  return { ...htmlContent(html), cached: FRESH_S };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}

async function listAnswer(context: VisitorContext): Promise<Content> {
  const { data, query } = context;
  const filters = readVisitorFilters(query);
  const cursor = readServersCursor(query.get("cursor") ?? "");
  const at = cursor?.sort === VISITOR_SORT ? cursor.at : undefined;
  const listed = listedFilters(filters);
  const [list, facets, trends] = await Promise.all([
    listedPage({ filters: listed, sort: VISITOR_SORT, limit: PAGE, cursor: at }, data),
    facetsOf(data, filters),
    data.trends({ days: 1 }),
  ]);
  const hours = await data.hourlyPlayers(list.servers.map(({ id }) => id));
  const trend = (trends.trends[0]?.points ?? []).map(({ players }) => players);
  return page(
    visitorListPage(
      {
        filters,
        page: list,
        facets,
        hours,
        trend,
        isFirstPage: at === undefined,
        ignored: ignoredWords(query.get("q") ?? ""),
      },
      context,
    ),
  );
}

/** A page of the list, without servers that opted out: the database may still have them. */
async function listedPage(query: ServersQuery, data: DashboardData): Promise<ServersPage> {
  const list = await data.servers({ ...query, group: true });
  const shown = new Set(await data.withoutOptedOut(list.servers.map(({ id }) => id)));
  return { ...list, servers: list.servers.filter(({ id }) => shown.has(id)) };
}

/** The counts of servers; `undefined`: they are not known yet. */
async function facetsOf(
  data: DashboardData,
  filters: VisitorFilters,
): Promise<Facets | undefined> {
  try {
    return await data.facets(listedFilters(filters), true);
  } catch (error) {
    if (error instanceof DataError && error.trouble === "slow") return undefined;
    throw error;
  }
}

async function serverAnswer(key: string, context: VisitorContext): Promise<Content | undefined> {
  const { data, query, now } = context;
  const [named] = await data.named(key);
  const [id] = named === undefined ? [] : await data.withoutOptedOut([named.id]);
  const details = id === undefined ? undefined : await data.server(id);
  if (details === undefined) return undefined;
  const { server } = details;
  if (server.key !== key) return redirect(visitorServerUrl(server.key));
  const days = CHART_DAYS.find((one) => String(one) === query.get("days")) ?? CHART_DAYS[0];
  const [history, similar] = await Promise.all([
    data.history(server.id, now - days * DAY_MS, now, days === 1 ? undefined : HOUR_MS),
    similarTo(server, data),
  ]);
  return page(visitorServerPage({ details, history, days, similar }, context));
}

/** Servers of the same edition and version with the most players. */
async function similarTo(
  { id, edition, version }: { id: number; edition: string | null; version: string | null },
  data: DashboardData,
) {
  if (edition === null || version === null || version.length > 40) return [];
  const filters = listedFilters({ edition: [edition], version: [version], minPlayers: 1 });
  const { servers } = await listedPage({ filters, sort: VISITOR_SORT, limit: SIMILAR + 1 }, data);
  return servers.filter((one) => one.id !== id).slice(0, SIMILAR);
}

async function statisticsAnswer(context: VisitorContext): Promise<Content> {
  const { data } = context;
  const [facets, { days, trends }] = await Promise.all([
    facetsOf(data, {}),
    data.trends({ days: TREND_DAYS }),
  ]);
  return page(
    statisticsPage({ facets, trend: trends[0] ?? { value: null, points: [] }, days }, context),
  );
}

async function iconAnswer(hash: string, { data }: VisitorContext): Promise<Content | undefined> {
  const icon = await data.icon(hash);
  return icon && { contentType: "image/png", body: new Uint8Array(icon), cached: ICON_S };
}

/** The pages that search engines should list: those with the most players. */
async function sitemapAnswer({ data, base }: VisitorContext): Promise<Content> {
  const urls = ["/", "/stats", "/about"];
  const query = { filters: listedFilters({}), sort: VISITOR_SORT, limit: READ } as const;
  let list = await listedPage(query, data);
  for (;;) {
    urls.push(...list.servers.map(({ key }) => visitorServerUrl(key)));
    if (list.next === null || urls.length >= MAX_LISTED) break;
    list = await listedPage({ ...query, cursor: list.next }, data);
  }
  const lines = urls.map((url) => `<url><loc>${xmlText(base + url)}</loc></url>`);
  return {
    contentType: "application/xml",
    body: '<?xml version="1.0" encoding="UTF-8"?>\n' +
      `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n${
        lines.join("\n")
      }\n</urlset>\n`,
    cached: SITEMAP_S,
  };
}

function xmlText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

function robotsAnswer({ base }: VisitorContext): Promise<Content> {
  return Promise.resolve({
    contentType: "text/plain; charset=utf-8",
    body: `User-agent: *\nDisallow: /*?\nSitemap: ${base}/sitemap.xml\n`,
    cached: SITEMAP_S,
  });
}

function redirect(location: string): Content {
  return { status: 303, contentType: "text/plain; charset=utf-8", body: "", headers: { location } };
}
