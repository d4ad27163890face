/** A clock that stands still until a test moves it. */
import { type Clock, systemClock } from "../../src/net/clock.ts";

/** A clock that stands still until {@linkcode move}. */
export class ManualClock implements Clock {
  #now = 0;
  readonly #timers = new Set<{ at: number; callback: () => void }>();

  now = () => this.#now;
  wall = () => this.#now;
  yieldToEvents = () => systemClock.yieldToEvents();
  pollSockets = () => systemClock.pollSockets();
  after = (ms: number, callback: () => void) => this.timer(ms, callback);

  /** Starts a timer. */
  protected timer(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + ms, callback };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Number of timers. */
  get timers(): number {
    return this.#timers.size;
  }

  /** Moves the time on. Timers whose time has come call back in the order of their times. */
  move(ms: number): void {
    this.#now += ms;
    const due = [...this.#timers].filter(({ at }) => at <= this.#now).sort((a, b) => a.at - b.at);
    for (const timer of due) if (this.#timers.delete(timer)) timer.callback();
  }
}
