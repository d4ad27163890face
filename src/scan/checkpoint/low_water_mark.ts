/**
 * Up to where a scan is through: before its marks everything was asked, had the time to answer, and
 * whoever did was inspected and written.
 *
 * @module
 */
import type { Mark } from "../../sweep/trail.ts";

/** Where the two halves of a scan stand. */
export interface Marks {
  /** The sweep of datagrams. */
  readonly udp: Mark;
  /** The one of connections. */
  readonly tcp: Mark;
}

/** Where a new scan starts. */
export const START: Marks = { udp: { pass: 1, position: 0 }, tcp: { pass: 1, position: 0 } };

/** Marks that wait for those who were sighted before them, at the most. */
const MOST_WAITING = 64;

/**
 * Sightings are numbered. When a mark is noted, all answers to what stands before it have become
 * sightings; once those are through which had begun by then, the mark is low water.
 */
export class LowWaterMark {
  #marks: Marks;
  /** The number of the next sighting, and those that are not through, in ascending order. */
  #next = 0;
  readonly #open = new Set<number>();
  #waiting: { readonly marks: Marks; readonly next: number }[] = [];

  /** Starts where the scan does. */
  constructor(from: Marks) {
    this.#marks = from;
  }

  /** Up to where the scan is through. */
  get marks(): Marks {
    return this.#marks;
  }

  /**
   * A sighting begins.
   *
   * @returns Called when it is through: its row is written, or none comes of it. Never called where
   * it was cut off: who goes on has to ask again.
   */
  begin(): () => void {
    const number = this.#next++;
    this.#open.add(number);
    return () => void this.#open.delete(number);
  }

  /**
   * Notes where the halves stand now.
   *
   * @param marks Answers to what stands before them have come.
   * @returns Up to where the scan is through.
   */
  note(marks: Marks): Marks {
    this.#waiting.push({ marks, next: this.#next });
    const oldest = this.#open.values().next().value ?? this.#next;
    const settled = this.#waiting.findLastIndex(({ next }) => next <= oldest);
    if (settled >= 0) {
      this.#marks = this.#waiting[settled].marks;
      this.#waiting.splice(0, settled + 1);
    }
    // Where one takes long, every other mark is enough.
    if (this.#waiting.length > MOST_WAITING) this.#waiting = this.#waiting.filter((_, i) => i % 2);
    return this.#marks;
  }
}
