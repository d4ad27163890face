/**
 * The kinds of probes that the sender writes and the receiver recognises, and the clock of their stamps.
 *
 * @module
 */
import type { Probe } from "../protocols/protocol.ts";

/** A kind of probe in a scan. */
export interface ProbeKind {
  /** Name of the protocol. */
  readonly protocol: string;
  /** The probe of the protocol. */
  readonly probe: Probe<unknown>;
  /** Index of the protocol, which is part of the token. */
  readonly kind: number;
}

/** Converts milliseconds to the clock of tokens: microseconds modulo 2^32. */
export function stampClock(ms: number): number {
  return Math.floor(ms * 1000) % 2 ** 32;
}
