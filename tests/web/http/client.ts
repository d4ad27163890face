/** Requests to a dashboard in this process, without sockets. */
import { parseRequest } from "../../../src/app/http/http_request.ts";
import type { HttpResponse } from "../../../src/app/http/http_response.ts";
import { type Clock, systemClock } from "../../../src/net/clock.ts";
import { MAX_EXPORTS } from "../../../src/web/api/export_files.ts";
import { LiveFeed } from "../../../src/web/api/live_feed.ts";
import { StreamLimit } from "../../../src/web/api/stream_limit.ts";
import type { DashboardData } from "../../../src/web/queries/dashboard_data.ts";
import { AccessToken } from "../../../src/web/http/access_token.ts";
import { assetsOf } from "../../../src/web/http/assets.ts";
import { dashboard, type DashboardOptions } from "../../../src/web/http/dashboard.ts";
import { type StatusApiOptions, statusRoutes } from "../../../src/web/status/status_routes.ts";
import { AddressSet, type Range } from "../../../src/targets/ranges.ts";
import { fakeData, NOW } from "../fake_data.ts";

/** A response with its whole body. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly bytes: Uint8Array;
}

/** What differs from the usual dashboard. */
export interface ClientOptions {
  readonly data?: DashboardData;
  readonly access?: Partial<DashboardOptions["access"]>;
  readonly token?: string;
  readonly hasGeoip?: boolean;
  /** Default: there is no status API. */
  readonly statusApi?: Omit<StatusApiOptions, "clock">;
  readonly trustedProxies?: readonly Range[];
  /** The clock of the status API. */
  readonly clock?: Pick<Clock, "after">;
  /** Receives defects. Default: they fail the test. */
  readonly report?: (error: unknown) => void;
}

/** Sends requests to a dashboard. */
export interface Client {
  /** Sends a request: `GET /path` with headers, perhaps a body, to an address of this machine. */
  (
    line: string,
    headers?: Readonly<Record<string, string>>,
    body?: string,
    local?: string,
    peer?: string,
  ): Promise<Reply>;
}

/** A dashboard that is not served. */
export function clientOf(options: ClientOptions = {}): Client {
  const { data = fakeData(), access, token, hasGeoip = false, report = fail } = options;
  const { statusApi, clock = systemClock, trustedProxies = [] } = options;
  const live = new LiveFeed({
    data,
    status: () => Promise.resolve([]),
    clock: systemClock,
    report,
  });
  const site = {
    ...{ data, database: "servers.db", hasGeoip, attributions: [], live },
    caller: { program: "blocksweep", location: "data/servers.db" },
    exports: new StreamLimit(MAX_EXPORTS),
    publicRoutes: statusApi === undefined ? [] : statusRoutes({ ...statusApi, clock }),
  };
  const respond = dashboard({
    site,
    assets: assetsOf(),
    access: { hostname: "127.0.0.1", allowedHosts: [], ...access },
    token: token === undefined ? undefined : new AccessToken(token, 8420),
    trustedProxies: new AddressSet(trustedProxies),
    now: () => NOW,
    report,
  });
  return requestTo(respond);
}

/** Sends requests to a function that answers them. */
export function requestTo(respond: ReturnType<typeof dashboard>): Client {
  return async (line, headers = {}, body = "", local = "127.0.0.1", peer = "127.0.0.1") => {
    const fields = Object.entries({ host: "localhost:8420", ...headers })
      .map(([name, value]) => `\r\n${name}: ${value}`).join("");
    const request = parseRequest(new TextEncoder().encode(`${line} HTTP/1.1${fields}`));
    if (request === 400) return { status: 400, headers: {}, text: "", bytes: new Uint8Array() };
    const sent = { ...request, body: new TextEncoder().encode(body) };
    return await read(await respond(sent, local, peer));
  };
}

function fail(error: unknown): never {
  throw error;
}

async function read(response: HttpResponse): Promise<Reply> {
  const { status, headers = {} } = response;
  const parts = "stream" in response
    ? await Array.fromAsync(response.stream(new AbortController().signal))
    : [response.body];
  if ("stream" in response) response.onEnd?.();
  const bytes = new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer());
  return { status, headers, bytes, text: new TextDecoder().decode(bytes) };
}
