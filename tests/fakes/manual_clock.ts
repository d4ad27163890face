/** A clock for tests. */
import { type Clock, systemClock } from "../../src/net/clock.ts";

/** A clock that stands still until the test advances it. */
export class ManualClock implements Clock {
  #now = 0;
  readonly #timers = new Set<{ at: number; callback: () => void }>();

  now = () => this.#now;
  wall = () => this.#now;
  yieldToEvents = () => systemClock.yieldToEvents();
  pollSockets = () => systemClock.pollSockets();
  after = (ms: number, callback: () => void) => {
    const timer = { at: this.#now + ms, callback };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  };

  /** Advances the clock, and runs the timers of this time. */
  move(ms: number): void {
    this.#now += ms;
    for (const timer of this.#timers) {
      if (timer.at > this.#now) continue;
      this.#timers.delete(timer);
      timer.callback();
    }
  }
}
