/**
 * Answers the requests of the dashboard.
 *
 * @module
 */
import {
  clientAddress,
  type HttpRequest,
  type HttpResponse,
  type HttpStatus,
} from "../../app/http/mod.ts";
import type { AddressSet } from "../../targets/ranges.ts";
import { ParameterError } from "../queries/parameters.ts";
import { findRoute, pageContext, type RouteRequest, type Site } from "../api/route.ts";
import { ROUTES } from "../api/routes.ts";
import { DataError } from "../queries/dashboard_data.ts";
import { dataAt } from "../queries/filters.ts";
import { errorPage, notFoundPage } from "../pages/error_pages.tsx";
import { tokenPage } from "../pages/token_page.tsx";
import {
  type AccessOptions,
  type AccessRefusal,
  accessRefusal,
  isApi,
  RETRY_S,
  TOKEN_PATH,
} from "./access.ts";
import type { AccessToken } from "./access_token.ts";
import { type Answer, type Content, errorContent, htmlContent, responseOf } from "../api/answer.ts";
import type { Assets } from "./assets.ts";
import { publicAnswer } from "./public_answer.ts";

/** What a dashboard serves, and to whom. */
export interface DashboardOptions {
  readonly site: Omit<Site, "assets">;
  readonly assets: Assets;
  readonly access: Omit<AccessOptions, "hasToken">;
  /** The token that requests need; `undefined`: none. */
  readonly token: AccessToken | undefined;
  /** The proxies that name the addresses of their clients. */
  readonly trustedProxies: Pick<AddressSet, "has">;
  /** The current time, Unix milliseconds. */
  readonly now: () => number;
  /** Receives an error that is a defect of the program. */
  readonly report: (error: unknown) => void;
}

/** An error for a page or the API. */
type Fault = AccessRefusal | (Omit<AccessRefusal, "wanted"> & { readonly wanted: null });

/** Returns the function that answers the requests of a dashboard. */
export function dashboard(
  options: DashboardOptions,
): (request: HttpRequest, local: string, peer: string) => Promise<HttpResponse> {
  return async (request, local, peer) => {
    const { site, assets, now, trustedProxies } = options;
    const at = now();
    const client = clientAddress(peer, request.headers.get("x-forwarded-for"), trustedProxies);
    const routed = {
      ...{ ...site, data: dataAt(site.data, at), assets: assets.folder, path: request.path },
      ...{ search: request.query.get("q") ?? "", now: at, client },
    };
    const answer = await answerOf(request, local, routed, options).catch((error: unknown) =>
      faultContent(faultOf(error, options.report), routed)
    );
    return responseOf(answer, request);
  };
}

async function answerOf(
  request: HttpRequest,
  local: string,
  routed: RouteRequest,
  options: DashboardOptions,
): Promise<Answer> {
  const { assets, access, token } = options;
  const { path, query } = request;
  const open = findRoute(routed.publicRoutes, path);
  if (open !== undefined) return await publicAnswer(request, routed, open, options.report);
  const refusal = accessRefusal(request, local, { ...access, hasToken: token !== undefined });
  if (refusal !== undefined) return faultContent(refusal, routed);
  const asset = assets.find(path);
  if (asset !== undefined) return asset;
  if (token !== undefined) {
    if (path === TOKEN_PATH && request.method === "POST") return enter(request, token, routed);
    if (!token.isIn(request.headers)) return tokenNeeded(request, routed);
  }
  const found = findRoute(ROUTES, path);
  const short = isApi(path) ? undefined : withoutEmpty(query);
  if (found !== undefined && short !== undefined) return redirectTo(`${path}${short}`);
  const { route, segments } = found ?? {};
  const answer = await route?.respond({ segments: segments ?? {}, query, request: routed });
  return answer ?? missing(found !== undefined, routed);
}

/** The query of a URL without empty parameters, which forms send; `undefined`: it has none. */
function withoutEmpty(query: URLSearchParams): string | undefined {
  const given = [...query].filter(([, value]) => value !== "");
  if (given.length === query.size) return undefined;
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

function redirectTo(location: string, headers: Readonly<Record<string, string>> = {}): Content {
  return {
    status: 303,
    contentType: "text/plain; charset=utf-8",
    body: "",
    headers: { location, ...headers },
  };
}

/** The answer if there is no such page, or no such entry of the database: for people, or for programs. */
function missing(isEntry: boolean, routed: RouteRequest): Content {
  if (!isApi(routed.path)) return htmlContent(notFoundPage(isEntry, pageContext(routed)), 404);
  return isEntry
    ? errorContent(404, "The database has no such entry", "the id of an entry of the database")
    : errorContent(404, "There is no such resource", "a path of /api/openapi.json");
}

/** What is wrong with a request, or with the database. */
function faultOf(error: unknown, report: (error: unknown) => void): Fault {
  if (error instanceof ParameterError) {
    return { status: 400, message: error.message, wanted: error.wanted };
  }
  if (error instanceof DataError) {
    const headers = { "retry-after": RETRY_S };
    return { status: 503, message: error.message, wanted: null, headers };
  }
  report(error);
  return { status: 500, message: "The dashboard has a defect", wanted: null };
}

/** An error as a page, or as JSON for the API. */
function faultContent({ status, message, wanted, headers }: Fault, routed: RouteRequest): Content {
  const content = isApi(routed.path) ? errorContent(status, message, wanted) : htmlContent(
    errorPage({ status, message, wanted: wanted ?? undefined }, pageContext(routed)),
    status,
  );
  return { ...content, headers };
}

/** The answer to a request without the token: the form, or an error for programs. */
function tokenNeeded(request: HttpRequest, routed: RouteRequest): Content {
  const headers = { "www-authenticate": "Bearer" };
  if (isApi(request.path)) {
    const wanted = "a header Authorization: Bearer TOKEN";
    return { ...errorContent(401, "The dashboard requires a token", wanted), headers };
  }
  return { ...form(request.path + request.search, false, 401, routed), headers };
}

function form(to: string, isWrong: boolean, status: HttpStatus, routed: RouteRequest): Content {
  return htmlContent(tokenPage({ to, isWrong }, pageContext(routed)), status);
}

/** Checks the token of the form. */
function enter({ body, headers }: HttpRequest, token: AccessToken, routed: RouteRequest): Content {
  const type = headers.get("content-type") ?? "";
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type)) {
    throw new ParameterError("Cannot read the form", "application/x-www-form-urlencoded");
  }
  const fields = new URLSearchParams(new TextDecoder().decode(body));
  const to = ownPath(fields.get("to") ?? "/");
  if (!token.is(fields.get("token") ?? "")) return form(to, true, 401, routed);
  const isSecure = headers.get("x-forwarded-proto") === "https";
  return redirectTo(to, { "set-cookie": token.setCookie(isSecure) });
}

/** A path of the dashboard; `/` for the address of another site. */
function ownPath(to: string): string {
  const url = to.startsWith("/") ? URL.parse(to, "http://dashboard.invalid") : null;
  if (url?.host !== "dashboard.invalid" || url.pathname === TOKEN_PATH) return "/";
  return url.pathname.startsWith("//") ? "/" : url.pathname + url.search;
}
