/**
 * The fence: it keeps packets back unless the lease of their part is fresh.
 *
 * @module
 */
import type { Clock } from "../net/clock.ts";
import type { SendGate } from "../net/mod.ts";

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
  /** Whether the fence has not closed since `whenCurrent` was called and resolved. */
  #isCurrent = false;
  /** The last call of `whenCurrent`. */
  #check = 0;
  #waiting: PromiseWithResolvers<boolean> | undefined;
  #cancelTimer = () => {};

  /**
   * @param freshMs How long a renewal is fresh, milliseconds.
   * @param whenCurrent Called each time that the fence has closed. It opens again after `true`: what
   * others forbade meanwhile has been applied.
   */
  constructor(
    clock: Clock,
    freshMs: number,
    private readonly whenCurrent: () => Promise<boolean>,
  ) {
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
    const wasFresh = this.#isFresh();
    this.#renewed = start;
    if (wasFresh) this.#wake();
    else this.interrupt();
  }

  /** Closes until `whenCurrent`, which is called now, resolves. */
  interrupt(): void {
    const check = ++this.#check;
    this.#isCurrent = false;
    void this.whenCurrent().then((isCurrent) => {
      if (!isCurrent || check !== this.#check) return;
      this.#isCurrent = true;
      this.#wake();
    });
  }

  /** Closes for good. */
  close(): void {
    this.#isOver = true;
    this.#cancelTimer();
    this.#waiting?.resolve(false);
  }

  isOpen(): boolean {
    return !this.#isOver && this.#isCurrent && this.#clock.now() >= this.#openFrom &&
      this.#isFresh();
  }

  #isFresh(): boolean {
    const { now, wall } = momentOf(this.#clock);
    return now - this.#renewed.now < this.#freshMs &&
      Math.abs(wall - this.#renewed.wall) < this.#freshMs;
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
