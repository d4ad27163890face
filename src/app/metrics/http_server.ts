/**
 * A small HTTP server whose clients cannot use up the program's descriptors or memory. It limits
 * the number and the duration of connections and the size of requests. `Deno.serve()` has no such
 * limits.
 *
 * Each connection serves one request: `GET` or `HEAD` of HTTP/1.0 or 1.1 (RFC 9110, RFC 9112). The
 * request's body is not read.
 *
 * A server on loopback responds only to requests for loopback: a web page under a name that resolves to
 * loopback (DNS rebinding) cannot read the response.
 *
 * @module
 */
import { isLoopback, parseAddress } from "../../core/address.ts";
import { type Clock, sleep } from "../../net/clock.ts";

/** Maximum number of open connections. */
export const MOST_CONNECTIONS = 32;
/** How long a request may take to arrive, and a response to be read, milliseconds. */
export const REQUEST_MS = 10_000;
/** How long the client has to close its end after the response, milliseconds. */
const LINGER_MS = 1000;
/** At the maximum, a new connection replaces the oldest one if it is older than this, milliseconds. */
const OLD_MS = 1000;
/** Maximum size of a request line and its headers, bytes. */
const MOST_HEAD = 8192;
/** How long to wait after a connection could not be accepted, milliseconds. */
const RETRY_MS = 1000;

/** The request line and the headers of an HTTP request. */
export interface HttpRequest {
  /** The request method, such as `GET`. */
  readonly method: string;
  /** The path, without a query. */
  readonly path: string;
  /** The query of the URL, decoded. */
  readonly query: URLSearchParams;
  /** The requested host, without a port; `undefined` if an HTTP/1.0 client sends none. */
  readonly host: string | undefined;
  /** The headers by their names in lower case. The values of a repeated one have commas between them. */
  readonly headers: ReadonlyMap<string, string>;
}

/** The response to a request. */
export interface HttpResponse {
  readonly status: keyof typeof REASONS;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer>;
}

const REASONS = {
  200: "OK",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  421: "Misdirected Request",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  503: "Service Unavailable",
} as const;

/** Options of an HTTP server. */
export interface HttpServerOptions {
  /**
   * Returns the response to a valid request. The promise must settle in a bounded time, and must
   * not reject.
   */
  readonly respond: (request: HttpRequest) => HttpResponse | Promise<HttpResponse>;
  /** The clock of timeouts and retries. */
  readonly clock: Clock;
  /** Receives the reason why connections cannot be accepted, once at the start of each failure. */
  readonly onTrouble: (reason: string) => void;
}

/** An HTTP server that runs until it is disposed. */
export class HttpServer implements AsyncDisposable {
  /** Open connections and the time they were accepted, the oldest first. */
  readonly #open = new Map<Deno.TcpConn, number>();
  readonly #ended = new AbortController();
  readonly #accepting: Promise<void>;

  /** @param listener Closed when the server is disposed of. */
  constructor(
    private readonly listener: Deno.TcpListener,
    private readonly options: HttpServerOptions,
  ) {
    this.#accepting = this.#accept();
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#open.size;
  }

  async #accept(): Promise<void> {
    const { clock, onTrouble } = this.options;
    const { signal } = this.#ended;
    let isReported = false;
    while (!signal.aborted) {
      try {
        this.#take(await this.listener.accept());
        isReported = false;
      } catch (error) {
        if (signal.aborted) return;
        if (!isReported) onTrouble((error as Error).message); // for example no descriptors: a temporary failure
        isReported = true;
        await sleep(clock, RETRY_MS, signal);
      }
    }
  }

  #take(conn: Deno.TcpConn): void {
    const now = this.options.clock.now();
    if (this.#open.size >= MOST_CONNECTIONS) {
      const [[oldest, since]] = this.#open;
      if (now - since < OLD_MS) return conn.close();
      this.#close(oldest);
    }
    this.#open.set(conn, now);
    void this.#serve(conn).finally(() => this.#close(conn));
  }

  /** Closes a connection: pending reads and writes on it fail. */
  #close(conn: Deno.TcpConn): void {
    if (this.#open.delete(conn)) conn.close();
  }

  async #serve(conn: Deno.TcpConn): Promise<void> {
    const head = await this.#within(REQUEST_MS, readHead(conn)) ?? 408;
    if (head === "closed") return;
    const request = typeof head === "number" ? head : parseRequest(head);
    const response = typeof request === "number"
      ? refusal(request)
      : this.#isFor(request)
      ? await this.options.respond(request)
      : refusal(421, "this server is on loopback: request localhost or a loopback address");
    const isHead = typeof request === "object" && request.method === "HEAD";
    await this.#within(REQUEST_MS, writeAll(conn, encodeResponse(response, isHead)));
    await this.#within(LINGER_MS, drain(conn));
  }

  /** Whether the requested host is allowed: a server on loopback accepts only loopback names. */
  #isFor({ host }: HttpRequest): boolean {
    return host === undefined || !isLocal(this.listener.addr.hostname) || isLoopbackName(host);
  }

  /** The result of a promise; `undefined` after a timeout or a failure. */
  async #within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const cancel = this.options.clock.after(ms, () => resolve(undefined));
    try {
      return await Promise.race([work.catch(() => undefined), promise]);
    } finally {
      cancel();
    }
  }

  /** Closes all connections at once, so that slow clients do not delay the shutdown. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    this.listener.close();
    for (const conn of [...this.#open.keys()]) this.#close(conn);
    await this.#accepting;
  }
}

const END = [13, 10, 13, 10];

/**
 * The bytes of a request up to the empty line, or the status of an error response. Empty lines
 * before the request are skipped (RFC 9112, 2.2).
 */
async function readHead(conn: Deno.TcpConn): Promise<Uint8Array | "closed" | 400 | 431> {
  const head = new Uint8Array(MOST_HEAD);
  let start = 0;
  for (let length = 0; length < MOST_HEAD;) {
    const size = await conn.read(head.subarray(length));
    if (size === null) return length === 0 ? "closed" : 400;
    const from = length - 3;
    length += size;
    while (start + 2 <= length && head[start] === 13 && head[start + 1] === 10) start += 2;
    for (let i = Math.max(start, from); i + 4 <= length; i++) {
      if (END.every((byte, j) => head[i + j] === byte)) return head.subarray(start, i);
    }
  }
  return 431;
}

const REQUEST_LINE = /^([!#$%&'*+.^_`|~\w-]+) (\S+) HTTP\/1\.([01])$/;
const HEADER = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/;

/**
 * Reads a request line and its headers.
 *
 * @param head The bytes before the empty line.
 * @returns 400 for an invalid request.
 *
 * @example
 * ```ts
 * import { parseRequest } from "./http_server.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const read = (text: string) => parseRequest(new TextEncoder().encode(text));
 * assertEquals(read("GET /metrics?x=1 HTTP/1.1\r\nHost: A:9150"), {
 *   method: "GET",
 *   path: "/metrics",
 *   query: new URLSearchParams("x=1"),
 *   host: "a",
 *   headers: new Map([["host", "A:9150"]]),
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
  if (url === null) return 400;
  const host = isAbsolute
    ? url.hostname
    : field === undefined
    ? undefined
    : URL.parse(`http://${field}/`)?.hostname ?? "";
  return { method, path: url.pathname, query: url.searchParams, host, headers };
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

/**
 * Whether a host, in the form of `URL.hostname`, is `localhost` (RFC 6761, 6.3) or a loopback
 * address.
 */
function isLoopbackName(host: string): boolean {
  if (/^(?:[^.]+\.)*localhost\.?$/.test(host)) return true;
  return isLocal(host.replace(/^\[(.*)\]$/, "$1"));
}

/** Whether a text is a loopback address, IPv4-mapped IPv6 (RFC 4291, 2.5.5.2) included. */
function isLocal(text: string): boolean {
  const address = parseAddress(text);
  if (typeof address === "bigint" && address >> 32n === 0xffffn) {
    return isLoopback(Number(address & 0xffffffffn));
  }
  return address !== undefined && isLoopback(address);
}

function refusal(status: keyof typeof REASONS, line: string = REASONS[status]): HttpResponse {
  return { status, body: new TextEncoder().encode(`${line}\n`) };
}

function encodeResponse({ status, headers, body }: HttpResponse, isHead: boolean): Uint8Array[] {
  const fields = Object.entries({
    "content-type": "text/plain; charset=utf-8",
    ...headers,
    "content-length": String(body.length),
    connection: "close",
  });
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const head = new TextEncoder().encode(`HTTP/1.1 ${status} ${REASONS[status]}\r\n${lines}\r\n`);
  return isHead ? [head] : [head, body];
}

async function writeAll(conn: Deno.TcpConn, parts: readonly Uint8Array[]): Promise<void> {
  for (let bytes of parts) {
    while (bytes.length > 0) bytes = bytes.subarray(await conn.write(bytes));
  }
  await conn.closeWrite();
}

/**
 * Reads what the client sends until it closes the connection, within bounds. If the server closed the
 * connection before, the system would reset it, and the client might lose the response.
 */
async function drain(conn: Deno.TcpConn): Promise<void> {
  const buffer = new Uint8Array(MOST_HEAD);
  for (let reads = 0; reads < 16 && await conn.read(buffer) !== null;) reads++;
}
