/**
 * The fence: it keeps packets back unless the lease of their part is fresh.
 *
 * @module
 */
import type { Clock } from "../net/clock.ts";
import type { SendGate } from "../net/send_gate.ts";

/** A time by both clocks, milliseconds. */
export interface Moment {
  /** Monotonic time. It may stand still while the machine is suspended. */
  readonly now: number;
  /** Wall-clock time. It may jump. */
  readonly wall: number;
}

/** The time now by both clocks. */
export function momentOf(clock: Clock): Moment {
  return { now: clock.now(), wall: clock.wall() };
}

/**
 * A gate that is open only while the last successful renewal is fresh, by both clocks. After the
 * process or the machine was stopped, it is therefore closed from the first moment.
 */
export class Fence implements SendGate {
  keptBack = 0;
  readonly #clock: Clock;
  readonly #freshMs: number;
  #renewed: Moment = { now: -Infinity, wall: -Infinity };
  #openFrom = -Infinity;
  #isOver = false;
  #waiting: PromiseWithResolvers<boolean> | undefined;
  #cancelTimer = () => {};

  /** @param freshMs How long a renewal is fresh, milliseconds. */
  constructor(clock: Clock, freshMs: number) {
    this.#clock = clock;
    this.#freshMs = freshMs;
  }

  /** Keeps packets back until a monotonic time, also if the lease is renewed. */
  holdUntil(now: number): void {
    this.#openFrom = now;
    this.#cancelTimer();
    this.#cancelTimer = this.#clock.after(now - this.#clock.now(), () => this.#wake());
  }

  /** Records a successful renewal by the time at which it began. */
  renew(start: Moment): void {
    this.#renewed = start;
    this.#wake();
  }

  /** Closes for good. */
  close(): void {
    this.#isOver = true;
    this.#cancelTimer();
    this.#waiting?.resolve(false);
  }

  isOpen(): boolean {
    const { now, wall } = momentOf(this.#clock);
    const steps = Math.abs(wall - this.#renewed.wall);
    return !this.#isOver && now >= this.#openFrom && now - this.#renewed.now < this.#freshMs &&
      steps < this.#freshMs;
  }

  whenOpen(): Promise<boolean> {
    if (this.#isOver) return Promise.resolve(false);
    if (this.isOpen()) return Promise.resolve(true);
    this.#waiting ??= Promise.withResolvers();
    return this.#waiting.promise;
  }

  #wake(): void {
    if (!this.isOpen()) return;
    this.#waiting?.resolve(true);
    this.#waiting = undefined;
  }
}
