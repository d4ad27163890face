/**
 * The page of `/metrics`: rendered at most once a second, and compressed for clients that accept it.
 *
 * @module
 */
import { nodeZlib } from "../../core/node_modules.ts";
import type { Clock } from "../../net/clock.ts";
import { acceptsGzip } from "../http/accepts_gzip.ts";
import type { HttpRequest } from "../http/http_request.ts";
import type { WholeResponse } from "../http/http_response.ts";
import { EXPOSITION_TYPE, type Family, prometheusText } from "./prometheus_text.ts";

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

/** A page of metrics. */
export class MetricsPage {
  #plain: Uint8Array<ArrayBuffer> | undefined;
  #gzipped: Uint8Array<ArrayBuffer> | undefined;
  #renderedAt = -Infinity;

  /** @param collect Returns the metric families with their current values. */
  constructor(
    private readonly collect: () => readonly Family[],
    private readonly clock: Pick<Clock, "now">,
  ) {}

  /** The response to a request for the page. */
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
