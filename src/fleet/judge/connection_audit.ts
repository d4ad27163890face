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
import { decodeLatin1 } from "../../core/text.ts";
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

/** What a scanner may send first on a connection; `join`: a request of NetherNet. */
type Opening = "status" | "legacy" | "join" | "handshake";

interface ConnectionState {
  readonly peer: string;
  opening?: Opening;
  /** The first bytes of a request of NetherNet, as text. */
  request?: string;
  replied: boolean;
  /** Whether the second request was sent: a ping, or a request in an encrypted connection. */
  isDone: boolean;
}

/** Checks the TCP connections to one host. */
export class ConnectionAudit {
  readonly #connections = new Map<number, ConnectionState>();
  /** Peers that have sent a status request. */
  readonly #statusPeers = new Set<string>();
  /** Peers that may begin a TLS handshake: the host did not serve their request without one. */
  readonly #tlsPeers = new Set<string>();

  /** Returns the violations of a line of a connection. */
  read(line: WitnessLine): string[] {
    const number = line.connection!;
    const peer = line.peer.slice(0, line.peer.lastIndexOf(":"));
    const state = this.#connections.get(number);
    if (line.event === "closed") {
      this.#connections.delete(number);
      // A host that closes without a byte may want TLS; one that was silent until its peer left may not.
      const isUnserved = state?.opening === "join" && !state.replied && line.way === "out";
      if (isUnserved) this.#tlsPeers.add(peer);
      return [];
    }
    if (line.event === "open") {
      this.#connections.set(number, { peer, replied: false, isDone: false });
      const open = [...this.#connections.values()].filter((state) => state.peer === peer).length;
      return open > MAX_OPEN ? [`${open} connections at once`] : [];
    }
    if (state === undefined) return ["bytes on a connection that is not open"];
    if (line.way === "in") return this.#checkBytes(state, line);
    const isFirst = !state.replied;
    state.replied = true;
    if (isFirst && state.opening === "join" && wantsTls(line.hex, state.request!)) {
      this.#tlsPeers.add(peer);
    }
    return [];
  }

  #checkBytes(state: ConnectionState, { hex, size }: WitnessLine): string[] {
    if (state.opening !== undefined) return this.#checkMore(state, hex);
    state.opening = openingOf(hex);
    switch (state.opening) {
      case undefined:
        return [`no complete request of ${size} bytes: ${hex}`];
      case "join":
        state.request = textOf(hex);
        return [];
      case "handshake":
        return this.#tlsPeers.delete(state.peer)
          ? []
          : ["a TLS handshake without a reply that shows TLS"];
      default:
        if (state.opening === "status") this.#statusPeers.add(state.peer);
        return this.#statusPeers.has(state.peer) ? [] : ["a legacy ping before a status request"];
    }
  }

  /** Checks bytes that are not the first ones. */
  #checkMore(state: ConnectionState, hex: string): string[] {
    if (state.opening === "handshake" && isAlert(hex)) return [];
    const wanted = state.opening === "handshake" ? "join" : "status";
    const fault = state.opening === "legacy" || state.opening === "join" || state.isDone
      ? "more bytes than the requests"
      : wanted === "join"
      ? openingOf(hex) === "join" ? undefined : "no request after a handshake"
      : !isPing(hex)
      ? "no ping after a status"
      : !state.replied
      ? "a ping before the status"
      : undefined;
    state.isDone = true;
    return fault === undefined ? [] : [`${fault}: ${hex}`];
  }
}

/**
 * Recognises a legacy ping, a handshake with a status request, a request of NetherNet, or a TLS
 * handshake. Servers hang on an incomplete 1.6 ping.
 */
export function openingOf(hex: string): Opening | undefined {
  if (/^160301/.test(hex)) return "handshake";
  if (isJoin(textOf(hex))) return "join";
  const bytes = Uint8Array.fromHex(hex);
  if (isDecodable(() => decodeLegacyPing(bytes))) return "legacy";
  return isDecodable(() => decodeStatusRequest(bytes)) ? "status" : undefined;
}

/** A request without a body that names the program, and asks to close the connection. */
function isJoin(text: string): boolean {
  return /^GET \/v1\/join HTTP\/1\.1\r\n(?:[\w-]+: [^\r\n]+\r\n)+\r\n$/.test(text) &&
    text.includes("\r\nUser-Agent: blocksweep") && text.includes("\r\nConnection: close\r\n");
}

/** Whether a reply to a plain request allows a TLS handshake on the same port. */
function wantsTls(hex: string, request: string): boolean {
  const reply = textOf(hex);
  if (isAlert(hex) || /^HTTP\/1\.[01] (?:400|426)\b/.test(reply)) return true;
  const [, host] = /\r\nHost: ([^\r\n]+)/.exec(request) ?? [];
  const [, to] = /\r\nlocation: *https:\/\/([^/\r\n]+)/i.exec(reply) ?? [];
  return /^HTTP\/1\.[01] 30[1278]\b/.test(reply) && to === host;
}

const isAlert = (hex: string) => hex.startsWith("15");

function textOf(hex: string): string {
  return decodeLatin1(Uint8Array.fromHex(hex));
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
