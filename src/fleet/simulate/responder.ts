/**
 * The contracts of simulated hosts on UDP and TCP, and a bounded memory of senders.
 *
 * @module
 */
import { type Endpoint, endpointKey } from "../../core/address.ts";
import type { Certificate } from "./network/certificate.ts";

/** Responds to datagrams: a simulated server or a hostile host. */
export interface Responder {
  /**
   * Processes a datagram.
   *
   * @param datagram The received bytes.
   * @param from The sender's endpoint.
   * @param now Milliseconds of any clock.
   * @returns The replies, in order.
   */
  respond(datagram: Uint8Array, from: Endpoint, now: number): readonly Uint8Array[];
}

/** Maximum number of remembered senders, as real servers have a limit. */
const MAX_SENDERS = 1024;

/** Sets an entry, and deletes the oldest one above the limit. */
export function remember(map: Map<number | bigint, number>, from: Endpoint, value: number): void {
  map.delete(endpointKey(from));
  map.set(endpointKey(from), value);
  if (map.size > MAX_SENDERS) map.delete(map.keys().next().value!);
}

/** An action of a host on a connection: send bytes, wait, close or reset. */
export type StreamAct =
  | { readonly bytes: Uint8Array }
  | { readonly waitMs: number }
  | "close"
  | "reset";

/** The host's side of a TCP connection. */
export interface StreamTalk {
  /** Actions at the start of the connection. */
  readonly opening: readonly StreamAct[];
  /**
   * Processes received bytes.
   *
   * @param bytes A chunk of the stream. Its borders have no meaning.
   * @returns Actions to perform, in order, after pending ones.
   */
  receive(bytes: Uint8Array): readonly StreamAct[];
}

export interface TlsSide {
  /** The certificate that the host sends, with its key. */
  readonly certificate: Certificate;
  /** Accepts an encrypted connection, after its handshake. */
  accept(peer: Endpoint): StreamTalk;
}

/** Accepts TCP connections of a host. */
export interface StreamResponder {
  /** Accepts a connection of a client. */
  accept(peer: Endpoint): StreamTalk;
  /**
   * Its side of connections that begin with a TLS handshake; the host then sends nothing at the start of
   * a connection. Default: the host speaks no TLS, and receives a handshake like other bytes.
   */
  readonly tls?: TlsSide;
}
