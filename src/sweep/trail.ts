/**
 * How far a sweep came, and when: which of its probes may still be answered.
 *
 * @module
 */

/** Where a sweep stands: everything before it was sent. */
export interface Mark {
  /** The pass, from 1. */
  readonly pass: number;
  /** The next position in it. */
  readonly position: number;
}

/** Whether a mark is behind the start. */
export function isLater({ pass, position }: Mark): boolean {
  return pass > 1 || position > 0;
}

/** Steps that a trail is kept in. */
const STEPS = 64;

/** Where a sweep stood when, as far back as it matters. */
export class Trail {
  readonly #steps: { readonly mark: Mark; readonly at: number }[];
  #pass: number;
  #position: number;
  #last: number;

  /**
   * Starts where the sweep does.
   *
   * @param memoryMs How far back it matters: as long as answers may take, milliseconds.
   */
  constructor(from: Mark, now: number, private readonly memoryMs: number) {
    this.#steps = [{ mark: from, at: now }];
    this.#pass = from.pass;
    this.#position = from.position;
    this.#last = -Infinity;
  }

  /** Notes that everything before that position was sent by now, and nothing else. */
  note(pass: number, position: number, now: number): void {
    this.#pass = pass;
    this.#position = position;
    this.#last = now;
    if (now - this.#steps.at(-1)!.at < this.memoryMs / STEPS) return;
    this.#steps.push({ mark: { pass, position }, at: now });
    while (this.#steps.length > 1 && this.#steps[1].at <= now - this.memoryMs) this.#steps.shift();
  }

  /** A mark before which all was sent by that time; `undefined` where that is everything. */
  before(time: number): Mark | undefined {
    if (this.#last <= time) return undefined;
    return (this.#steps.findLast(({ at }) => at <= time) ?? this.#steps[0]).mark;
  }

  /** A mark before which everything had the time to be answered. */
  settled(now: number): Mark {
    return this.before(now - this.memoryMs) ?? { pass: this.#pass, position: this.#position };
  }
}
