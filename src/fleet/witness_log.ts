/**
 * The witness log of a fleet: each datagram and each TCP connection, in both directions, as one JSON
 * object per line. It records the traffic of a scanner independently of the scanner's counters.
 *
 * @module
 */
import { type Endpoint, formatEndpoint } from "../core/address.ts";
import { WriteError } from "../sinks/sink.ts";
import type { StreamEvent } from "./simulate/network/tcp_connection.ts";

/** One datagram, or one event of a connection: open, bytes in one direction, closed. */
export interface WitnessLine {
  /** Time of the event, milliseconds of the fleet's clock. */
  readonly at: number;
  /** Direction, seen from the fleet. */
  readonly way: "in" | "out";
  /** `host:port` of the fleet's host. */
  readonly host: string;
  /** `host:port` of the peer. */
  readonly peer: string;
  /** Whether simulated loss dropped the datagram. */
  readonly lost: boolean;
  /** The first bytes, hexadecimal: at most 64 of a datagram, 300 of a connection. */
  readonly hex: string;
  /** Full size of the datagram or of the data, bytes. */
  readonly size: number;
  /** Number of the connection; `undefined` for datagrams. */
  readonly connection?: number;
  /** Opening or closing of the connection; `undefined` for bytes. */
  readonly event?: "open" | "closed";
}

/** Maximum number of logged bytes per datagram: more than any request has. */
const KEPT = 64;
/** Maximum number of logged bytes per stream event: more than the longest status request has. */
const KEPT_OF_STREAMS = 300;

/** Size of the write buffer, bytes. */
const CHUNK = 256 * 1024;

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
   * @param path The file, which is overwritten.
   */
  constructor(private readonly path: string) {
    this.#file = Deno.openSync(path, { write: true, create: true, truncate: true });
  }

  /** Aborts when the file cannot be written; its reason is the error. */
  get failed(): AbortSignal {
    return this.#failure.signal;
  }

  /** Logs a datagram, or data of a connection. */
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

  /** Logs an event of a connection. */
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

  /** Writes the buffer. After an error, nothing more is written. */
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
   * Writes the buffer and closes the file.
   *
   * @throws WriteError when the log is incomplete.
   */
  [Symbol.dispose](): void {
    this.flush();
    this.#file.close();
    if (this.#fault !== undefined) throw this.#fault;
  }
}
