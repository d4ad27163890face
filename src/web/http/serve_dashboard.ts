/**
 * Serves the dashboard over HTTP.
 *
 * @module
 */
import { affordableConnections, HttpServer, listenOn } from "../../app/http/mod.ts";
import type { Clock } from "../../net/clock.ts";
import { AddressSet, type Range } from "../../targets/ranges.ts";
import { MAX_EXPORTS } from "../api/export_files.ts";
import { LiveFeed, type LiveSources } from "../api/live_feed.ts";
import type { Site } from "../api/route.ts";
import { StreamLimit } from "../api/stream_limit.ts";
import { type StatusApiOptions, statusRoutes } from "../status/status_routes.ts";
import { AccessToken } from "./access_token.ts";
import { assetsOf } from "./assets.ts";
import { dashboard, type DashboardOptions } from "./dashboard.ts";

/** Maximum number of connections: 50 streams, exports, and the other connections of browsers. */
const MAX_CONNECTIONS = 256;
/** How long a connection may be idle between two requests, milliseconds. */
const IDLE_MS = 30_000;
/** Sizes of requests: a head with a query string of 4 KiB, and the form for the token. */
const LIMITS = { maxHead: 16_384, maxBody: 4096 };

/** What a dashboard serves, and where. */
export interface ServeOptions {
  readonly site: Omit<Site, "assets" | "live" | "exports" | "publicRoutes">;
  /** Makes the function that answers requests, in place of the dashboard. */
  readonly inPlace?: (options: Omit<DashboardOptions, "token">) => ReturnType<typeof dashboard>;
  /** The status API. Default: none. */
  readonly statusApi?: Omit<StatusApiOptions, "clock">;
  readonly hostname: string;
  /** The port; 0: any free port. */
  readonly port: number;
  /** Host names of requests besides the address and `localhost`, in lower case. */
  readonly allowedHosts: readonly string[];
  /** The token that requests need; `undefined`: none. */
  readonly token: string | undefined;
  /** The reverse proxies whose header `X-Forwarded-For` counts. Default: none. */
  readonly trustedProxies?: readonly Range[];
  /** Reads the files of `--status-file`. */
  readonly status: LiveSources["status"];
  readonly clock: Clock;
  /** Receives an error that is a defect of the program, or the reason why no connection is accepted. */
  readonly report: (error: unknown) => void;
}

/** A dashboard that is served until it is disposed. */
export interface ServedDashboard extends AsyncDisposable {
  readonly port: number;
}

/**
 * Serves a dashboard.
 *
 * @throws InputError when it cannot listen; Deno.errors.NotCapable.
 */
export function serveDashboard(options: ServeOptions): ServedDashboard {
  const { site, statusApi, hostname, allowedHosts, token, status, clock, report } = options;
  const assets = assetsOf();
  const listener = listenOn("serve the dashboard", hostname, options.port);
  const { port } = listener.addr;
  const live = new LiveFeed({ data: site.data, status, clock, report });
  const common = {
    site: {
      ...site,
      live,
      exports: new StreamLimit(MAX_EXPORTS),
      publicRoutes: statusApi === undefined ? [] : statusRoutes({ ...statusApi, clock }),
    },
    assets,
    access: { hostname, allowedHosts },
    trustedProxies: new AddressSet(options.trustedProxies ?? []),
    now: () => clock.wall(),
    report,
  };
  const respond = options.inPlace?.(common) ?? dashboard({
    ...common,
    token: token === undefined ? undefined : new AccessToken(token, port),
  });
  const server = new HttpServer(listener, {
    respond,
    clock,
    onTrouble: (why) => report(`cannot accept a connection (${why}): trying again`),
    maxConnections: affordableConnections(listener, MAX_CONNECTIONS),
    idleMs: IDLE_MS,
    limits: LIMITS,
    servesAnyHost: true, // dashboard() checks the host
  });
  return { port, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}
