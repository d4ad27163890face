/**
 * A small HTTP server whose clients cannot use up the program's descriptors or memory. It limits
 * the number and the duration of connections and the size of requests. `Deno.serve()` has no such
 * limits.
 *
 * A server on loopback responds only to requests for loopback: a web page under a name that resolves to
 * loopback (DNS rebinding) cannot read the response.
 *
 * @module
 */
import { type Clock, sleep } from "../../net/clock.ts";
import { lacksDescriptor } from "../../net/file_descriptors.ts";
import type { HttpRequest } from "./http_request.ts";
import {
  encodeChunk,
  encodeResponse,
  type HttpResponse,
  LAST_CHUNK,
  lineResponse,
  type StreamedResponse,
} from "./http_response.ts";
import { isLocal, isLoopbackName } from "./loopback_names.ts";
import { type RequestLimits, RequestReader } from "./request_reader.ts";

/** Default of {@linkcode HttpServerOptions.maxConnections}. */
export const MAX_CONNECTIONS = 32;
/** How long a request may take to arrive, and a response to be read, milliseconds. */
export const REQUEST_MS = 10_000;
/** How long the client may take to read a chunk of a stream, milliseconds. */
const CHUNK_MS = 60_000;
/** How long the client has to close its end after the last response, milliseconds. */
const LINGER_MS = 1000;
/** At the maximum, a new connection replaces the one idle the longest if that is longer than this, milliseconds. */
const OLD_MS = 1000;
/** Sizes of requests that have no body. */
const LIMITS: RequestLimits = { maxHead: 8192, maxBody: 0 };
/** How long to wait after a connection could not be accepted, milliseconds. */
const RETRY_MS = 1000;

export interface HttpServerOptions {
  /**
   * Returns the response to a valid request. The promise must settle in a bounded time, and must
   * not reject.
   *
   * @param local The address of the server to which the client has connected.
   * @param peer The address of the client, or of a proxy.
   */
  readonly respond: (
    request: HttpRequest,
    local: string,
    peer: string,
  ) => HttpResponse | Promise<HttpResponse>;
  /** The clock of timeouts and retries. */
  readonly clock: Clock;
  /** Receives the reason why connections cannot be accepted, once at the start of each failure. */
  readonly onTrouble: (reason: string) => void;
  /** Maximum number of open connections. Default: {@linkcode MAX_CONNECTIONS}. */
  readonly maxConnections?: number;
  /** Sizes of requests. Default: 8 KiB without a body. */
  readonly limits?: RequestLimits;
  /**
   * How long a connection may be idle between two requests, milliseconds. Default: a connection serves
   * one request.
   */
  readonly idleMs?: number;
  /**
   * Whether a request for a host is served. Default: a server on loopback serves only requests for
   * loopback.
   */
  readonly servesAnyHost?: boolean;
}

/** A connection. */
interface Open {
  /** Since when the connection has been open, or has waited for a further request. */
  since: number;
  /** Ends the stream that is sent on the connection. */
  readonly ended: AbortController;
  /** Whether a request is answered, or a stream is sent: new connections do not replace this one. */
  isBusy: boolean;
}

/** An HTTP server that runs until it is disposed. */
export class HttpServer implements AsyncDisposable {
  /** Open connections, the one idle the longest first. */
  readonly #open = new Map<Deno.TcpConn, Open>();
  readonly #ended = new AbortController();
  readonly #accepting: Promise<void>;
  readonly #serving = new Set<Promise<void>>();

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
        if (lacksDescriptor(error) && this.#closeIdlest(0)) {
          await clock.yieldToEvents(); // the descriptor is free when the pending read has failed
          continue;
        }
        if (!isReported) onTrouble((error as Error).message);
        isReported = true;
        await sleep(clock, RETRY_MS, signal);
      }
    }
  }

  #take(conn: Deno.TcpConn): void {
    const now = this.options.clock.now();
    const isFull = this.#open.size >= (this.options.maxConnections ?? MAX_CONNECTIONS);
    if (isFull && !this.#closeIdlest(OLD_MS)) return conn.close();
    const open = { since: now, ended: new AbortController(), isBusy: false };
    this.#open.set(conn, open);
    conn.setNoDelay(); // chunks of a stream are not held back
    const serving = this.#serve(conn, open).finally(() => {
      this.#close(conn);
      this.#serving.delete(serving);
    });
    this.#serving.add(serving);
  }

  /**
   * Closes the connection that is idle the longest. Whether one has been idle for `ms` milliseconds. A
   * request that has not arrived whole leaves its connection idle: it costs the client nothing.
   */
  #closeIdlest(ms: number): boolean {
    const idle = [...this.#open].find(([, { isBusy }]) => !isBusy);
    if (idle === undefined || this.options.clock.now() - idle[1].since < ms) return false;
    this.#close(idle[0]);
    return true;
  }

  /** Closes a connection: pending reads and writes on it fail. */
  #close(conn: Deno.TcpConn): void {
    const open = this.#open.get(conn);
    if (open === undefined) return;
    this.#open.delete(conn);
    open.ended.abort();
    conn.close();
  }

  async #serve(conn: Deno.TcpConn, open: Open): Promise<void> {
    const { limits = LIMITS, idleMs } = this.options;
    const reader = new RequestReader(conn, limits);
    let wait = REQUEST_MS;
    do {
      const request = await this.#within(wait, reader.read()) ??
        (reader.isIdle && wait === idleMs ? "closed" : 408);
      if (request === "closed" || open.ended.signal.aborted) return;
      if (!await this.#reply(conn, open, request)) break;
      wait = idleMs ?? 0;
      this.#beIdle(conn, open);
    } while (this.#open.has(conn));
    await this.#within(LINGER_MS, conn.closeWrite());
    await this.#within(LINGER_MS, drain(conn, limits.maxHead));
  }

  /** Notes that a connection is idle from now on. */
  #beIdle(conn: Deno.TcpConn, open: Open): void {
    open.isBusy = false;
    open.since = this.options.clock.now();
    if (this.#open.delete(conn)) this.#open.set(conn, open);
  }

  /** Sends the response to a request. Whether the connection serves a further one. */
  async #reply(
    conn: Deno.TcpConn,
    open: Open,
    request: HttpRequest | 400 | 408 | 411 | 413 | 431,
  ): Promise<boolean> {
    const [local, peer] = [conn.localAddr, conn.remoteAddr].map((one) =>
      (one as Deno.NetAddr).hostname
    );
    open.isBusy = true;
    const response = typeof request === "number"
      ? lineResponse(request)
      : this.#isFor(request)
      ? await this.options.respond(request, local, peer)
      : lineResponse(421, "this server is on loopback: request localhost or a loopback address");
    this.#beIdle(conn, open); // a client may read slowly: that does not keep others out
    try {
      return await this.#send(conn, open, request, response);
    } finally {
      if ("stream" in response) response.onEnd?.();
    }
  }

  async #send(
    conn: Deno.TcpConn,
    open: Open,
    request: HttpRequest | number,
    response: HttpResponse,
  ): Promise<boolean> {
    const isHead = typeof request === "object" && request.method === "HEAD";
    const isChunked = typeof request === "object" && request.minorVersion === 1;
    const streams = "stream" in response && !isHead;
    const keepsAlive = !streams && this.#keepsAlive(request);
    const bytes = encodeResponse(response, { isHead, keepsAlive, isChunked });
    const isSent = await this.#within(REQUEST_MS, writeAll(conn, bytes));
    if (streams && isSent) await this.#stream(conn, open, response, isChunked);
    return keepsAlive && isSent === true;
  }

  #keepsAlive(request: HttpRequest | number): boolean {
    const { idleMs, limits = LIMITS } = this.options;
    if (idleMs === undefined || typeof request === "number" || !request.keepsAlive) return false;
    return limits.maxBody > 0 || request.bodyLength === 0;
  }

  /** Sends a stream. It ends when the client closes the connection, or reads nothing for a minute. */
  async #stream(
    conn: Deno.TcpConn,
    open: Open,
    { stream }: StreamedResponse,
    isChunked: boolean,
  ): Promise<void> {
    open.isBusy = true;
    // The client sends nothing more: the end of its bytes is the end of the connection.
    void drain(conn, LIMITS.maxHead).catch(() => {}).then(() => this.#close(conn));
    const { signal } = open.ended;
    try {
      for await (const chunk of stream(signal)) {
        if (signal.aborted) return;
        if (chunk.length === 0) continue;
        const bytes = isChunked ? encodeChunk(chunk) : chunk;
        if (!await this.#within(CHUNK_MS, writeAll(conn, bytes))) return this.#close(conn);
      }
    } catch {
      return this.#close(conn); // without the last chunk, the client notices that the body is not whole
    }
    if (isChunked) await this.#within(CHUNK_MS, writeAll(conn, LAST_CHUNK));
  }

  /** Whether the requested host is allowed: a server on loopback accepts only loopback names. */
  #isFor({ host }: HttpRequest): boolean {
    if (this.options.servesAnyHost || host === undefined) return true;
    return !isLocal(this.listener.addr.hostname) || isLoopbackName(host);
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
    await Promise.all(this.#serving);
  }
}

async function writeAll(conn: Deno.TcpConn, bytes: Uint8Array): Promise<true> {
  for (let rest = bytes; rest.length > 0;) rest = rest.subarray(await conn.write(rest));
  return true;
}

/**
 * Reads what the client sends until it closes the connection, within bounds. If the server closed the
 * connection before, the system would reset it, and the client might lose the response.
 */
async function drain(conn: Deno.TcpConn, size: number): Promise<void> {
  const buffer = new Uint8Array(size);
  for (let reads = 0; reads < 16 && await conn.read(buffer) !== null;) reads++;
}
