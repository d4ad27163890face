/**
 * Answers to requests: their content, how long clients may keep them, and their encoding.
 *
 * @module
 */
import { nodeCrypto, nodeZlib } from "../../core/node_modules.ts";
import {
  acceptsGzip,
  type HttpRequest,
  type HttpResponse,
  type HttpStatus,
} from "../../app/http/mod.ts";
import { jsonText } from "../../sinks/json.ts";

export interface Content {
  /** Default: 200. */
  readonly status?: HttpStatus;
  readonly contentType: string;
  readonly body: string | Uint8Array<ArrayBuffer>;
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * `forever`: the content of this URL never changes. A number: anybody may keep the content for so many
   * seconds. Default: clients ask each time, and get 304 while it is the same.
   */
  readonly cached?: "forever" | number;
}

/** A content that is sent as it is produced, see {@linkcode StreamedResponse}. */
export interface StreamedContent {
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly stream: (signal: AbortSignal) => AsyncIterable<Uint8Array>;
  readonly onEnd?: () => void;
}

export type Answer = Content | StreamedContent;

/** Bodies below this size are not compressed, bytes. */
const MIN_GZIP = 1000;
/** Types that compression makes smaller. */
const IS_TEXT = /^(?:text\/|application\/(?:json|x-ndjson)|image\/svg)/;

/** A JSON document. Characters that affect a terminal are escaped. */
export function jsonContent(value: unknown, status: HttpStatus = 200): Content {
  return { status, contentType: "application/json", body: `${jsonText(value)}\n` };
}

export function htmlContent(html: string, status: HttpStatus = 200): Content {
  return { status, contentType: "text/html; charset=utf-8", body: html };
}

/** The error of the JSON API. */
export function errorContent(status: HttpStatus, error: string, wanted: string | null): Content {
  return jsonContent({ error, wanted }, status);
}

/** Converts an answer into the response to a request. */
export function responseOf(
  answer: Answer,
  { headers }: Pick<HttpRequest, "headers">,
): HttpResponse {
  const common = { ...SECURITY_HEADERS, "content-type": answer.contentType };
  if ("stream" in answer) {
    return {
      status: 200,
      headers: { ...common, "cache-control": "no-store", ...answer.headers },
      stream: answer.stream,
      onEnd: answer.onEnd,
    };
  }
  const { status = 200, cached } = answer;
  const plain = typeof answer.body === "string"
    ? new TextEncoder().encode(answer.body)
    : answer.body;
  const more = { ...common, vary: "Accept-Encoding", ...answer.headers };
  const shared = typeof cached === "number" ? `public, max-age=${cached}` : undefined;
  if (status !== 200) {
    return { status, headers: { "cache-control": shared ?? "no-store", ...more }, body: plain };
  }
  const tag = `W/"${
    nodeCrypto().createHash("sha256").update(plain).digest("base64url").slice(0, 22)
  }"`;
  const control = cached === "forever"
    ? "private, max-age=31536000, immutable"
    : shared ?? "private, no-cache";
  const cacheable = { ...more, etag: tag, "cache-control": control };
  if (hasTag(headers.get("if-none-match"), tag)) {
    return { status: 304, headers: cacheable, body: new Uint8Array() };
  }
  const zips = plain.length >= MIN_GZIP && IS_TEXT.test(answer.contentType) &&
    acceptsGzip(headers.get("accept-encoding"));
  return zips
    ? {
      status,
      headers: { ...cacheable, "content-encoding": "gzip" },
      body: new Uint8Array(nodeZlib().gzipSync(plain)),
    }
    : { status, headers: cacheable, body: plain };
}

/** Whether a header `If-None-Match` names a tag: weak comparison (RFC 9110, 8.8.3.2). */
function hasTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  const tags = header.split(",").map((one) => one.trim().replace(/^W\//, ""));
  return tags.includes("*") || tags.includes(tag.slice(2));
}

/** What a page may load: its own files only. It has no inline scripts and styles. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

/** Headers of all responses of the dashboard. */
const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};
