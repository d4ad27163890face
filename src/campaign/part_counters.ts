/**
 * What a part has done so far, as numbers.
 *
 * @module
 */
import { type Check, integer, objectOf } from "../core/checked_values.ts";

/** What a part has done so far, in all its views. */
export interface PartCounters {
  /** Packets sent: probes and connections. */
  readonly sent: number;
  /** Received datagrams. */
  readonly replies: number;
  /**
   * Rows written, by the view that wrote most. Those after the marks of a worker that was killed count
   * again.
   */
  readonly found: number;
  /** Targets before the position of the sweep, of all passes and views. */
  readonly position: number;
  /** Targets of all passes and views. */
  readonly total: number;
}

/** The numbers of a part that has not begun. */
export const NO_COUNTERS: PartCounters = { sent: 0, replies: 0, found: 0, position: 0, total: 0 };

/** Checks the numbers of a part. */
export const partCounters: Check<PartCounters> = objectOf({
  sent: integer(),
  replies: integer(),
  found: integer(),
  position: integer(),
  total: integer(),
});
