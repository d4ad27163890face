/**
 * Runs an exchange over a link. Timeouts, resends and floods are handled here for all protocols.
 *
 * @module
 */
import { concat, Malformed, Truncated } from "../core/bytes.ts";
import type { Clock } from "../net/clock.ts";
import type { Shortage } from "../net/file_descriptors.ts";
import type { Link } from "../net/mod.ts";
import { Closed, type Exchange, type ExchangeRequest, NoReply } from "../protocols/protocol.ts";
import type { Outcome } from "../core/record.ts";

/** Retries, clock and cancellation, shared by all servers. */
export interface RetryLimits {
  /** Maximum number of repetitions of an exchange, and of a handshake within an exchange. */
  readonly retries: number;
  /** The clock of timeouts and pauses. */
  readonly clock: Clock;
  /** Cancels the exchange, and the pauses between its repetitions. */
  readonly signal: AbortSignal;
  /** Returns 63 unpredictable bits, new for each call. */
  readonly nonce: () => bigint;
  /** Shared state of a shortage of descriptors. Default: none. */
  readonly shortage?: Shortage;
}

/** Timeout, resends and cancellation of an exchange. */
export interface ConverseOptions {
  /** Timeout for the reply to each datagram, milliseconds. */
  readonly timeoutMs: number;
  /** Number of resends of a request that may be sent again. */
  readonly resends: number;
  /** The clock of timeouts and round-trip times. */
  readonly clock: Clock;
  /** Ends the exchange at the next reply or timeout. */
  readonly signal: AbortSignal;
  /**
   * Returns whether nothing more may be sent, because the endpoint speaks another protocol. It is
   * called with each received datagram, and without an argument before each send. Default: sending
   * is always allowed.
   */
  readonly forbids?: (datagram?: Uint8Array) => boolean;
}

/**
 * Maximum number of received datagrams that are not replies. After this number of datagrams, further
 * ones are ignored until the timeout.
 */
const MAX_UNRELATED = 16;
/** Maximum number of raw bytes of a reply that are kept. */
const MAX_RAW = 65_536;

/**
 * Runs an exchange to its end.
 *
 * @returns The status, or the failure. A host's behaviour never throws an error.
 */
export async function converse<S>(
  exchange: Exchange<S>,
  link: Link,
  options: ConverseOptions,
): Promise<Outcome<S>> {
  const running = new RunningExchange(link, options);
  try {
    let step = exchange.next();
    while (!step.done) {
      if (options.signal.aborted) return CANCELLED;
      const datagram = await running.request(step.value);
      if (running.isForeign) {
        exchange.return(undefined as S);
        const error = new Malformed("a reply of another protocol", 0);
        return { kind: "malformed", error, foreign: true };
      }
      if (datagram === undefined && link.stream?.opened === false) break;
      step = datagram === undefined
        ? exchange.throw(running.missingReplyError())
        : exchange.next(datagram);
      if (datagram !== undefined) {
        running.recordDatagram(step.done === true || step.value !== undefined, datagram);
      } else if (step.done) running.recordEnd();
    }
    if (step.done) {
      return {
        kind: "replied",
        status: step.value,
        latencyMs: running.latencyMs,
        raw: running.longest,
      };
    }
    exchange.return(undefined as S);
    return options.signal.aborted ? CANCELLED : running.outcomeWithoutStatus();
  } catch (error) {
    if (error instanceof NoReply && options.signal.aborted) return CANCELLED;
    if (error instanceof NoReply) return running.outcomeWithoutStatus(error instanceof Closed);
    if (error instanceof Truncated || error instanceof Malformed) {
      return { kind: "malformed", error };
    }
    throw error;
  }
}

const CANCELLED = { kind: "cancelled" } as const;

/** The pending request of an exchange, and the state of the host. */
class RunningExchange {
  /** Number of requests with a reply. */
  replies = 0;
  /** Whether the endpoint speaks another protocol. */
  isForeign = false;
  /** Round trip of the first request with a reply, milliseconds. */
  latencyMs = NaN;
  #request: ExchangeRequest | undefined;
  #resends = 0;
  #sentAt = 0;
  #arrivedAt = 0;
  #unrelated = 0;
  /** Chunks of a reply received since the last request. */
  #chunks: Uint8Array[] = [];
  #length = 0;
  /** The chunks of the longest reply. */
  #longest: readonly Uint8Array[] = [];
  #most = -1;

  constructor(private readonly link: Link, private readonly options: ConverseOptions) {}

  /** Sends the request, if there is a new one, and waits for a datagram. */
  async request(request: ExchangeRequest | undefined): Promise<Uint8Array | undefined> {
    if (request !== undefined) {
      this.#request = request;
      this.#resends = request.resend && !this.link.stream ? this.options.resends : 0;
      if (request.fresh || request.tls) this.link.stream?.renew(request.tls);
      await this.#send();
    }
    for (;;) {
      if (this.isForeign) return undefined;
      const datagram = await this.#next();
      if (datagram !== undefined) {
        if (this.#forbids(datagram)) return undefined;
        this.#arrivedAt = this.options.clock.now();
        return datagram;
      }
      if (this.#resends-- <= 0 || this.options.signal.aborted) return undefined;
      await this.#send();
    }
  }

  async #send(): Promise<void> {
    if (this.#forbids()) return;
    await this.link.send(this.#request!.bytes);
    this.#sentAt = this.options.clock.now();
  }

  #forbids(datagram?: Uint8Array): boolean {
    this.isForeign ||= this.options.forbids?.(datagram) ?? false;
    return this.isForeign;
  }

  /** The next datagram before the timeout. In a flood, datagrams are ignored until the timeout. */
  async #next(): Promise<Uint8Array | undefined> {
    const { timeoutMs, clock, signal } = this.options;
    for (;;) {
      const left = this.#sentAt + timeoutMs - clock.now();
      // with 0 the link still reads arrived datagrams
      const datagram = await this.link.next(Math.max(0, left));
      // A stream's link has its own limits on bytes and time.
      if (this.link.stream !== undefined) return datagram;
      if (datagram === undefined || signal.aborted || this.#unrelated < MAX_UNRELATED) {
        return datagram;
      }
    }
  }

  /** The error to throw into the exchange when no reply arrived. */
  missingReplyError(): NoReply {
    const end = this.link.stream?.end;
    return end === undefined || end === "slow" || end === "timeout" ? new NoReply() : new Closed();
  }

  /**
   * The outcome of an exchange without a status.
   *
   * @param wasClosed Whether the peer closed the connection of the request that counts. Requests in
   * an older form may have followed it, and may have got no reply in time.
   */
  outcomeWithoutStatus(wasClosed = false): Outcome<never> {
    const end = this.link.stream?.end;
    const isLate = end === undefined || end === "slow" || end === "timeout";
    const why = wasClosed && isLate ? "closed" : end;
    return { kind: "noReply", replies: this.replies, ...(why === undefined ? {} : { why }) };
  }

  /** The longest reply, with its chunks joined. */
  get longest(): Uint8Array {
    return this.#longest.length === 1 ? this.#longest[0] : concat(...this.#longest);
  }

  /** Records whether the last datagram was a reply, or the last chunk of one. */
  recordDatagram(isReply: boolean, datagram: Uint8Array): void {
    // All bytes of a stream are chunks of a reply. A datagram is kept only if it completes a reply.
    if ((isReply || this.link.stream !== undefined) && this.#length < MAX_RAW) {
      this.#chunks.push(datagram);
      this.#length += datagram.length;
    }
    if (isReply) this.#recordReply();
    else this.#unrelated++;
  }

  /** Records that the end of a stream, or a timeout, completed the reply. */
  recordEnd(): void {
    if (this.#chunks.length > 0) this.#recordReply();
  }

  #recordReply(): void {
    if (this.#length > this.#most) [this.#longest, this.#most] = [this.#chunks, this.#length];
    [this.#chunks, this.#length] = [[], 0];
    this.#unrelated = 0;
    if (this.replies++ === 0) this.latencyMs = this.#arrivedAt - this.#sentAt;
  }
}
