/**
 * Answers the requests for the public list: to everybody, with errors as pages.
 *
 * @module
 */
import {
  clientAddress,
  type HttpRequest,
  type HttpResponse,
  type HttpStatus,
} from "../../app/http/mod.ts";
import { KeyedLimit, limitKey } from "../../app/status_api/mod.ts";
import { isLoopback } from "../../core/address.ts";
import type { AddressSet } from "../../targets/ranges.ts";
import { type Content, htmlContent, responseOf } from "../api/answer.ts";
import type { Site } from "../api/route.ts";
import { findRoute } from "../api/route.ts";
import { type AccessOptions, accessRefusal, RETRY_S } from "../http/access.ts";
import type { Assets } from "../http/assets.ts";
import { publicAnswer } from "../http/public_answer.ts";
import { DataError } from "../queries/dashboard_data.ts";
import { dataAt } from "../queries/filters.ts";
import { visitorErrorPage } from "./visitor_pages.tsx";
import { visitorAnswer } from "./visitor_routes.ts";
import type { VisitorContext, VisitorSite } from "./visitor_site.ts";

/** Pages that a client gets: an address of IPv4, or a network of IPv6, as providers assign them. */
const CLIENT_LIMIT = { perMinute: 120, burst: 60 };
const CLIENT_PREFIX = { 4: 32, 6: 56 } as const;

/** What visitors read about refused requests: the title and the text of the page. */
const REFUSALS: Partial<Record<HttpStatus, readonly [string, string]>> = {
  405: ["Not possible", "Pages of this list can only be read."],
  421: ["Other address", "This list has another address."],
};

/** What a public list serves. */
export interface VisitorOptions {
  readonly site: Omit<Site, "assets">;
  readonly visitors: VisitorSite;
  readonly assets: Assets;
  readonly access: Omit<AccessOptions, "hasToken">;
  /** The proxies that name the addresses of their clients. */
  readonly trustedProxies: Pick<AddressSet, "has">;
  /** The current time, Unix milliseconds. */
  readonly now: () => number;
  /** Receives an error that is a defect of the program. */
  readonly report: (error: unknown) => void;
}

/** Returns the function that answers the requests of visitors. */
export function visitorPages(
  options: VisitorOptions,
): (request: HttpRequest, local: string, peer: string) => Promise<HttpResponse> {
  const { site, visitors, assets, access, trustedProxies, now, report } = options;
  const limit = new KeyedLimit(CLIENT_LIMIT);
  return async (request, local, peer) => {
    const at = now();
    const client = clientAddress(peer, request.headers.get("x-forwarded-for"), trustedProxies);
    const data = dataAt(site.data, at);
    const open = findRoute(site.publicRoutes, request.path);
    if (open !== undefined) {
      const { path } = request;
      const routed = { ...site, data, assets: assets.folder, path, search: "", now: at, client };
      return responseOf(await publicAnswer(request, routed, open, report), request);
    }
    const context = {
      ...visitors,
      ...{ data, path: request.path, query: request.query, now: at, assets: assets.folder },
      ...{ hasGeoip: site.hasGeoip, attributions: site.attributions },
    };
    const refusal = accessRefusal(request, local, { ...access, hasToken: false });
    if (refusal !== undefined) {
      const { status, headers } = refusal;
      const [title, text] = REFUSALS[status] ?? ["Bad request", "The request cannot be used."];
      return responseOf(errorOf(status, title, text, context, headers), request);
    }
    const asset = assets.find(request.path);
    const isPage = asset === undefined && !request.path.startsWith("/icons/");
    // A proxy that is not trusted has the address of all its clients.
    const isLimited = isPage && !isLoopback(client);
    const waitS = isLimited ? limit.take(limitKey(client, CLIENT_PREFIX), at) : 0;
    const answer = waitS > 0 ? tooMany(waitS, context) : asset ?? await pageOf(context, report);
    return responseOf(answer, request);
  };
}

function tooMany(waitS: number, context: VisitorContext): Content {
  const text = `Too many pages in a short time. Try again in ${waitS} s.`;
  return errorOf(429, "Too many requests", text, context, { "retry-after": String(waitS) });
}

async function pageOf(
  context: VisitorContext,
  report: (error: unknown) => void,
): Promise<Content> {
  try {
    return await visitorAnswer(context) ??
      errorOf(
        404,
        "Not found",
        "There is no such page or server. It may have been removed.",
        context,
      );
  } catch (error) {
    if (error instanceof DataError) {
      const text = "The list cannot be read at the moment. Try again in some seconds.";
      return errorOf(503, "Not now", text, context, { "retry-after": RETRY_S });
    }
    report(error);
    return errorOf(500, "Error", "This page has a defect.", context);
  }
}

function errorOf(
  status: NonNullable<Content["status"]>,
  title: string,
  text: string,
  context: VisitorContext,
  headers?: Content["headers"],
): Content {
  return { ...htmlContent(visitorErrorPage({ title, text }, context), status), headers };
}
