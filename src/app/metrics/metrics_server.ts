/**
 * Serves metrics over HTTP: `--metrics`.
 *
 * @module
 */
import { type Clock, systemClock } from "../../net/clock.ts";
import { buildInfo } from "./build_info.ts";
import { type Health, healthResponse } from "./health.ts";
import type { HttpRequest } from "../http/http_request.ts";
import type { WholeResponse } from "../http/http_response.ts";
import { HttpServer, MAX_CONNECTIONS } from "../http/http_server.ts";
import { affordableConnections, listenOn } from "../http/listen.ts";
import { MetricsPage } from "./metrics_page.ts";
import type { MetricsAddress } from "../settings/metrics_place.ts";
import type { Family } from "./prometheus_text.ts";

/** A line about connections that cannot be accepted. */
export function metricsTrouble(why: string): string {
  return `blocksweep: --metrics: cannot accept a connection (${why}): trying again`;
}

/** What a metrics server serves. */
export interface MetricsSources {
  /** The metric families of `/metrics`. Called at most once a second. */
  readonly collect: () => readonly Family[];
  /** The state of the program for `/healthz`. */
  readonly health: () => Health;
  /** The response to a request for `/probe`. Default: there is no such path. */
  readonly probe?: (request: HttpRequest) => Promise<WholeResponse>;
}

/**
 * Serves `/metrics`, `/healthz` and perhaps `/probe` until the server is disposed.
 *
 * @param onTrouble Receives the reason why connections cannot be accepted.
 * @throws InputError when it cannot listen; Deno.errors.NotCapable.
 */
export function serveMetrics(
  { hostname, port }: MetricsAddress,
  { collect, health, probe }: MetricsSources,
  onTrouble: (reason: string) => void,
  clock: Clock = systemClock,
): AsyncDisposable {
  const page = new MetricsPage(() => [buildInfo(), ...collect()], clock);
  const paths: Paths = {
    "/metrics": (request) => page.respond(request),
    "/healthz": () => healthResponse(health()),
    "/probe": probe,
  };
  const listener = listenOn("serve metrics", hostname, port);
  return new HttpServer(listener, {
    clock,
    onTrouble,
    respond: (request) => respond(request, paths),
    maxConnections: affordableConnections(listener, MAX_CONNECTIONS),
  });
}

/** The responses by path. */
type Paths = Readonly<
  Record<string, ((request: HttpRequest) => WholeResponse | Promise<WholeResponse>) | undefined>
>;

const encoder = new TextEncoder();

function respond(request: HttpRequest, paths: Paths): WholeResponse | Promise<WholeResponse> {
  const { method, path } = request;
  const reply = Object.hasOwn(paths, path) ? paths[path] : undefined;
  if (reply === undefined) {
    const known = Object.keys(paths).filter((one) => paths[one] !== undefined);
    return { status: 404, body: encoder.encode(`see ${known.join(", ")}\n`) };
  }
  if (method === "GET" || method === "HEAD") return reply(request);
  return {
    status: 405,
    headers: { allow: "GET, HEAD" },
    body: encoder.encode("use GET or HEAD\n"),
  };
}
