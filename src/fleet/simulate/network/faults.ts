/**
 * Simulated faults of a network: loss, delay and duplication of datagrams.
 *
 * @module
 */
import type { Random } from "../../random.ts";

/** Faults of a network, applied independently in each direction. */
export interface Faults {
  /** Probability that a datagram is lost, 0 to 1. */
  readonly loss: number;
  /** Probability that a datagram is duplicated, 0 to 1. */
  readonly duplication: number;
  /** Minimum delay of a datagram, milliseconds. */
  readonly delay: number;
  /** Maximum random delay in addition, milliseconds. It reorders datagrams. */
  readonly jitter: number;
}

export const NO_FAULTS: Faults = { loss: 0, duplication: 0, delay: 0, jitter: 0 };

/** Draws the delays of a datagram's copies, milliseconds. An empty list: the datagram is lost. */
export function drawDelays(faults: Faults, random: Random): number[] {
  const copies = random.chance(faults.loss) ? 0 : random.chance(faults.duplication) ? 2 : 1;
  return Array.from(
    { length: copies },
    () => faults.delay + faults.jitter * random.below(1000) / 1000,
  );
}
