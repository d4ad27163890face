/**
 * The log of a fleet: every datagram that reached it and every one that it sent, and every
 * connection with all that was said on it, one JSON object per line. It sees what a scanner really
 * does.
 *
 * @module
 */
import { type Endpoint, formatEndpoint } from "../core/address.ts";
import { WriteError } from "../sinks/sink.ts";
import type { StreamEvent } from "./simulate/network/tcp_connection.ts";

/** One datagram, or one event of a connection: it opens, bytes go one way, one of the two closes. */
export interface WitnessLine {
  /** When, milliseconds of the fleet's clock. */
  readonly at: number;
  /** Whether it came in or went out. */
  readonly way: "in" | "out";
  /** The fleet's host. */
  readonly host: string;
  /** The other side. */
  readonly peer: string;
  /** Whether the fleet's faults lost it on the way. */
  readonly lost: boolean;
  /** Its bytes, at most the first 64, hexadecimal. */
  readonly hex: string;
  /** How many bytes it has. */
  readonly size: number;
  /** The number of the connection; missing for datagrams. */
  readonly connection?: number;
  /** What happened to the connection besides bytes. */
  readonly event?: "open" | "closed";
}

/** Bytes of a datagram that are kept: more than any request has. */
const KEPT = 64;
/** A status request with the longest name is kept in whole. */
const KEPT_OF_STREAMS = 300;

/** Where lines are gathered before they are written. */
const CHUNK = 256 * 1024;

/** Writes the log. */
export class WitnessLog implements Disposable {
  readonly #file: Deno.FsFile;
  readonly #encoder = new TextEncoder();
  readonly #failure = new AbortController();
  #fault: WriteError | undefined;
  #lines: string[] = [];
  #size = 0;

  /**
   * Opens the file.
   *
   * @param path The file; what it held is lost.
   */
  constructor(private readonly path: string) {
    this.#file = Deno.openSync(path, { write: true, create: true, truncate: true });
  }

  /** Set off when the file takes no more; its reason is why. */
  get failed(): AbortSignal {
    return this.#failure.signal;
  }

  /** Notes a datagram. */
  note(
    at: number,
    way: WitnessLine["way"],
    host: Endpoint,
    peer: Endpoint,
    datagram: Uint8Array,
    lost: boolean,
  ): void {
    this.#write({
      at,
      way,
      host: formatEndpoint(host),
      peer: formatEndpoint(peer),
      lost,
      hex: datagram.subarray(0, KEPT).toHex(),
      size: datagram.length,
    });
  }

  /** Notes what happens on a connection. */
  noteStream(
    at: number,
    connection: number,
    host: Endpoint,
    peer: Endpoint,
    { way, did }: StreamEvent,
  ): void {
    const bytes = typeof did === "string" ? new Uint8Array() : did;
    this.#write({
      at,
      way,
      host: formatEndpoint(host),
      peer: formatEndpoint(peer),
      lost: false,
      hex: bytes.subarray(0, KEPT_OF_STREAMS).toHex(),
      size: bytes.length,
      connection,
      ...(typeof did === "string" && { event: did }),
    });
  }

  #write(line: WitnessLine): void {
    if (this.#fault !== undefined) return;
    const text = JSON.stringify(line);
    this.#lines.push(text);
    this.#size += text.length;
    if (this.#size > CHUNK) this.flush();
  }

  /** Writes what was gathered. Where the file takes no more, the log ends there. */
  flush(): void {
    let bytes = this.#encoder.encode(this.#lines.map((line) => `${line}\n`).join(""));
    this.#lines = [];
    this.#size = 0;
    try {
      while (bytes.length > 0) bytes = bytes.subarray(this.#file.writeSync(bytes));
    } catch (error) {
      const { message } = error as Error;
      this.#fault ??= new WriteError(`Cannot write to "${this.path}": ${message}`, {
        cause: error,
      });
      this.#failure.abort(this.#fault);
    }
  }

  /**
   * Writes what was gathered and closes the file.
   *
   * @throws WriteError where the log is not whole.
   */
  [Symbol.dispose](): void {
    this.flush();
    this.#file.close();
    if (this.#fault !== undefined) throw this.#fault;
  }
}
