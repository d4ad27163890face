/**
 * Talking an exchange through on a link: timeouts, resends and floods, once for all protocols.
 *
 * @module
 */
import { concat, Malformed, Truncated } from "../core/bytes.ts";
import type { Clock } from "../net/clock.ts";
import type { Link } from "../net/socket.ts";
import { Closed, type Exchange, type ExchangeRequest, NoReply } from "../protocols/protocol.ts";
import type { Outcome } from "../core/record.ts";

/** How patiently to talk. */
export interface ConverseOptions {
  /** How long to wait for an answer to each datagram sent, milliseconds. */
  readonly timeoutMs: number;
  /** How often a question that may be repeated is repeated. */
  readonly resends: number;
  /** The clock. */
  readonly clock: Clock;
  /** Ends the talk at the next answer or timeout. */
  readonly signal: AbortSignal;
  /**
   * Whether nothing more may be sent, for the endpoint speaks something else: consulted with each
   * datagram that arrives, and without one before each that is sent. Default: never.
   */
  readonly forbids?: (datagram?: Uint8Array) => boolean;
}

/** Datagrams that are no answer, after which a peer is no longer listened to. */
const MOST_STRAYS = 16;
/** Bytes after which no more of an answer is kept as it came. */
const MOST_RAW = 65_536;

/**
 * Runs an exchange to its end.
 *
 * @returns The status, or how else it ended; what a peer does is never thrown.
 */
export async function converse<S>(
  exchange: Exchange<S>,
  link: Link,
  options: ConverseOptions,
): Promise<Outcome<S>> {
  const talk = new Conversation(link, options);
  try {
    let step = exchange.next();
    while (!step.done) {
      if (options.signal.aborted) return CANCELLED;
      const datagram = await talk.answer(step.value);
      if (talk.isForeign) {
        exchange.return(undefined as S);
        const error = new Malformed("a reply of another protocol", 0);
        return { kind: "malformed", error, foreign: true };
      }
      if (datagram === undefined && link.stream?.opened === false) break;
      step = datagram === undefined ? exchange.throw(talk.absence()) : exchange.next(datagram);
      if (datagram !== undefined) {
        talk.judged(step.done === true || step.value !== undefined, datagram);
      }
    }
    if (step.done) {
      return { kind: "replied", status: step.value, latencyMs: talk.latencyMs, raw: talk.longest };
    }
    exchange.return(undefined as S);
    return options.signal.aborted ? CANCELLED : talk.silence();
  } catch (error) {
    if (error instanceof NoReply && options.signal.aborted) return CANCELLED;
    if (error instanceof NoReply) return talk.silence();
    if (error instanceof Truncated || error instanceof Malformed) {
      return { kind: "malformed", error };
    }
    throw error;
  }
}

const CANCELLED = { kind: "cancelled" } as const;

/** The open question of an exchange, and what is known of the peer. */
class Conversation {
  /** Questions that were answered. */
  answers = 0;
  /** Whether the endpoint speaks something else. */
  isForeign = false;
  /** Round trip of the first answered question, milliseconds. */
  latencyMs = NaN;
  #question: ExchangeRequest | undefined;
  #resends = 0;
  #sentAt = 0;
  #arrivedAt = 0;
  #strays = 0;
  /** What has come since the last question. */
  #parts: Uint8Array[] = [];
  #length = 0;
  /** The parts of the longest answer. */
  #longest: readonly Uint8Array[] = [];
  #most = -1;

  constructor(private readonly link: Link, private readonly options: ConverseOptions) {}

  /** Sends the question, if there is a new one, and waits for a datagram. */
  async answer(question: ExchangeRequest | undefined): Promise<Uint8Array | undefined> {
    if (question !== undefined) {
      this.#question = question;
      this.#resends = question.resend && !this.link.stream ? this.options.resends : 0;
      if (question.fresh) this.link.stream?.renew();
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
    await this.link.send(this.#question!.bytes);
    this.#sentAt = this.options.clock.now();
  }

  #forbids(datagram?: Uint8Array): boolean {
    this.isForeign ||= this.options.forbids?.(datagram) ?? false;
    return this.isForeign;
  }

  /** The next datagram before the question's time is up. A peer that floods is deaf to. */
  async #next(): Promise<Uint8Array | undefined> {
    const { timeoutMs, clock, signal } = this.options;
    for (;;) {
      const left = this.#sentAt + timeoutMs - clock.now();
      const datagram = await this.link.next(Math.max(0, left)); // what has arrived counts
      // Of a stream, the link bounds how much and how long.
      if (this.link.stream !== undefined) return datagram;
      if (datagram === undefined || signal.aborted || this.#strays < MOST_STRAYS) return datagram;
    }
  }

  /** What is thrown when there was no answer. */
  absence(): NoReply {
    const end = this.link.stream?.end;
    return end === undefined || end === "slow" || end === "timeout" ? new NoReply() : new Closed();
  }

  /** How a conversation without a status ended. */
  silence(): Outcome<never> {
    const why = this.link.stream?.end;
    return { kind: "noReply", replies: this.answers, ...(why === undefined ? {} : { why }) };
  }

  /** The longest answer. */
  get longest(): Uint8Array {
    return this.#longest.length === 1 ? this.#longest[0] : concat(...this.#longest);
  }

  /** Notes whether the last datagram was an answer, or the end of one. */
  judged(answer: boolean, datagram: Uint8Array): void {
    // Of a stream, all is a part of an answer; of datagrams, the one that completes it stands for it.
    if ((answer || this.link.stream !== undefined) && this.#length < MOST_RAW) {
      this.#parts.push(datagram);
      this.#length += datagram.length;
    }
    if (!answer) {
      this.#strays++;
      return;
    }
    if (this.#length > this.#most) [this.#longest, this.#most] = [this.#parts, this.#length];
    [this.#parts, this.#length] = [[], 0];
    this.#strays = 0;
    if (this.answers++ === 0) this.latencyMs = this.#arrivedAt - this.#sentAt;
  }
}
