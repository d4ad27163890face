/**
 * Replies of ports that wait until the receiver accepts them.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import type { Clock } from "../clock.ts";
import type { PortReply, PortReplyReceiver } from "../port_socket.ts";
import type { ReceiverCapacity } from "../socket.ts";

/** A reply with the stamp of its probe, microseconds modulo 2^32. */
type StampedReply = PortReply & { readonly clock: number };

interface Held {
  readonly reply: StampedReply;
  readonly from: Endpoint;
  /** When it arrived, milliseconds. */
  readonly at: number;
}

/** Delivers replies in their order. */
export class HeldReplies {
  readonly #held: Held[] = [];
  #receiver: PortReplyReceiver | undefined;
  #capacity: ReceiverCapacity | undefined;
  /** Whether the receiver accepts no reply now. */
  #isFull = false;
  #hasFailed = false;

  /**
   * Creates the queue without a receiver.
   *
   * @param clock The clock of the stamps.
   * @param onChange Called after replies were delivered or removed.
   * @param onFailure Called with the error of the receiver; then the replies that wait, and later ones,
   * are removed.
   */
  constructor(
    private readonly clock: Pick<Clock, "now">,
    private readonly onChange: () => void,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  /** Number of replies that wait. */
  get length(): number {
    return this.#held.length;
  }

  /** Delivers all replies to a receiver from now on, while it accepts them. */
  deliverTo(receiver: PortReplyReceiver, capacity: ReceiverCapacity | undefined): void {
    this.#receiver = receiver;
    this.#capacity = capacity;
    this.#deliver();
  }

  /** Delivers a reply as soon as the receiver accepts it. */
  add(reply: StampedReply, from: Endpoint): void {
    if (this.#hasFailed) return reply.stream?.[Symbol.dispose]();
    this.#held.push({ reply, from, at: this.clock.now() });
    if (this.#held.length === 1) this.#deliver();
  }

  /** Removes the replies that wait, and closes their connections. */
  dispose(): void {
    for (const { reply } of this.#held.splice(0)) reply.stream?.[Symbol.dispose]();
  }

  #deliver(): void {
    if (this.#isFull || this.#receiver === undefined) return;
    try {
      while (this.#held.length > 0) {
        const full = this.#capacity?.();
        if (full !== undefined) return void this.#waitFor(full);
        this.#deliverOne(this.#receiver, this.#held.shift()!);
      }
    } catch (error) {
      return this.#fail(error);
    }
    this.onChange();
  }

  /** Delivers a reply. The receiver measures the round trip, which ended when the reply arrived. */
  #deliverOne(receiver: PortReplyReceiver, { reply, from, at }: Held): void {
    const held = Math.round(1000 * (this.clock.now() - at));
    receiver({ ...reply, clock: reply.clock + held >>> 0 }, from);
  }

  #fail(error: unknown): void {
    this.#hasFailed = true;
    this.dispose();
    this.onChange();
    this.onFailure(error);
  }

  /** Delivers no reply until a promise settles. */
  async #waitFor(full: Promise<void>): Promise<void> {
    this.#isFull = true;
    try {
      await full;
    } catch (error) {
      return this.#fail(error);
    }
    this.#isFull = false;
    this.onChange();
    this.#deliver();
  }
}
