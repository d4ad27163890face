/**
 * The contract of hosts that answer on UDP, and how they remember their senders.
 *
 * @module
 */
import { type Endpoint, endpointKey } from "../../core/address.ts";

/** What answers datagrams: a server, or something hostile in its place. */
export interface Responder {
  /**
   * Takes a datagram.
   *
   * @param datagram What arrived.
   * @param from Who sent it.
   * @param now Milliseconds of any clock.
   * @returns What is sent back, in order.
   */
  respond(datagram: Uint8Array, from: Endpoint, now: number): readonly Uint8Array[];
}

/** How many senders a server remembers: a real one has its limits too. */
const MOST_SENDERS = 1024;

/** Sets an entry and forgets the oldest when there are too many. */
export function remember(map: Map<number | bigint, number>, from: Endpoint, value: number): void {
  map.delete(endpointKey(from));
  map.set(endpointKey(from), value);
  if (map.size > MOST_SENDERS) map.delete(map.keys().next().value!);
}

/** What a host does on a connection: it says something, waits, closes or resets it. */
export type StreamAct =
  | { readonly bytes: Uint8Array }
  | { readonly waitMs: number }
  | "close"
  | "reset";

/** One connection, as its host sees it. */
export interface StreamTalk {
  /** What it does before anything came. */
  readonly opening: readonly StreamAct[];
  /**
   * Takes what arrived.
   *
   * @param bytes Some bytes: where they are cut means nothing.
   * @returns What it does, in order, after all that it was doing.
   */
  receive(bytes: Uint8Array): readonly StreamAct[];
}

/** What accepts connections. */
export interface StreamResponder {
  /** Accepts one. */
  accept(peer: Endpoint): StreamTalk;
}
