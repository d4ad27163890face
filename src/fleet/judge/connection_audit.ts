/**
 * What a host of a fleet has seen of those who connected to it: one whole question on a connection,
 * in the order in which clients ask, and few connections at once.
 *
 * @module
 */
import { Malformed, Truncated } from "../../core/bytes.ts";
import { decodePing, decodeStatusRequest } from "../../protocols/slp/mod.ts";
import type { WitnessLine } from "../witness_log.ts";

/** Connections that one scanner may have open to a host. */
const MOST_OPEN = 4;

/** What a scanner may say first on a connection. */
type Opening = "status" | "legacy";

/** What was said on a connection. */
interface Talk {
  readonly peer: string;
  opening?: Opening;
  answered: boolean;
  pinged: boolean;
}

/** Reads the lines of connections to one host. */
export class ConnectionAudit {
  readonly #talks = new Map<number, Talk>();
  /** Who has asked for a status before. */
  readonly #askedStatus = new Set<string>();

  /** What is wrong with this line, which has the number of a connection. */
  read(line: WitnessLine): string[] {
    const number = line.connection!;
    const peer = line.peer.slice(0, line.peer.lastIndexOf(":"));
    if (line.event === "closed") this.#talks.delete(number);
    if (line.event === "closed") return [];
    if (line.event === "open") {
      this.#talks.set(number, { peer, answered: false, pinged: false });
      const open = [...this.#talks.values()].filter((talk) => talk.peer === peer).length;
      return open > MOST_OPEN ? [`${open} connections at once`] : [];
    }
    const talk = this.#talks.get(number);
    if (talk === undefined) return ["bytes on a connection that is not open"];
    if (line.way === "in") return this.#heard(talk, line);
    talk.answered = true;
    return [];
  }

  #heard(talk: Talk, { hex, size }: WitnessLine): string[] {
    if (talk.opening !== undefined) {
      const fault = talk.opening === "legacy" || talk.pinged
        ? "more than was to be said"
        : !isPing(hex)
        ? "no ping behind a status"
        : !talk.answered
        ? "a ping before the status"
        : undefined;
      talk.pinged = true;
      return fault === undefined ? [] : [`${fault}: ${hex}`];
    }
    talk.opening = openingOf(hex);
    if (talk.opening === undefined) return [`no whole question of ${size} bytes: ${hex}`];
    if (talk.opening === "status") this.#askedStatus.add(talk.peer);
    return this.#askedStatus.has(talk.peer) ? [] : ["a legacy ping before a status was asked for"];
  }
}

/** A legacy ping in one piece, or handshake and request in one; a part of 1.6's makes servers hang. */
function openingOf(hex: string): Opening | undefined {
  if (hex === "fe" || hex === "fe01") return "legacy";
  return reads(() => decodeStatusRequest(Uint8Array.fromHex(hex))) ? "status" : undefined;
}

function isPing(hex: string): boolean {
  return hex.length === 20 && reads(() => decodePing(Uint8Array.fromHex(hex)));
}

function reads(read: () => unknown): boolean {
  try {
    return read() !== undefined;
  } catch (error) {
    if (error instanceof Truncated || error instanceof Malformed) return false;
    throw error;
  }
}
