/**
 * Serving numbers to those who collect them: `--metrics`.
 *
 * @module
 */
import { formatAddress, parseAddress } from "../address.ts";
import { InputError } from "../errors.ts";
import { exposition, EXPOSITION_TYPE, type Family } from "./exposition.ts";
import { reason } from "./console.ts";
import type { Settings } from "./values.ts";

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
 * import { parseMetrics } from "./metrics.ts";
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

/**
 * Serves them under `/metrics` until it is disposed of.
 *
 * @param collect Called for each request.
 * @throws InputError where it cannot listen; Deno.errors.NotCapable.
 */
export function serveMetrics(
  { hostname, port }: MetricsPlace,
  collect: () => readonly Family[],
): AsyncDisposable {
  const controller = new AbortController();
  const { signal } = controller;
  try {
    const server = Deno.serve({ hostname, port, signal, onListen: () => {} }, ({ method, url }) => {
      if (new URL(url).pathname !== "/metrics") {
        return new Response("see /metrics\n", { status: 404 });
      }
      if (method !== "GET" && method !== "HEAD") {
        return new Response("GET it\n", { status: 405, headers: { allow: "GET, HEAD" } });
      }
      return new Response(exposition(collect()), { headers: { "content-type": EXPOSITION_TYPE } });
    });
    return {
      async [Symbol.asyncDispose]() {
        controller.abort(); // whoever reads slowly does not hold up the end
        await server.finished;
      },
    };
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    const where = hostname.includes(":") ? `[${hostname}]` : hostname;
    throw new InputError(`Cannot serve metrics on ${where}:${port}: ${reason(error)}`);
  }
}
