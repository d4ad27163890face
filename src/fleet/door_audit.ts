/**
 * What a host of a fleet has seen of those who tried its door: nobody may knock before the host has
 * answered a ping, and nobody may do more once the door is open.
 *
 * @module
 */
import type { WitnessLine } from "./witness.ts";

/** A request that was repeated may cross with the reply to the first one: so long, milliseconds. */
const CROSSING_MS = 1000;

/** Messages of the host, by their id and what of the magic the first 64 bytes hold. */
const isPong = (hex: string) => hex.startsWith("1c") && hex.startsWith("00ffff00", 34);
const isReply2 = (hex: string) => hex.startsWith("0800ffff00");

/** Reads the lines of one host. */
export class DoorAudit {
  /** Addresses to which a pong went, and arrived. */
  readonly #pongs = new Set<string>();
  /** Sockets to which a second reply went, and when the last one left that arrived: perhaps never. */
  readonly #opened = new Map<string, number>();

  /** What is wrong with this line. */
  read({ at, way, peer, hex, lost }: WitnessLine): string[] {
    const address = peer.slice(0, peer.lastIndexOf(":"));
    if (way === "out") {
      if (isPong(hex) && !lost) this.#pongs.add(address);
      if (isReply2(hex)) this.#opened.set(peer, lost ? this.#opened.get(peer) ?? Infinity : at);
      return [];
    }
    const faults: string[] = [];
    if (hex.startsWith("05") && !this.#pongs.has(address)) faults.push("a request 1 before a pong");
    const opened = this.#opened.get(peer);
    const again = hex.startsWith("07") && at - opened! < CROSSING_MS;
    if (opened !== undefined && !again) faults.push(`${hex.slice(0, 2)} after reply 2`);
    return faults;
  }
}
