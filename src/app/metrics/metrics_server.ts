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
import type { MetricsAddress } from "../settings/metrics_address.ts";
import { EXPOSITION_TYPE, type Family, prometheusText } from "./prometheus_text.ts";
import { nodeZlib } from "../../core/node_modules.ts";
import { acceptsGzip } from "../http/accepts_gzip.ts";

/** A line about connections that cannot be accepted. */
export function metricsTrouble(why: string): string {
  return `blocksweep: --metrics: cannot accept a connection (${why}): trying again`;
}

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

/**
 * Minimum time between two renderings, milliseconds. With 10,000 servers, a rendering takes 15 to 45 ms on two
 * shared cores, and 40 to 80 ms with info series.
 */
const PAGE_MS = 1000;
/**
 * Compression level of gzip: it takes 10 ms to compress 3.6 MB to 0.5 MB. Level 6 takes 27 ms, and
 * compresses them to 0.3 MB.
 */
const LEVEL = 1;

/** The page of `/metrics`: rendered at most once a second, and compressed if the client accepts it. */
export class MetricsPage {
  #plain: Uint8Array<ArrayBuffer> | undefined;
  #gzipped: Uint8Array<ArrayBuffer> | undefined;
  #renderedAt = -Infinity;

  /** @param collect Returns the metric families with their current values. */
  constructor(
    private readonly collect: () => readonly Family[],
    private readonly clock: Pick<Clock, "now">,
  ) {}

  respond({ headers }: Pick<HttpRequest, "headers">): WholeResponse {
    const plain = this.#render();
    const type = { "content-type": EXPOSITION_TYPE, vary: "Accept-Encoding" };
    if (!acceptsGzip(headers.get("accept-encoding"))) {
      return { status: 200, headers: type, body: plain };
    }
    this.#gzipped ??= new Uint8Array(nodeZlib().gzipSync(plain, { level: LEVEL }));
    return { status: 200, headers: { ...type, "content-encoding": "gzip" }, body: this.#gzipped };
  }

  #render(): Uint8Array<ArrayBuffer> {
    const now = this.clock.now();
    if (this.#plain === undefined || now - this.#renderedAt >= PAGE_MS) {
      this.#plain = new TextEncoder().encode(prometheusText(this.collect()));
      this.#gzipped = undefined;
      this.#renderedAt = now;
    }
    return this.#plain;
  }
}
