/**
 * The contract of hosts that answer on TCP: bytes in, acts out.
 *
 * @module
 */
import type { Endpoint } from "../../../core/address.ts";

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
