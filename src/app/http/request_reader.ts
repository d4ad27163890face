/**
 * Reads the requests of a connection, one after the other, with limits of their size.
 *
 * @module
 */
import { type HttpRequest, parseRequest } from "./http_request.ts";

/** Limits of a request's size. */
export interface RequestLimits {
  /** Maximum size of the request line and the headers, bytes. */
  readonly maxHead: number;
  /** Maximum size of the body, bytes; 0: bodies are not read. */
  readonly maxBody: number;
}

/** The status of the error response to a request that cannot be read. */
export type ReadFault = 400 | 411 | 413 | 431;

const END = [13, 10, 13, 10];

/** Reads requests. Bytes that follow a request are kept for the next one. */
export class RequestReader {
  #bytes: Uint8Array;
  #length = 0;

  constructor(
    private readonly conn: Pick<Deno.TcpConn, "read">,
    private readonly limits: RequestLimits,
  ) {
    this.#bytes = new Uint8Array(limits.maxHead);
  }

  /** Whether no byte of the next request has arrived. */
  get isIdle(): boolean {
    return this.#length === 0;
  }

  /** The next request; `closed`: the client has closed the connection. */
  async read(): Promise<HttpRequest | ReadFault | "closed"> {
    const head = await this.#readHead();
    if (typeof head !== "object") return head;
    const request = parseRequest(head);
    if (request === 400 || this.limits.maxBody === 0) return request;
    const { bodyLength } = request;
    if (bodyLength === undefined) return 411;
    if (bodyLength > this.limits.maxBody) return 413;
    const body = await this.#readBody(bodyLength);
    return body === undefined ? 400 : { ...request, body };
  }

  /**
   * The bytes of a request up to the empty line. Empty lines before the request are skipped (RFC 9112,
   * 2.2).
   */
  async #readHead(): Promise<Uint8Array | "closed" | 400 | 431> {
    let [start, looked] = [0, 0];
    for (;;) {
      const [head, length] = [this.#bytes, this.#length];
      while (start + 2 <= length && head[start] === 13 && head[start + 1] === 10) start += 2;
      for (let i = Math.max(start, looked); i + 4 <= length; i++) {
        if (!END.every((byte, j) => head[i + j] === byte)) continue;
        const found = head.slice(start, i);
        this.#drop(i + 4);
        return found;
      }
      looked = Math.max(0, length - 3);
      if (length >= this.limits.maxHead) return 431;
      if (!await this.#fill()) return length === 0 ? "closed" : 400;
    }
  }

  /** The next bytes; `undefined` if the client closes the connection before. */
  async #readBody(size: number): Promise<Uint8Array | undefined> {
    const body = new Uint8Array(size);
    let length = Math.min(size, this.#length);
    body.set(this.#bytes.subarray(0, length));
    this.#drop(length);
    while (length < size) {
      const read = await this.conn.read(body.subarray(length));
      if (read === null) return undefined;
      length += read;
    }
    return body;
  }

  /** Reads bytes; `false` at the end. */
  async #fill(): Promise<boolean> {
    const size = await this.conn.read(this.#bytes.subarray(this.#length));
    this.#length += size ?? 0;
    return size !== null;
  }

  #drop(size: number): void {
    this.#bytes.copyWithin(0, size, this.#length);
    this.#length -= size;
  }
}
