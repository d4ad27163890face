/**
 * Requests of HTTP/1.0 and 1.1 (RFC 9110, RFC 9112).
 *
 * @module
 */

/** A request: its request line, its headers and its body. */
export interface HttpRequest {
  /** The request method, such as `GET`. */
  readonly method: string;
  /** The path, without a query. */
  readonly path: string;
  /** The query of the URL, decoded. */
  readonly query: URLSearchParams;
  /** The query of the URL, encoded, with its `?`; empty without one. */
  readonly search: string;
  /** The requested host, without a port; `undefined` if an HTTP/1.0 client sends none. */
  readonly host: string | undefined;
  /** The headers by their names in lower case. The values of a repeated one have commas between them. */
  readonly headers: ReadonlyMap<string, string>;
  /** Whether the client allows a further request on the connection. */
  readonly keepsAlive: boolean;
  /** The size of the body, bytes; `undefined`: the body has no length, but chunks. */
  readonly bodyLength: number | undefined;
  /** The body; empty if the server reads no bodies. */
  readonly body: Uint8Array;
  /** The version of HTTP is 1.`minorVersion`. */
  readonly minorVersion: number;
}

const REQUEST_LINE = /^([!#$%&'*+.^_`|~\w-]+) (\S+) HTTP\/1\.([01])$/;
const HEADER = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/;
const NO_BODY = new Uint8Array();

/**
 * Reads a request line and its headers.
 *
 * @param head The bytes before the empty line.
 * @returns 400 for an invalid request.
 *
 * @example
 * ```ts
 * import { parseRequest } from "./http_request.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const read = (text: string) => parseRequest(new TextEncoder().encode(text));
 * assertEquals(read("GET /metrics?x=1 HTTP/1.1\r\nHost: A:9150"), {
 *   method: "GET",
 *   path: "/metrics",
 *   query: new URLSearchParams("x=1"),
 *   search: "?x=1",
 *   host: "a",
 *   headers: new Map([["host", "A:9150"]]),
 *   keepsAlive: true,
 *   bodyLength: 0,
 *   body: new Uint8Array(),
 *   minorVersion: 1,
 * });
 * assertEquals(read("GET /metrics HTTP/1.1\r\nHost: ["), 400);
 * ```
 */
export function parseRequest(head: Uint8Array): HttpRequest | 400 {
  const [line, ...lines] = LATIN_1.decode(head).split("\r\n");
  const [, method, target, minor] = REQUEST_LINE.exec(line) ?? [];
  const headers = parseHeaders(lines);
  if (method === undefined || headers === undefined) return 400;
  const field = headers.get("host");
  if (field === undefined ? minor !== "0" : !isHost(field)) return 400;
  // In absolute form, which proxies send, the target names the host (RFC 9112, 3.2.2).
  const isAbsolute = /^https?:\/\//i.test(target);
  if (!isAbsolute && !target.startsWith("/")) return 400;
  const url = URL.parse(isAbsolute ? target : `http://a${target}`);
  const length = bodyLengthOf(headers);
  if (url === null || length === 400) return 400;
  return {
    method,
    path: url.pathname,
    query: url.searchParams,
    search: url.search,
    host: isAbsolute ? url.hostname : hostOf(field),
    headers,
    keepsAlive: minor === "1" &&
      !/(?:^|,)\s*close\s*(?:,|$)/i.test(headers.get("connection") ?? ""),
    bodyLength: length,
    body: NO_BODY,
    minorVersion: Number(minor),
  };
}

/** The name or address of a `Host` header, without a port. */
function hostOf(field: string | undefined): string | undefined {
  return field === undefined ? undefined : URL.parse(`http://${field}/`)?.hostname ?? "";
}

/** The length of the body. With a length and chunks, a proxy may see another body (RFC 9112, 6.3). */
function bodyLengthOf(headers: ReadonlyMap<string, string>): number | undefined | 400 {
  const [length, coding] = [headers.get("content-length"), headers.get("transfer-encoding")];
  if (length === undefined) return coding === undefined ? 0 : undefined;
  return coding === undefined && /^\d{1,15}$/.test(length) ? Number(length) : 400;
}

/** Parses header lines; `undefined` for an invalid one, and for two hosts. */
function parseHeaders(lines: readonly string[]): Map<string, string> | undefined {
  const headers = new Map<string, string>();
  for (const header of lines) {
    const [, written, value] = HEADER.exec(header) ?? [];
    if (written === undefined) return undefined;
    const name = written.toLowerCase();
    const before = headers.get(name);
    if (before !== undefined && name === "host") return undefined;
    headers.set(name, before === undefined ? value.trim() : `${before}, ${value.trim()}`);
  }
  return headers;
}

const LATIN_1 = new TextDecoder("latin1");

/** `host`, `host:port`, `[v6]:port`, or nothing (RFC 9110, 7.2). */
function isHost(text: string): boolean {
  return text === "" || !/[/\\?#@\s]/.test(text) && URL.canParse(`http://${text}/`);
}
