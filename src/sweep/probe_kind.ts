/**
 * The kinds of probes that the sender writes and the receiver recognises, and the clock of their stamps.
 *
 * @module
 */
import type { Probe } from "../protocols/protocol.ts";

export interface ProbeKind {
  readonly protocol: string;
  readonly probe: Probe<unknown>;
  /** Index of the protocol, which is part of the token. */
  readonly kind: number;
}

/** Converts milliseconds to the clock of tokens: microseconds modulo 2^32. */
export function stampClock(ms: number): number {
  return Math.floor(ms * 1000) % 2 ** 32;
}
