/**
 * What is done each second while a scan runs.
 *
 * @module
 */
import type { Clock } from "../../net/clock.ts";

/** How often, milliseconds. */
const EVERY_MS = 1000;
/** How far two clocks may part in that time before it is told, milliseconds. */
const MOST_DRIFT_MS = 2000;

/**
 * Saves each second, and never twice at once; looks whether the time of day has run as the clock
 * has, which stands still while a machine sleeps.
 *
 * @param onClockJump Told by how much the time of day went further.
 * @param save Must not reject. The next one waits for it.
 * @returns Ends it; resolves when the last one is through.
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
  const look = () => {
    const before = offset;
    offset = clock.wall() - clock.now();
    if (Math.abs(offset - before) > MOST_DRIFT_MS) onClockJump(offset - before);
  };
  const schedule = () => {
    cancel = clock.after(EVERY_MS, () => {
      look();
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
