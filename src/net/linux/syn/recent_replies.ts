/**
 * The last SYN-ACKs, in memory of fixed size.
 *
 * @module
 */
import { mix } from "../../../core/bits.ts";

/** Number of places, a power of two. */
const PLACES = 65_536;
/** Words of a place: address, port, token. */
const WORDS = 3;

/** Finds SYN-ACKs that are repeated. A reply overwrites an earlier one at its place. */
export class RecentReplies {
  readonly #words = new Uint32Array(PLACES * WORDS);

  /**
   * Notes a SYN-ACK.
   *
   * @param token The acknowledged sequence number.
   * @returns Whether the same one was noted before, as far as it was not overwritten.
   */
  add(address: number, port: number, token: number): boolean {
    const words = this.#words;
    const at = (mix(address ^ token ^ port << 16) & PLACES - 1) * WORDS;
    if (words[at] === address && words[at + 1] === port && words[at + 2] === token) return true;
    words[at] = address;
    words[at + 1] = port;
    words[at + 2] = token;
    return false;
  }
}
