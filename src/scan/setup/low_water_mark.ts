/**
 * The low-water mark of a scan: every target before the mark was probed, its time to reply has
 * passed, and the row of every server that replied is written.
 *
 * @module
 */
import type { Mark } from "../../sweep/mod.ts";

/** The positions of a scan's UDP sweep and TCP sweep. */
export interface Marks {
  /** Position of the UDP sweep. */
  readonly udp: Mark;
  /** Position of the TCP sweep. */
  readonly tcp: Mark;
}

/** The marks of a new scan. */
export const START: Marks = { udp: { pass: 1, position: 0 }, tcp: { pass: 1, position: 0 } };

/** Maximum number of marks that wait for earlier sightings. */
const MAX_WAITING = 64;

/**
 * Computes the low-water mark. When a mark is recorded, all replies to earlier probes have become
 * sightings. The mark becomes the low-water mark when all sightings that began before it are
 * finished. Sightings are numbered for this purpose.
 */
export class LowWaterMark {
  #marks: Marks;
  /** Number of the next sighting, and the numbers of the unfinished ones, in ascending order. */
  #next = 0;
  readonly #open = new Set<number>();
  #waiting: { readonly marks: Marks; readonly next: number }[] = [];

  /** Creates the low-water mark from the first marks of the scan. */
  constructor(from: Marks) {
    this.#marks = from;
  }

  get marks(): Marks {
    return this.#marks;
  }

  /**
   * Begins a sighting.
   *
   * @returns A function to call when the sighting is finished: its row is written, or it gets no
   * row. The function is not called for a cancelled sighting: a resumed scan probes its endpoint
   * again.
   */
  begin(): () => void {
    const number = this.#next++;
    this.#open.add(number);
    return () => void this.#open.delete(number);
  }

  /**
   * Records the current positions of the sweeps.
   *
   * @param marks Positions up to which the time to reply has passed.
   * @returns The low-water marks.
   */
  note(marks: Marks): Marks {
    this.#waiting.push({ marks, next: this.#next });
    const oldest = this.#open.values().next().value ?? this.#next;
    const settled = this.#waiting.findLastIndex(({ next }) => next <= oldest);
    if (settled >= 0) {
      this.#marks = this.#waiting[settled].marks;
      this.#waiting.splice(0, settled + 1);
    }
    // If a sighting takes long, every second mark is dropped to bound memory.
    if (this.#waiting.length > MAX_WAITING) this.#waiting = this.#waiting.filter((_, i) => i % 2);
    return this.#marks;
  }
}
