/**
 * Responses of HTTP/1.1, and how they are written to a connection.
 *
 * @module
 */

/** The statuses of responses, and their reason phrases. */
export const REASONS = {
  200: "OK",
  303: "See Other",
  304: "Not Modified",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  411: "Length Required",
  413: "Content Too Large",
  421: "Misdirected Request",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  503: "Service Unavailable",
} as const;

export type HttpStatus = keyof typeof REASONS;

/** A response with a body of known size. */
export interface WholeResponse {
  readonly status: HttpStatus;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** A response whose parts are sent as they are produced. */
export interface StreamedResponse {
  readonly status: HttpStatus;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Produces the body. The stream has to end when the signal is aborted: the client has closed the
   * connection, or the server ends. If the stream throws, the connection is closed before the end of the
   * body.
   */
  readonly stream: (signal: AbortSignal) => AsyncIterable<Uint8Array>;
  /** Called at the end of the response, also if it ends before its stream begins. */
  readonly onEnd?: () => void;
}

export type HttpResponse = WholeResponse | StreamedResponse;

/** A line of text as a response. */
export function lineResponse(status: HttpStatus, line: string = REASONS[status]): WholeResponse {
  return { status, body: new TextEncoder().encode(`${line}\n`) };
}

/** How the body of a response is delimited, and what follows it. */
export interface Framing {
  /** The request was `HEAD`: the response has no body. */
  readonly isHead: boolean;
  /** The connection serves a further request. */
  readonly keepsAlive: boolean;
  /** A stream is sent in chunks, else up to the end of the connection. */
  readonly isChunked: boolean;
}

/** Encodes the status line and the headers. */
export function encodeHead(response: HttpResponse, framing: Framing): Uint8Array {
  const { status, headers } = response;
  const fields = Object.entries({
    "content-type": "text/plain; charset=utf-8",
    ...headers,
    ...("stream" in response
      ? framing.isChunked ? { "transfer-encoding": "chunked" } : {}
      : status === 304
      ? {}
      : { "content-length": String(response.body.length) }),
    connection: framing.keepsAlive ? "keep-alive" : "close",
  });
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return new TextEncoder().encode(`HTTP/1.1 ${status} ${REASONS[status]}\r\n${lines}\r\n`);
}

/** Encodes a whole response in one part, or a stream's head. */
export function encodeResponse(response: HttpResponse, framing: Framing): Uint8Array {
  const head = encodeHead(response, framing);
  if (framing.isHead || "stream" in response || response.status === 304) return head;
  const bytes = new Uint8Array(head.length + response.body.length);
  bytes.set(head);
  bytes.set(response.body, head.length);
  return bytes;
}

/** Encodes bytes of a stream as a chunk (RFC 9112, 7.1). */
export function encodeChunk(bytes: Uint8Array): Uint8Array {
  const size = new TextEncoder().encode(`${bytes.length.toString(16)}\r\n`);
  const chunk = new Uint8Array(size.length + bytes.length + 2);
  chunk.set(size);
  chunk.set(bytes, size.length);
  chunk.set([13, 10], size.length + bytes.length);
  return chunk;
}

/** The end of a stream of chunks. */
export const LAST_CHUNK = new TextEncoder().encode("0\r\n\r\n");
