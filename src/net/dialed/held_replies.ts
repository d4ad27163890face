/**
 * Replies of ports that wait until the receiver accepts them.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import type { PortReply, PortReplyReceiver } from "../port_socket.ts";
import type { ReceiverCapacity } from "../socket.ts";

/** Delivers replies in their order. */
export class HeldReplies {
  readonly #held: (readonly [PortReply, from: Endpoint])[] = [];
  #receiver: PortReplyReceiver | undefined;
  #capacity: ReceiverCapacity | undefined;
  /** Whether the receiver accepts no reply now, or has failed. */
  #isFull = false;

  /**
   * Creates the queue without a receiver.
   *
   * @param onChange Called after replies were delivered.
   * @param onFailure Called with the error of the receiver; then nothing more is delivered.
   */
  constructor(
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
  add(reply: PortReply, from: Endpoint): void {
    this.#held.push([reply, from]);
    if (this.#held.length === 1) this.#deliver();
  }

  /** Removes the replies that wait, and closes their connections. */
  dispose(): void {
    for (const [{ stream }] of this.#held.splice(0)) stream?.[Symbol.dispose]();
  }

  #deliver(): void {
    if (this.#isFull || this.#receiver === undefined) return;
    try {
      while (this.#held.length > 0) {
        const full = this.#capacity?.();
        if (full !== undefined) return void this.#waitFor(full);
        this.#receiver(...this.#held.shift()!);
      }
    } catch (error) {
      this.#isFull = true;
      return this.onFailure(error);
    }
    this.onChange();
  }

  /** Delivers no reply until a promise settles. */
  async #waitFor(full: Promise<void>): Promise<void> {
    this.#isFull = true;
    try {
      await full;
    } catch (error) {
      return this.onFailure(error);
    }
    this.#isFull = false;
    this.onChange();
    this.#deliver();
  }
}
