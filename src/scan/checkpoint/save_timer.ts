/**
 * Saves a running scan each second, and detects jumps of the wall clock.
 *
 * @module
 */
import type { Clock } from "../../net/clock.ts";

/** Interval between saves, milliseconds. */
const EVERY_MS = 1000;
/** Minimum difference between the two clocks in one interval that is reported, milliseconds. */
const MAX_DRIFT_MS = 2000;

/**
 * Calls `save` each second, one call at a time. Compares the wall clock with the monotonic clock.
 * The monotonic clock stops while a machine sleeps.
 *
 * @param onClockJump Called with the difference by which the wall clock jumped, milliseconds.
 * @param save Saves the scan. It must not reject. The next call waits for the end of this one.
 * @returns A function that stops the timer and resolves when the last call has ended.
 */
export function eachSecond(
  clock: Clock,
  onClockJump: (ms: number) => void = () => {},
  save: () => Promise<void>,
): () => Promise<void> {
  let cancel = () => {};
  let saving = Promise.resolve();
  let over = false;
  let offset = clock.wall() - clock.now();
  const compareClocks = () => {
    const before = offset;
    offset = clock.wall() - clock.now();
    if (Math.abs(offset - before) > MAX_DRIFT_MS) onClockJump(offset - before);
  };
  const schedule = () => {
    cancel = clock.after(EVERY_MS, () => {
      compareClocks();
      saving = save().then(() => over ? undefined : schedule());
    });
  };
  schedule();
  return async () => {
    over = true;
    cancel();
    await saving;
  };
}
