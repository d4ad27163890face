/**
 * A TCP stream as a link. It connects at the first `send`, and bounds time and bytes.
 *
 * @module
 */
import type { Endpoint } from "../core/address.ts";
import type { TlsRequest } from "../protocols/protocol.ts";
import { type Clock, sleep, Waits } from "./clock.ts";
import { openWithRetries, type Shortage } from "./file_descriptors.ts";
import { type SendGate, untilOpen } from "./send_gate.ts";
import type {
  ConnectFailure,
  Dialer,
  EncryptedStream,
  Link,
  Stream,
  StreamEnd,
  StreamSide,
} from "./socket.ts";
import type { Throttle } from "./throttle.ts";

/** Limits on a peer's time, milliseconds, and on its bytes. */
export interface StreamLimits {
  /** Time to accept a connection. */
  readonly connectMs: number;
  /**
   * Time for the first byte of a reply. A request waits for four fifths of it; after a request without
   * a reply, those on other connections wait for one fifth. A TLS handshake counts as waiting of the
   * request after it.
   */
  readonly firstByteMs: number;
  /** Time from the connection to the last byte. */
  readonly totalMs: number;
  /** Maximum number of bytes of one connection; with TLS, before decryption too. */
  readonly maxBytes: number;
}

/** The time limits are those of real clients. The limit on bytes is many times the size of a usual status. */
export const STREAM_LIMITS: StreamLimits = {
  connectMs: 3000,
  firstByteMs: 5000,
  totalMs: 10_000,
  maxBytes: 2 * 1024 * 1024,
};

/**
 * When a system repeats a SYN packet that gets no reply, milliseconds after the first one: Linux from
 * 6.5 on (`tcp_syn_linear_timeouts`). Earlier versions repeat it less often.
 */
const SYN_REPEATED_MS = [1, 2, 3, 4, 5, 7, 11, 19, 35, 67].map((seconds) => 1000 * seconds);

/** When the system repeats the SYN packet of a connection that is not accepted in a time, milliseconds. */
function synRepeats(connectMs: number): number[] {
  return SYN_REPEATED_MS.filter((ms) => ms <= connectMs);
}

/**
 * The shares of the time for a first byte: of a request, and of one after a request without a reply.
 * Two such requests take no more time than the limit.
 */
const FIRST_BYTE_SHARES = { first: 0.8, afterSilence: 0.2 };

/** Options of a {@linkcode StreamLink}. */
export interface StreamLinkOptions {
  readonly dialer: Dialer;
  /**
   * The rate limit and caps. Each SYN packet, each request and the first message of a TLS handshake
   * counts as a datagram. The second message of a handshake does not count: like the acknowledgements
   * of TCP, it only answers the peer.
   */
  readonly throttle: Throttle;
  /** The clock for all timeouts. */
  readonly clock: Clock;
  /** The limits on the peer. */
  readonly limits: StreamLimits;
  /** Cancels the link when it aborts. */
  readonly signal: AbortSignal;
  /** The gate of connections and writes. While it is closed, no timeout runs. Default: none. */
  readonly gate?: SendGate;
  /** Called when the link is disposed of. */
  readonly onClose?: () => void;
  /** Called each time that no descriptor is free for a connection. */
  readonly onShortage?: () => void;
  /** The state of a shortage that all connections share. Default: none. */
  readonly shortage?: Shortage;
}

/**
 * Connects within the limit, and retries while descriptors are short.
 *
 * @returns The connection, or why it failed: `"timeout"` after the limit.
 */
export function dial(
  peer: Endpoint,
  options: StreamLinkOptions,
): Promise<Stream | ConnectFailure> {
  return openWithRetries(() => dialOnce(peer, options), options);
}

async function dialOnce(
  peer: Endpoint,
  options: StreamLinkOptions,
): Promise<Stream | ConnectFailure> {
  const { signal, gate } = options;
  for (;;) {
    const stream = await attemptOnce(peer, options);
    if (stream !== "kept back") return stream;
    gate!.keptBack++;
    if (!await untilOpen(gate!, signal)) return "cancelled";
    await waitForThrottle(peer, options); // many connections may have waited
  }
}

async function attemptOnce(
  peer: Endpoint,
  { dialer, throttle, clock, limits, signal, gate }: StreamLinkOptions,
): Promise<Stream | ConnectFailure | "kept back"> {
  const attempt = new AbortController();
  const abort = () => attempt.abort();
  const begun = clock.now();
  const timer = { cancel: () => {} };
  const waitFor = ([ms, ...later]: readonly number[]) => {
    timer.cancel = clock.after(begun + ms - clock.now(), () => {
      if (later.length === 0) return abort();
      throttle.reserve(peer.address, clock.now());
      waitFor(later);
    });
  };
  waitFor([...synRepeats(limits.connectMs), limits.connectMs]);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    const stream = await dialer.connect(peer, attempt.signal, gate);
    return stream === "cancelled" && !signal.aborted ? "timeout" : stream;
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", abort);
  }
}

/** Waits until the throttle allows one more packet, or the link is cancelled. */
async function waitForThrottle(
  { address }: Endpoint,
  { throttle, clock, signal }: StreamLinkOptions,
): Promise<void> {
  const now = clock.now();
  const sendAt = throttle.reserve(address, now);
  if (sendAt <= now) return;
  await sleep(clock, sendAt - now, signal);
  throttle.sent(address, sendAt, clock.now());
}

/** A link over TCP. */
export class StreamLink implements Link, StreamSide {
  /** Why the stream has ended; `undefined` while it is open. */
  end: StreamEnd | undefined;
  /** Whether a connection has ever opened. */
  opened = false;
  readonly #peer: Endpoint;
  readonly #options: StreamLinkOptions;
  #stream: Stream | undefined;
  #reading: Promise<Uint8Array | StreamEnd> | undefined;
  #connectedAt = 0;
  #requestedAt = 0;
  /** The share of the time for a first byte that a request waits for. */
  #firstByteShare = FIRST_BYTE_SHARES.first;
  /** Whether a byte of the reply has arrived. */
  #replied = false;
  #bytes = 0;
  /** The waits for bytes and for the throttle. */
  readonly #waits: Waits;
  #disposed = false;
  /** Encrypts the next connection. */
  #tls: TlsRequest | undefined;
  /** Duration of the handshake before the next request, milliseconds. */
  #handshakeMs = 0;
  readonly #cancel = () => this.#close("cancelled");

  /**
   * Creates a link, without connecting.
   *
   * @param peer The endpoint to connect to.
   * @param open An open connection for the first request. Default: `send` opens one.
   */
  constructor(peer: Endpoint, options: StreamLinkOptions, open?: Stream) {
    this.#peer = peer;
    this.#options = options;
    this.#waits = new Waits(options.clock);
    options.signal.addEventListener("abort", this.#cancel, { once: true });
    if (open !== undefined) this.#adopt(open);
  }

  /** The properties of the stream: this link itself. */
  get stream(): StreamSide {
    return this;
  }

  #adopt(stream: Stream): void {
    this.end = undefined;
    this.opened = true;
    this.#stream = stream;
    this.#reading = undefined;
    this.#connectedAt = this.#options.clock.now();
    this.#bytes = 0;
  }

  /**
   * Closes the connection; the next `send` opens a new one.
   *
   * @param tls Encrypts the new connection. Default: it is not encrypted.
   */
  renew(tls?: TlsRequest): void {
    this.#tls = tls;
    if (this.end === "slow" && !this.#replied) {
      this.#firstByteShare = FIRST_BYTE_SHARES.afterSilence;
    }
    this.#close(undefined);
  }

  #close(end: StreamEnd | undefined): void {
    this.#stream?.[Symbol.dispose]();
    this.#stream = undefined;
    this.#reading = undefined;
    this.end = end;
    this.#waits[Symbol.dispose]();
  }

  /** Sends bytes, over a new connection if none is open; false on failure. */
  async send(bytes: Uint8Array): Promise<boolean> {
    if (this.#stream === undefined && this.end === undefined) await this.#connect();
    await this.#waitForThrottle();
    const { clock, signal, gate } = this.#options;
    while (this.#stream !== undefined && gate?.isOpen() === false) await this.#waitForGate(gate);
    if (this.#stream === undefined || signal.aborted) return false;
    this.#requestedAt = clock.now() - this.#handshakeMs;
    this.#handshakeMs = 0;
    this.#replied = false;
    const written = await Promise.race([this.#stream.write(bytes), this.#waits.for(this.#left())]);
    this.#waits.end();
    if (written === undefined && this.end === undefined) this.#close("slow");
    return written === true;
  }

  async #connect(): Promise<void> {
    await this.#waitForThrottle();
    if (this.#disposed || this.#options.signal.aborted) return this.#close("cancelled");
    const stream = await dial(this.#peer, this.#options);
    if (typeof stream === "string") this.end = stream;
    else if (this.#disposed) stream[Symbol.dispose]();
    else {
      this.#adopt(stream);
      if (this.#tls !== undefined) await this.#encrypt(stream, this.#tls);
    }
  }

  async #encrypt(plain: Stream, tls: TlsRequest): Promise<void> {
    const { clock, dialer, gate } = this.#options;
    const stream = this.#stream = this.#limited(plain);
    await this.#waitForThrottle();
    while (this.#stream === stream && gate?.isOpen() === false) await this.#waitForGate(gate);
    if (this.#stream !== stream) return;
    const start = this.#requestedAt = clock.now();
    this.#replied = false;
    const handshake = dialer.encrypt(stream, tls.serverName);
    let encrypted: EncryptedStream | StreamEnd | undefined;
    do { // a wait for the gate moves the limit
      encrypted = await Promise.race([handshake, this.#waits.for(this.#left())]);
    } while (encrypted === undefined && this.#stream === stream && this.#left() > 0);
    if (this.#stream !== stream || encrypted === undefined) {
      if (this.#stream === stream) this.#close("slow");
      const late = await handshake; // the connection is closed: this ends soon
      if (typeof late !== "string") late.stream[Symbol.dispose]();
      return;
    }
    this.#waits.end();
    if (typeof encrypted === "string") return this.#close(encrypted);
    this.#stream = encrypted.stream;
    this.#handshakeMs = clock.now() - start;
    tls.onCertificate(encrypted.certificate);
  }

  /** The connection below TLS: its bytes are limited, and its writes wait for the gate. */
  #limited(stream: Stream): Stream {
    const { gate, limits: { maxBytes } } = this.#options;
    let [bytes, isOpen] = [0, true];
    return {
      read: async () => {
        const chunk = await stream.read();
        if (typeof chunk === "string") return chunk;
        bytes += chunk.length;
        if (isOpen && bytes > maxBytes) this.#close("flood");
        return isOpen ? chunk : "closed";
      },
      write: async (chunk) => {
        while (isOpen && gate?.isOpen() === false) if (!await this.#pause(gate)) return false;
        return isOpen && await stream.write(chunk);
      },
      [Symbol.dispose]: () => {
        isOpen = false;
        stream[Symbol.dispose]();
      },
    };
  }

  /** Waits until the throttle allows one more packet. */
  async #waitForThrottle(): Promise<void> {
    const { throttle, clock } = this.#options;
    if (this.end !== undefined) return;
    const now = clock.now();
    const sendAt = throttle.reserve(this.#peer.address, now);
    if (sendAt > now) {
      await this.#waits.for(sendAt - now);
      throttle.sent(this.#peer.address, sendAt, clock.now());
    }
  }

  /** Waits until the gate is open, and then for the throttle. */
  async #waitForGate(gate: SendGate): Promise<void> {
    if (await this.#pause(gate)) await this.#waitForThrottle();
    else this.#close("cancelled");
  }

  /** Waits until the gate is open, and adds the time to the limits; false if it never opens. */
  async #pause(gate: SendGate): Promise<boolean> {
    const { clock, signal } = this.#options;
    const from = clock.now();
    gate.keptBack++;
    const isOpen = await untilOpen(gate, signal);
    this.#connectedAt += clock.now() - from;
    this.#requestedAt += clock.now() - from;
    return isOpen;
  }

  /** Time until the peer exceeds a limit, milliseconds. */
  #left(): number {
    const { clock, limits } = this.#options;
    const firstByteMs = this.#firstByteShare * limits.firstByteMs;
    const first = this.#replied ? Infinity : this.#requestedAt + firstByteMs;
    return Math.min(first, this.#connectedAt + limits.totalMs) - clock.now();
  }

  /** The next bytes; `undefined` when none arrive in time, or the stream has ended. */
  async next(timeoutMs: number): Promise<Uint8Array | undefined> {
    const stream = this.#stream;
    if (stream === undefined) return undefined;
    const left = this.#left();
    this.#reading ??= stream.read();
    const timeout = this.#waits.for(Math.min(left, timeoutMs));
    const bytes = left <= 0 ? undefined : await Promise.race([this.#reading, timeout]);
    if (this.#stream !== stream) return undefined;
    this.#waits.end();
    if (bytes === undefined) {
      if (left <= timeoutMs) this.#close("slow");
      return undefined;
    }
    this.#reading = undefined;
    return typeof bytes === "string" ? void this.#close(bytes) : this.#take(bytes);
  }

  #take(bytes: Uint8Array): Uint8Array | undefined {
    this.#replied = true;
    this.#bytes += bytes.length;
    return this.#bytes > this.#options.limits.maxBytes ? void this.#close("flood") : bytes;
  }

  /** Closes the connection and disposes of the link. */
  [Symbol.asyncDispose](): Promise<void> {
    if (!this.#disposed) this.#options.onClose?.();
    this.#disposed = true;
    this.#options.signal.removeEventListener("abort", this.#cancel);
    this.#close("cancelled");
    return Promise.resolve();
  }
}
