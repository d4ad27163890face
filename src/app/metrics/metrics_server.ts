/**
 * Serves metrics over HTTP: `--metrics`.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { type Clock, systemClock } from "../../net/clock.ts";
import { reason } from "../environment.ts";
import { EXPOSITION_TYPE, type Family, prometheusText } from "./prometheus_text.ts";
import { type HttpRequest, type HttpResponse, HttpServer } from "./http_server.ts";
import type { MetricsPlace } from "./metrics_place.ts";

/** A line about connections that cannot be accepted. */
export function metricsTrouble(why: string): string {
  return `blocksweep: --metrics: cannot accept a connection (${why}): trying again`;
}

/** Minimum time between two renderings of the page, milliseconds. With 10,000 servers one takes about 30 ms. */
const PAGE_MS = 1000;

/**
 * Serves metrics under `/metrics` until the server is disposed.
 *
 * @param collect Called at most once a second.
 * @param onTrouble Receives the reason why connections cannot be accepted.
 * @throws InputError when it cannot listen; Deno.errors.NotCapable.
 */
export function serveMetrics(
  { hostname, port }: MetricsPlace,
  collect: () => readonly Family[],
  onTrouble: (reason: string) => void,
  clock: Clock = systemClock,
): AsyncDisposable {
  const page = metricsPage(collect, clock);
  const listener = listenOn(hostname, port);
  return new HttpServer(listener, {
    clock,
    onTrouble,
    respond: (request) => respond(request, page),
  });
}

function listenOn(hostname: string, port: number): Deno.TcpListener {
  try {
    return Deno.listen({ hostname, port });
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    const where = hostname.includes(":") ? `[${hostname}]` : hostname;
    throw new InputError(`Cannot serve metrics on ${where}:${port}: ${reason(error)}`);
  }
}

/** Returns the page, and renders it again if the last rendering is too old. */
function metricsPage(
  collect: () => readonly Family[],
  clock: Clock,
): () => Uint8Array<ArrayBuffer> {
  let page: Uint8Array<ArrayBuffer> | undefined;
  let renderedAt = -Infinity;
  return () => {
    if (page === undefined || clock.now() - renderedAt >= PAGE_MS) {
      page = encoder.encode(prometheusText(collect()));
      renderedAt = clock.now();
    }
    return page;
  };
}

const encoder = new TextEncoder();

function respond({ method, path }: HttpRequest, page: () => Uint8Array<ArrayBuffer>): HttpResponse {
  if (path !== "/metrics") return { status: 404, body: encoder.encode("see /metrics\n") };
  if (method !== "GET" && method !== "HEAD") {
    return { status: 405, headers: { allow: "GET, HEAD" }, body: encoder.encode("GET it\n") };
  }
  return { status: 200, headers: { "content-type": EXPOSITION_TYPE }, body: page() };
}
