/**
 * Serving numbers to those who collect them: `--metrics`.
 *
 * @module
 */
import { formatAddress, parseAddress } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { type Clock, systemClock } from "../../net/clock.ts";
import { reason } from "../environment.ts";
import { EXPOSITION_TYPE, type Family, prometheusText } from "./prometheus_text.ts";
import { type HttpRequest, type HttpResponse, HttpServer } from "./http_server.ts";
import type { Settings } from "../settings/option_values.ts";

/** Where numbers are served. */
export interface MetricsPlace {
  readonly hostname: string;
  readonly port: number;
}

/**
 * Reads `PORT`, on loopback, or `ADDRESS:PORT`.
 *
 * @throws InputError where it is neither.
 *
 * @example
 * ```ts
 * import { parseMetrics } from "./metrics_server.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(parseMetrics("9150"), { hostname: "127.0.0.1", port: 9150 });
 * assertEquals(parseMetrics("[::]:9150"), { hostname: "::", port: 9150 });
 * ```
 */
export function parseMetrics(text: string): MetricsPlace {
  const [, bare, host, digits] = /^(?::?(\d{1,5})|(.+):(\d{1,5}))$/.exec(text) ?? [];
  const port = Number(bare ?? digits);
  const name = host === "localhost" ? "127.0.0.1" : host?.replace(/^\[(.*)\]$/, "$1");
  const address = bare !== undefined ? 0x7f000001 : parseAddress(name ?? "");
  if (address !== undefined && port >= 1 && port <= 65535) {
    return { hostname: formatAddress(address), port };
  }
  throw new InputError(
    `Cannot use --metrics "${text}": it wants a port, as 9150, or ADDRESS:PORT, as 0.0.0.0:9150`,
  );
}

/** What the options say about it. */
export function readMetrics(settings: Settings): MetricsPlace | undefined {
  const text = settings.text("metrics");
  return text === undefined ? undefined : parseMetrics(text);
}

/** A line about connections that cannot be accepted. */
export function metricsTrouble(why: string): string {
  return `blocksweep: --metrics: a connection cannot be accepted (${why}): tried again`;
}

/** A page is rendered at most so often, milliseconds: of ten thousand servers it takes some 30 ms. */
const PAGE_MS = 1000;

/**
 * Serves them under `/metrics` until it is disposed of.
 *
 * @param collect Called at most once a second.
 * @param onTrouble Told why connections cannot be accepted.
 * @throws InputError where it cannot listen; Deno.errors.NotCapable.
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
    answer: (request) => respond(request, page),
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

/** The page, which is rendered anew where it is old. */
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
