/**
 * Reads one HTTP/1.1 reply from a stream, in chunks of any size. The peer is untrusted: the number of
 * bytes, headers and chunks is limited, and nothing is decompressed.
 *
 * A reply ends at its `Content-Length`, after its last chunk, or with the connection. A peer may keep
 * the connection open after a reply whose end it names.
 *
 * @module
 */
import { Malformed, Truncated } from "../../core/bytes.ts";
import { decodeLatin1 } from "../../core/text.ts";
import { StreamBuffer } from "../stream_buffer.ts";

export const HTTP_LIMITS = {
  /** Maximum number of bytes of the status line and headers, or of the trailers after chunks. */
  headBytes: 16_384,
  /** Maximum number of headers. */
  headers: 100,
  /** Maximum number of bytes of the body. */
  bodyBytes: 16_384,
  /** Maximum number of chunks. */
  chunks: 1024,
  /** Maximum number of bytes of the line that begins a chunk. */
  chunkLineBytes: 64,
} as const;

/** A header as sent, without white space around its value. */
export interface Header {
  /** The name, in the case in which it was sent. */
  readonly name: string;
  /** The value, Latin-1. */
  readonly value: string;
}

/** A reply. */
export interface HttpReply {
  /** The minor version: 0 or 1. */
  readonly version: number;
  /** The status, 100 to 999. */
  readonly status: number;
  /** The text after the status, Latin-1. */
  readonly reason: string;
  /** The headers in their order. */
  readonly headers: readonly Header[];
  /** The body, without the lines of chunks. */
  readonly body: Uint8Array;
  /** Anomalies that the reader found. */
  readonly flags: readonly (
    /** The end of the connection ends the body, so it may be incomplete. */
    | "noLength"
    /** Bytes follow the reply; they are ignored. */
    | "trailingBytes"
  )[];
}

/** An anomaly of a reply. */
export type HttpFlag = HttpReply["flags"][number];

/** The value of the first header with a name in lower case; `undefined`: there is none. */
export function headerOf({ headers }: Pick<HttpReply, "headers">, name: string) {
  return headers.find((header) => header.name.toLowerCase() === name)?.value;
}

type Head = Omit<HttpReply, "body" | "flags">;

const START = "HTTP/1.";
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Reads one reply. After an error or a reply it must not be used again. */
export class HttpReplyReader {
  readonly #inbox = new StreamBuffer();
  /** Number of bytes at the start of the inbox in which no line ends. */
  #searched = 0;
  #lines: string[] = [];
  /** Number of bytes of the lines of the head or the trailers. */
  #lineBytes = 0;
  #head: Head | undefined;
  /** How the body ends; for `chunks`, which part of a chunk is next. */
  #framing: "length" | "close" | "chunk size" | "chunk" | "chunk end" | "trailers" = "close";
  /** Number of bytes that the body or the chunk still lacks. */
  #missing = 0;
  #chunks = 0;
  readonly #body = new StreamBuffer();

  /** Number of bytes that have arrived. */
  received = 0;

  /** The reply without its body, once the headers have arrived. */
  get head(): HttpReply | undefined {
    return this.#head && { ...this.#head, body: new Uint8Array(), flags: [] };
  }

  /**
   * Reads bytes.
   *
   * @returns The reply once it is complete.
   * @throws Malformed when the bytes are no HTTP reply, or exceed a limit.
   */
  push(bytes: Uint8Array): HttpReply | undefined {
    // Slices keep the inbox small, however many bytes arrive at once.
    for (let at = 0; at < bytes.length; at += HTTP_LIMITS.headBytes) {
      const slice = bytes.subarray(at, at + HTTP_LIMITS.headBytes);
      this.received += slice.length;
      this.#inbox.push(slice);
      const isComplete = this.#head === undefined ? this.#readHead() : this.#readBody();
      if (isComplete) {
        return this.#reply(this.#inbox.bytes.length > 0 || at + slice.length < bytes.length);
      }
    }
  }

  /**
   * Ends the reply at the end of its connection.
   *
   * @throws Truncated when the reply is incomplete.
   */
  close(): HttpReply {
    if (this.#head !== undefined && this.#framing === "close") return this.#reply(false);
    const what = this.#head === undefined ? "the headers" : "the body";
    throw new Truncated(`the rest of ${what}`, this.received, Math.max(1, this.#missing), 0);
  }

  #reply(hasTrailingBytes: boolean): HttpReply {
    const flags: HttpFlag[] = this.#framing === "close" ? ["noLength"] : [];
    if (hasTrailingBytes) flags.push("trailingBytes");
    return { ...this.#head!, body: this.#body.bytes.slice(), flags };
  }

  /** Reads lines up to the empty one; true if that completes the reply. */
  #readHead(): boolean {
    checkStart(this.#lines.length === 0 ? this.#inbox.bytes : undefined);
    if (!this.#readLines("headers")) return false;
    this.#head = parseHead(this.#lines);
    const framing = framingOf(this.#head);
    if (framing === "none") {
      this.#framing = "length";
      return true;
    }
    if (typeof framing === "number") [this.#framing, this.#missing] = ["length", framing];
    else this.#framing = framing;
    return this.#readBody();
  }

  /** Reads the body; true if it is complete. */
  #readBody(): boolean {
    for (;;) {
      switch (this.#framing) {
        case "close":
          this.#takeBody(this.#inbox.bytes.length);
          return false;
        case "length":
          this.#takeMissing();
          return this.#missing === 0;
        case "chunk size": {
          const line = this.#readLine(HTTP_LIMITS.chunkLineBytes, "the line of a chunk");
          if (line === undefined) return false;
          this.#startChunk(line);
          break;
        }
        case "chunk":
          this.#takeMissing();
          if (this.#missing > 0) return false;
          this.#framing = "chunk end";
          break;
        case "chunk end": {
          const line = this.#readLine(HTTP_LIMITS.chunkLineBytes, "the end of a chunk");
          if (line === undefined) return false;
          if (line !== "") throw new Malformed("an HTTP chunk of another size", this.received);
          this.#framing = "chunk size";
          break;
        }
        case "trailers":
          return this.#readLines("trailers");
      }
    }
  }

  #startChunk(line: string): void {
    const [digits] = /^[0-9a-f]{1,8}(?=[ \t]*(?:;|$))/i.exec(line) ?? [];
    if (digits === undefined) throw new Malformed("an HTTP chunk without a size", this.received);
    if (++this.#chunks > HTTP_LIMITS.chunks) throw tooMany("chunks", HTTP_LIMITS.chunks);
    this.#missing = parseInt(digits, 16);
    checkBodySize(this.#body.bytes.length + this.#missing);
    this.#framing = this.#missing > 0 ? "chunk" : "trailers";
    [this.#lines, this.#lineBytes] = [[], 0];
  }

  /** Moves bytes of the inbox to the body, at most as many as it lacks. */
  #takeMissing(): void {
    const size = Math.min(this.#missing, this.#inbox.bytes.length);
    this.#takeBody(size);
    this.#missing -= size;
  }

  #takeBody(size: number): void {
    checkBodySize(this.#body.bytes.length + size);
    this.#body.push(this.#inbox.bytes.subarray(0, size));
    this.#inbox.drop(size);
  }

  /** Reads lines up to the empty one; false while it has not arrived. */
  #readLines(what: "headers" | "trailers"): boolean {
    for (;;) {
      const line = this.#readLine(HTTP_LIMITS.headBytes, what, this.#lineBytes);
      if (line === undefined) return false;
      if (line === "" && (this.#lines.length > 0 || what === "trailers")) return true;
      this.#lineBytes += line.length + 2;
      this.#lines.push(line);
      if (this.#lines.length > HTTP_LIMITS.headers + 1) {
        throw tooMany("headers", HTTP_LIMITS.headers);
      }
    }
  }

  /**
   * Takes a line, without its end: CR LF or, as some software writes, LF.
   *
   * @param most Maximum number of bytes of the line, and of the lines before it that count.
   * @param before Number of bytes of the lines before it.
   */
  #readLine(most: number, what: string, before = 0): string | undefined {
    const { bytes } = this.#inbox;
    const end = bytes.indexOf(LINE_FEED, this.#searched);
    if (before + (end < 0 ? bytes.length : end + 1) > most) {
      throw new Malformed(`more than ${most} bytes of HTTP in ${what}`, this.received);
    }
    if (end < 0) {
      this.#searched = bytes.length;
      return undefined;
    }
    const size = end > 0 && bytes[end - 1] === CARRIAGE_RETURN ? end - 1 : end;
    const line = decodeLatin1(bytes.subarray(0, size));
    this.#inbox.drop(end + 1);
    this.#searched = 0;
    return line;
  }
}

function tooMany(what: string, most: number): Malformed {
  return new Malformed(`more than ${most} HTTP ${what}`, 0);
}

function checkBodySize(size: number): void {
  const most = HTTP_LIMITS.bodyBytes;
  if (size > most) throw new Malformed(`an HTTP body of more than ${most} bytes`, 0);
}

/** Rejects another protocol by its first bytes. */
function checkStart(bytes: Uint8Array | undefined): void {
  const start = decodeLatin1((bytes ?? new Uint8Array()).subarray(0, START.length));
  if (!START.startsWith(start)) throw new Malformed("bytes that are no HTTP reply", 0);
}

function parseHead([line, ...rest]: readonly string[]): Head {
  const match = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: (.*))?$/.exec(line);
  if (match === null) throw new Malformed("an HTTP status line", 0);
  const [, version, status, reason = ""] = match;
  const headers = rest.map(parseHeader);
  return { version: Number(version), status: Number(status), reason, headers };
}

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+(?=[ \t]*:)/;

function parseHeader(line: string): Header {
  const [name] = NAME.exec(line) ?? [];
  if (name === undefined) throw new Malformed("an HTTP header without a name", 0);
  return { name, value: line.slice(line.indexOf(":") + 1).trim() };
}

/** How the body ends; a number: its length; `none`: the reply has no body. */
function framingOf(head: Head): number | "none" | "close" | "chunk size" {
  const { status } = head;
  if (status < 200 || status === 204 || status === 304) return "none";
  const encoding = headerOf(head, "content-encoding")?.toLowerCase() ?? "identity";
  if (encoding !== "identity" && encoding !== "") throw new Malformed("a compressed HTTP body", 0);
  const transfer = headerOf(head, "transfer-encoding")?.toLowerCase();
  if (transfer === "chunked") return "chunk size";
  if (transfer !== undefined && transfer !== "identity") {
    throw new Malformed("an HTTP body in an unknown transfer encoding", 0);
  }
  const lengths = head.headers.filter(({ name }) => name.toLowerCase() === "content-length");
  if (lengths.length === 0) return "close";
  const [{ value }] = lengths;
  if (!/^\d+$/.test(value) || lengths.some((other) => other.value !== value)) {
    throw new Malformed("an HTTP body without a valid length", 0);
  }
  checkBodySize(Number(value));
  return Number(value);
}
