/**
 * What a host of a fleet has seen of those who tried its door: nobody may knock before the host has
 * answered a ping, and nobody may do more once the door is open.
 *
 * @module
 */
import type { WitnessLine } from "./witness.ts";

/** Reads the lines of one host. */
export class DoorAudit {
  /** Addresses to which a pong went, and arrived. */
  readonly #pongs = new Set<string>();
  /** Sockets to which a second reply went, and whether one arrived. */
  readonly #opened = new Map<string, boolean>();

  /** What is wrong with this line. */
  read({ way, peer, hex, lost }: WitnessLine): string[] {
    const address = peer.slice(0, peer.lastIndexOf(":"));
    if (way === "out") {
      if (hex.startsWith("1c") && !lost) this.#pongs.add(address);
      if (hex.startsWith("08")) this.#opened.set(peer, this.#opened.get(peer) || !lost);
      return [];
    }
    const faults: string[] = [];
    if (hex.startsWith("05") && !this.#pongs.has(address)) faults.push("a request 1 before a pong");
    const opened = this.#opened.get(peer);
    // Who did not get the reply may ask for it again.
    const again = opened === false && hex.startsWith("07");
    if (opened !== undefined && !again) faults.push(`${hex.slice(0, 2)} after reply 2`);
    return faults;
  }
}
