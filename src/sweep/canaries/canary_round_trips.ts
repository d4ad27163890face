/**
 * Questions in the order of asking, and how long an answer takes.
 *
 * @module
 */
import type { CanaryProbe } from "./canary_schedule.ts";

/** After how many round trips a question is judged, and after how long at least and at most. */
const ROUND_TRIPS = 4;
const LEAST_MS = 250;
const MOST_MS = 2000;
/** Before a round trip is known, milliseconds. */
const UNKNOWN_MS = 1000;

/** A queue that is not moved when its first element leaves. */
class Queue {
  #items: CanaryProbe[] = [];
  #first = 0;

  push(question: CanaryProbe): void {
    this.#items.push(question);
  }

  /** Takes all that were asked by a time. */
  *until(time: number): Generator<CanaryProbe> {
    while (this.#first < this.#items.length && this.#items[this.#first].askedAt <= time) {
      yield this.#items[this.#first++];
    }
    if (2 * this.#first < this.#items.length) return;
    this.#items = this.#items.slice(this.#first);
    this.#first = 0;
  }
}

/**
 * Questions come out twice: early, a few round trips after they were asked, for who wants to know
 * soon how the path is; and when it is sure that nothing comes.
 */
export class CanaryRoundTrips {
  readonly #early = new Queue();
  readonly #late = new Queue();
  #roundTrip: number | undefined;

  /** How long after it was asked a question is judged, milliseconds. */
  get patienceMs(): number {
    if (this.#roundTrip === undefined) return UNKNOWN_MS;
    return Math.min(MOST_MS, Math.max(LEAST_MS, ROUND_TRIPS * this.#roundTrip));
  }

  /** Notes a question. */
  asked(question: CanaryProbe): void {
    this.#early.push(question);
    this.#late.push(question);
  }

  /** Notes how long an answer took. */
  answered(ms: number): void {
    this.#roundTrip = this.#roundTrip === undefined ? ms : this.#roundTrip * 7 / 8 + ms / 8;
  }

  /** Those that can be judged now, and could not before. */
  judged(now: number): Iterable<CanaryProbe> {
    return this.#early.until(now - this.patienceMs);
  }

  /** Those that were asked by that time: their time is up. */
  over(time: number): Iterable<CanaryProbe> {
    return this.#late.until(time);
  }
}
