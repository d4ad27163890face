/**
 * What a network does to datagrams on their way: it loses, delays and doubles them.
 *
 * @module
 */
import type { Random } from "../../random.ts";

/** How bad a network is, for each way on its own. */
export interface Faults {
  /** Share of datagrams lost, 0 to 1. */
  readonly loss: number;
  /** Share of datagrams doubled, 0 to 1. */
  readonly duplication: number;
  /** The least delay, milliseconds. */
  readonly delay: number;
  /** How much may be added to it, milliseconds: datagrams overtake each other then. */
  readonly jitter: number;
}

/** A network without faults. */
export const NO_FAULTS: Faults = { loss: 0, duplication: 0, delay: 0, jitter: 0 };

/** When the copies of one datagram arrive, in milliseconds from now: none when it is lost. */
export function drawDelays(faults: Faults, random: Random): number[] {
  const copies = random.chance(faults.loss) ? 0 : random.chance(faults.duplication) ? 2 : 1;
  return Array.from(
    { length: copies },
    () => faults.delay + faults.jitter * random.below(1000) / 1000,
  );
}
