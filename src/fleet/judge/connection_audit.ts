/**
 * Checks the connections of a scanner, of RakNet and over TCP, in the log of a simulated fleet.
 *
 * A scanner must not send an open connection request before a pong, and must not leave a connection
 * half open. A half-open connection crashes some servers, and counts as a player on others
 * (protocols/raknet/verify_joinable.ts).
 *
 * @module
 */
import { Malformed, Truncated } from "../../core/bytes.ts";
import { decodeLegacyPing, decodeSlpPing, decodeStatusRequest } from "../../protocols/slp/mod.ts";
import type { WitnessLine } from "../witness_log.ts";

/** Recognises a pong by its id and by the logged part of the magic. */
const isPong = (hex: string) => hex.startsWith("1c") && hex.startsWith("00ffff00", 34);

/** Checks the open connection requests to one host. */
export class OpenConnectionAudit {
  /** Addresses that received a pong. */
  readonly #pongs = new Set<string>();

  /** Returns the violations of a line. */
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

/** Maximum number of open connections of one scanner to a host. */
const MAX_OPEN = 4;

/** Requests that a scanner may send first on a connection. */
type Opening = "status" | "legacy";

/** The state of a connection. */
interface ConnectionState {
  readonly peer: string;
  opening?: Opening;
  replied: boolean;
  pinged: boolean;
}

/** Checks the TCP connections to one host. */
export class ConnectionAudit {
  readonly #connections = new Map<number, ConnectionState>();
  /** Peers that have sent a status request. */
  readonly #statusPeers = new Set<string>();

  /** Returns the violations of a line of a connection. */
  read(line: WitnessLine): string[] {
    const number = line.connection!;
    const peer = line.peer.slice(0, line.peer.lastIndexOf(":"));
    if (line.event === "closed") this.#connections.delete(number);
    if (line.event === "closed") return [];
    if (line.event === "open") {
      this.#connections.set(number, { peer, replied: false, pinged: false });
      const open = [...this.#connections.values()].filter((state) => state.peer === peer).length;
      return open > MAX_OPEN ? [`${open} connections at once`] : [];
    }
    const state = this.#connections.get(number);
    if (state === undefined) return ["bytes on a connection that is not open"];
    if (line.way === "in") return this.#checkBytes(state, line);
    state.replied = true;
    return [];
  }

  #checkBytes(state: ConnectionState, { hex, size }: WitnessLine): string[] {
    if (state.opening !== undefined) {
      const fault = state.opening === "legacy" || state.pinged
        ? "more bytes than the requests"
        : !isPing(hex)
        ? "no ping after a status"
        : !state.replied
        ? "a ping before the status"
        : undefined;
      state.pinged = true;
      return fault === undefined ? [] : [`${fault}: ${hex}`];
    }
    state.opening = openingOf(hex);
    if (state.opening === undefined) return [`no complete request of ${size} bytes: ${hex}`];
    if (state.opening === "status") this.#statusPeers.add(state.peer);
    return this.#statusPeers.has(state.peer) ? [] : ["a legacy ping before a status request"];
  }
}

/** Recognises a legacy ping, or a handshake with a status request. Servers hang on an incomplete 1.6 ping. */
function openingOf(hex: string): Opening | undefined {
  const bytes = Uint8Array.fromHex(hex);
  if (isDecodable(() => decodeLegacyPing(bytes))) return "legacy";
  return isDecodable(() => decodeStatusRequest(bytes)) ? "status" : undefined;
}

function isPing(hex: string): boolean {
  return hex.length === 20 && isDecodable(() => decodeSlpPing(Uint8Array.fromHex(hex)));
}

function isDecodable(decode: () => unknown): boolean {
  try {
    return decode() !== undefined;
  } catch (error) {
    if (error instanceof Truncated || error instanceof Malformed) return false;
    throw error;
  }
}
