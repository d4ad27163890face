/**
 * What a host of a fleet has seen of those who ask it for a RakNet connection: no request may come
 * before the host has answered a ping, and none may leave a connection half open, which ends some
 * servers and counts as a player on others (protocols/raknet/verify_joinable.ts).
 *
 * @module
 */
import type { WitnessLine } from "../witness_log.ts";

/** A pong, by its id and what of the magic the first 64 bytes hold. */
const isPong = (hex: string) => hex.startsWith("1c") && hex.startsWith("00ffff00", 34);

/** Reads the lines of one host. */
export class OpenConnectionAudit {
  /** Addresses to which a pong went, and arrived. */
  readonly #pongs = new Set<string>();

  /** What is wrong with this line. */
  read({ way, peer, hex, lost }: WitnessLine): string[] {
    const address = peer.slice(0, peer.lastIndexOf(":"));
    if (way === "out") {
      if (isPong(hex) && !lost) this.#pongs.add(address);
      return [];
    }
    if (hex.startsWith("05") && !this.#pongs.has(address)) return ["a request 1 before a pong"];
    return hex.startsWith("07") ? ["a request 2, which leaves a connection half open"] : [];
  }
}
