/**
 * What a sweep had sent at times in the recent past. It shows which probes may still get a reply.
 *
 * @module
 */

/** A position in a sweep: all probes before it were sent. */
export interface Mark {
  /** Number of the pass, from 1. */
  readonly pass: number;
  /** The next position in the pass. */
  readonly position: number;
}

/** Whether a mark is after the start of a sweep. */
export function isLater({ pass, position }: Mark): boolean {
  return pass > 1 || position > 0;
}

/** Number of entries in a history. */
const STEPS = 64;

/** The marks of a sweep over a recent period. */
export class MarkHistory {
  readonly #steps: { readonly mark: Mark; readonly at: number }[];
  #pass: number;
  #position: number;
  #last: number;

  /**
   * Creates a history that starts at a mark.
   *
   * @param memoryMs The maximum delay of replies, milliseconds.
   * @param keptMs Length of the period, milliseconds. Default: that delay.
   */
  constructor(
    from: Mark,
    now: number,
    private readonly memoryMs: number,
    private readonly keptMs: number = memoryMs,
  ) {
    this.#steps = [{ mark: from, at: now }];
    this.#pass = from.pass;
    this.#position = from.position;
    this.#last = -Infinity;
  }

  /** Records that by now all probes before a position were sent, and no others. */
  record(pass: number, position: number, now: number): void {
    this.#pass = pass;
    this.#position = position;
    this.#last = now;
    if (now - this.#steps.at(-1)!.at < this.memoryMs / STEPS) return;
    this.#steps.push({ mark: { pass, position }, at: now });
    while (this.#steps.length > 1 && this.#steps[1].at <= now - this.keptMs) this.#steps.shift();
  }

  /**
   * A mark before which all probes were sent by a given time. `undefined`: no probe was sent after
   * that time.
   */
  before(time: number): Mark | undefined {
    if (this.#last <= time) return undefined;
    return (this.#steps.findLast(({ at }) => at <= time) ?? this.#steps[0]).mark;
  }

  /** A mark before which all probes were sent so long ago that no more replies are expected. */
  settled(now: number): Mark {
    return this.before(now - this.memoryMs) ?? { pass: this.#pass, position: this.#position };
  }
}
