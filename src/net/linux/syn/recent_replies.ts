/**
 * The last replies to SYN packets, in memory of fixed size.
 *
 * @module
 */
import { mix } from "../../../core/bits.ts";
import type { PortState } from "../../port_socket.ts";

/** Number of slots, a power of two. */
const SLOTS = 65_536;
/** Words of a slot: address, port and state, token, time, count. */
const WORDS = 5;
const STATES: Readonly<Record<PortState, number>> = { open: 1, refused: 2, unreachable: 3 };
/** Time after which an equal reply is that to a further probe, milliseconds. */
const SAME_MS: Readonly<Record<PortState, number>> = {
  open: 60_000, // while a peer repeats its SYN-ACK
  refused: 1000,
  unreachable: 1000,
};

/** A reply as its token and sender name it. */
export interface NamedReply {
  readonly state: PortState;
  readonly address: number;
  readonly port: number;
  readonly token: number;
}

/** Finds replies that are repeated. A reply overwrites an earlier one in its slot. */
export class RecentReplies {
  readonly #words = new Uint32Array(SLOTS * WORDS);

  /**
   * Notes a reply.
   *
   * @param now The time, milliseconds.
   * @returns How often the same one was noted before, as far as it was not overwritten: SYN-ACKs within a
   * minute, and other replies within a second.
   */
  add({ state, address, port, token }: NamedReply, now: number): number {
    const words = this.#words;
    const kind = port | STATES[state] << 16;
    const at = (mix(address ^ token ^ kind << 8) & SLOTS - 1) * WORDS;
    const isSame = words[at] === address && words[at + 1] === kind && words[at + 2] === token;
    const isRecent = (now - words[at + 3] >>> 0) < SAME_MS[state];
    const before = isSame && isRecent ? words[at + 4] : 0;
    words[at] = address;
    words[at + 1] = kind;
    words[at + 2] = token;
    if (before === 0) words[at + 3] = now;
    words[at + 4] = before + 1;
    return before;
  }
}
