/**
 * The messages of a NetherNet status over HTTP/1.1: one request and one reply on TCP port 19132, in
 * the clear or over TLS.
 *
 *     GET /v1/join HTTP/1.1        HTTP/1.1 200 OK
 *     Host: host:port              Content-Type: application/json
 *     User-Agent: blocksweep       Content-Length: 128
 *     Accept: application/json     Connection: close
 *     Connection: close
 *                                  {"name":"Dedicated Server","protocol":2193, ... }
 *
 * Every line ends with CR LF. `Host` is what a player types: some servers have a status for each
 * name. The request opens no WebRTC connection: only an offer (POST) does, and blocksweep sends none.
 *
 * Sources: Mojang/bedrock-protocol-docs, NetherNetOnboardingGuide.md; captures of Bedrock Dedicated
 * Server 1.26.50 to 1.26.60 by the makers of mc_dualstack_check and acacia.
 *
 * @module
 */
import { concat, Malformed, Truncated } from "../../core/bytes.ts";
import { decodeLatin1, encodeLatin1, oneLine } from "../../core/text.ts";
import { headerOf, HttpReplyReader } from "./http_reply.ts";
import type { HttpReply } from "./http_reply.ts";

/** The path of the request. */
const PATH = "/v1/join";
/** The lines of a request after its `Host`. */
const REQUEST_END =
  "\r\nUser-Agent: blocksweep\r\nAccept: application/json\r\nConnection: close\r\n\r\n";
/** Maximum number of bytes of a request that is decoded. */
const MAX_REQUEST = 8192;

/** A request for a status. */
export interface StatusRequest {
  /** The `Host` header: a name or an address, and the port. An IPv6 address is in brackets. */
  readonly host: string;
}

/**
 * Encodes a request for a status.
 *
 * @throws TypeError when the host contains a character that may not occur in a `Host` header.
 *
 * @example
 * ```ts
 * import { nethernet } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * const request = nethernet.encodeStatusRequest({ host: "192.0.2.7:19132" });
 * assertEquals(request.length, 117);
 * assertEquals(nethernet.decodeStatusRequest(request), { host: "192.0.2.7:19132" });
 * ```
 */
export function encodeStatusRequest({ host }: StatusRequest): Uint8Array<ArrayBuffer> {
  if (!/^[!-~]*$/.test(host)) {
    throw new TypeError(`Cannot encode the host "${oneLine(host)}": expected printable ASCII`);
  }
  return encodeLatin1(`GET ${PATH} HTTP/1.1\r\nHost: ${host}${REQUEST_END}`);
}

/**
 * Decodes a request for a status, of any client. The path may have parameters, as clients from
 * 1.26.60 on send them.
 *
 * @returns `undefined` for another request.
 * @throws Truncated when the empty line after the headers is missing.
 * @throws Malformed when the request has no `Host`.
 */
export function decodeStatusRequest(bytes: Uint8Array): StatusRequest | undefined {
  const text = decodeLatin1(bytes.subarray(0, MAX_REQUEST));
  const [line, ...headers] = text.split("\r\n");
  const start = `GET ${PATH}`;
  if (!line.startsWith(start.slice(0, line.length))) return undefined;
  const end = headers.indexOf("");
  if (end < 0 || end === headers.length - 1) {
    throw new Truncated("the end of the headers", bytes.length, 2, 0);
  }
  if (!/^GET \/v1\/join(?:\?[!-~]*)? HTTP\/1\.[01]$/.test(line)) return undefined;
  const host = headers.slice(0, end).map((header) => /^host:[ \t]*([!-~]+)[ \t]*$/i.exec(header))
    .find((match) => match !== null)?.[1];
  if (host === undefined) throw new Malformed("a request without a host", 0);
  return { host };
}

/** A reply to encode. */
export type NewReply = Pick<HttpReply, "version" | "status" | "reason" | "headers" | "body">;

/**
 * Encodes a reply with exactly these headers. If one of them says that the body is in chunks, it is
 * written as one chunk.
 */
export function encodeHttpReply(
  { version, status, reason, headers, body }: NewReply,
): Uint8Array<ArrayBuffer> {
  const lines = headers.map(({ name, value }) => `${name}: ${value}\r\n`);
  const head = `HTTP/1.${version} ${status} ${reason}\r\n${lines.join("")}\r\n`;
  const isChunked = headerOf({ headers }, "transfer-encoding")?.toLowerCase() === "chunked";
  return concat(encodeLatin1(head), ...(isChunked ? chunksOf(body) : [body]));
}

/** A body as one chunk, and the last chunk, which is empty. */
function chunksOf(body: Uint8Array): readonly Uint8Array[] {
  const last = encodeLatin1("0\r\n\r\n");
  if (body.length === 0) return [last];
  return [encodeLatin1(`${body.length.toString(16)}\r\n`), body, encodeLatin1("\r\n"), last];
}

/**
 * Decodes a reply that arrived whole, up to the end of its connection.
 *
 * @throws Truncated when the reply ends inside the headers, its body or a chunk.
 * @throws Malformed when it is no HTTP reply, or exceeds a limit of {@linkcode HTTP_LIMITS}.
 *
 * @example
 * ```ts
 * import { nethernet } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * const text = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK";
 * const reply = nethernet.decodeHttpReply(new TextEncoder().encode(text));
 * assertEquals([reply.status, reply.body.length], [200, 2]);
 * ```
 */
export function decodeHttpReply(bytes: Uint8Array): HttpReply {
  const reader = new HttpReplyReader();
  return reader.push(bytes) ?? reader.close();
}
