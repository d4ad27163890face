/**
 * A stream as a link: connected when something is to be sent, bounded in time and in bytes.
 *
 * @module
 */
import type { Endpoint } from "../core/address.ts";
import type { Clock } from "./clock.ts";
import { openWithRetries, type Shortage } from "./file_descriptors.ts";
import type { ConnectFailure, Dialer, Link, Stream, StreamEnd, StreamSide } from "./socket.ts";
import type { Throttle } from "./throttle.ts";

/** How long a peer may take, milliseconds, and how much it may say. */
export interface StreamLimits {
  /** To accept a connection. */
  readonly connectMs: number;
  /** From a question to the first byte that answers it. */
  readonly firstByteMs: number;
  /** From the connection to the last byte. */
  readonly totalMs: number;
  /** Bytes of one connection. */
  readonly mostBytes: number;
}

/** As long as real clients are patient; a status fits sixteen times into that many bytes. */
export const STREAM_LIMITS: StreamLimits = {
  connectMs: 3000,
  firstByteMs: 5000,
  totalMs: 10_000,
  mostBytes: 2 * 1024 * 1024,
};

/** What a link over a stream needs. */
export interface StreamLinkOptions {
  /** Opens connections. */
  readonly dialer: Dialer;
  /** When connections may be opened and questions leave: each counts as a datagram. */
  readonly throttle: Throttle;
  /** The clock. */
  readonly clock: Clock;
  /** What the peer may do. */
  readonly limits: StreamLimits;
  /** Ends everything. */
  readonly signal: AbortSignal;
  /** Told when the link was disposed of. */
  readonly onClose?: () => void;
  /** Told each time that there is no descriptor for a connection. */
  readonly onShortage?: () => void;
  /** What other connections know of the shortage. Default: nothing. */
  readonly shortage?: Shortage;
}

/**
 * Connects within the limit; where descriptors are short, it waits for some.
 *
 * @returns The connection, or why there is none: `"timeout"` when the time is up.
 */
export function dial(
  peer: Endpoint,
  options: StreamLinkOptions,
): Promise<Stream | ConnectFailure> {
  return openWithRetries(() => dialOnce(peer, options), options);
}

async function dialOnce(
  peer: Endpoint,
  { dialer, clock, limits, signal }: StreamLinkOptions,
): Promise<Stream | ConnectFailure> {
  const late = new AbortController();
  const give = () => late.abort();
  const cancel = clock.after(limits.connectMs, give);
  signal.addEventListener("abort", give, { once: true });
  if (signal.aborted) give();
  try {
    const stream = await dialer.connect(peer, late.signal);
    return stream === "cancelled" && !signal.aborted ? "timeout" : stream;
  } finally {
    cancel();
    signal.removeEventListener("abort", give);
  }
}

/** A conversation over TCP. */
export class StreamLink implements Link, StreamSide {
  /** Why nothing more comes; `undefined` while something can. */
  end: StreamEnd | undefined;
  /** Whether a connection has ever opened. */
  opened = false;
  readonly #peer: Endpoint;
  readonly #options: StreamLinkOptions;
  #stream: Stream | undefined;
  #reading: Promise<Uint8Array | StreamEnd> | undefined;
  #connectedAt = 0;
  #askedAt = 0;
  /** Whether the question has been answered by a byte. */
  #begun = false;
  #bytes = 0;
  /** Ends the wait for bytes, or for the time to send some. */
  #wake: (() => void) | undefined;
  #over = false;
  readonly #hangUp = () => this.#close("cancelled");

  /**
   * @param peer Who is talked to.
   * @param open A connection that is open already, for what is sent first.
   */
  constructor(peer: Endpoint, options: StreamLinkOptions, open?: Stream) {
    this.#peer = peer;
    this.#options = options;
    options.signal.addEventListener("abort", this.#hangUp, { once: true });
    if (open !== undefined) this.#begin(open);
  }

  /** It is a stream. */
  get stream(): StreamSide {
    return this;
  }

  #begin(stream: Stream): void {
    this.end = undefined;
    this.opened = true;
    this.#stream = stream;
    this.#reading = undefined;
    this.#connectedAt = this.#options.clock.now();
    this.#bytes = 0;
  }

  /** Hangs up: what is sent next goes over a new connection. */
  renew(): void {
    this.#close(undefined);
  }

  #close(end: StreamEnd | undefined): void {
    this.#stream?.[Symbol.dispose]();
    this.#stream = undefined;
    this.#reading = undefined;
    this.end = end;
    this.#wake?.();
  }

  /** Sends bytes, over a new connection where there is none; false when that failed. */
  async send(bytes: Uint8Array): Promise<boolean> {
    if (this.#stream === undefined && this.end === undefined) await this.#connect();
    await this.#depart();
    const { clock, signal } = this.#options;
    if (this.#stream === undefined || signal.aborted) return false;
    this.#askedAt = clock.now();
    this.#begun = false;
    const written = await Promise.race([this.#stream.write(bytes), this.#wait(this.#left())]);
    this.#wake?.();
    if (written === undefined && this.end === undefined) this.#close("slow");
    return written === true;
  }

  async #connect(): Promise<void> {
    await this.#depart();
    if (this.#over || this.#options.signal.aborted) return this.#close("cancelled");
    const stream = await dial(this.#peer, this.#options);
    if (typeof stream === "string") this.end = stream;
    else if (this.#over) stream[Symbol.dispose]();
    else this.#begin(stream);
  }

  /** Waits until one more packet may leave. */
  async #depart(): Promise<void> {
    const { throttle, clock } = this.#options;
    if (this.end !== undefined) return;
    const now = clock.now();
    const departure = throttle.reserve(this.#peer.address, now);
    if (departure > now) await this.#wait(departure - now);
  }

  /** How long the peer may still be silent, milliseconds. */
  #left(): number {
    const { clock, limits } = this.#options;
    const first = this.#begun ? Infinity : this.#askedAt + limits.firstByteMs;
    return Math.min(first, this.#connectedAt + limits.totalMs) - clock.now();
  }

  /** The next bytes; `undefined` when none come in time, or `end` says why none will come. */
  async next(timeoutMs: number): Promise<Uint8Array | undefined> {
    const stream = this.#stream;
    if (stream === undefined) return undefined;
    const left = this.#left();
    this.#reading ??= stream.read();
    const timeout = this.#wait(Math.min(left, timeoutMs));
    const bytes = left <= 0 ? undefined : await Promise.race([this.#reading, timeout]);
    if (this.#stream !== stream) return undefined;
    this.#wake?.();
    if (bytes === undefined) {
      if (left <= timeoutMs) this.#close("slow");
      return undefined;
    }
    this.#reading = undefined;
    return typeof bytes === "string" ? void this.#close(bytes) : this.#take(bytes);
  }

  #take(bytes: Uint8Array): Uint8Array | undefined {
    this.#begun = true;
    this.#bytes += bytes.length;
    return this.#bytes > this.#options.limits.mostBytes ? void this.#close("flood") : bytes;
  }

  #wait(ms: number): Promise<undefined> {
    return new Promise((resolve) => {
      const done = () => {
        cancel();
        if (this.#wake === done) this.#wake = undefined;
        resolve(undefined);
      };
      const cancel = this.#options.clock.after(ms, done);
      this.#wake = done;
    });
  }

  /** Hangs up for good. */
  [Symbol.asyncDispose](): Promise<void> {
    if (!this.#over) this.#options.onClose?.();
    this.#over = true;
    this.#options.signal.removeEventListener("abort", this.#hangUp);
    this.#close("cancelled");
    return Promise.resolve();
  }
}
