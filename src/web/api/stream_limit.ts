/**
 * Limits how many streams are open at the same time.
 *
 * @module
 */

/** A limit of open streams. A stream counts from the decision to answer with it to the end of its response. */
export class StreamLimit {
  #open = 0;

  /** @param most Maximum number of open streams. */
  constructor(private readonly most: number) {}

  /** Whether no further stream may be opened. */
  get isReached(): boolean {
    return this.#open >= this.most;
  }

  /**
   * Counts a further stream.
   *
   * @returns Ends the stream; it has an effect only once. `undefined`: the limit is reached.
   */
  open(): (() => void) | undefined {
    if (this.isReached) return undefined;
    this.#open++;
    let isOpen = true;
    return () => {
      if (isOpen) this.#open--;
      isOpen = false;
    };
  }
}
