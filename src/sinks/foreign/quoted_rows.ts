/**
 * Reads rows of CSV over several lines: a quoted cell may contain line breaks (RFC 4180).
 *
 * @module
 */
import type { Entry } from "./entries.ts";

/** Limits of a row: an unclosed quote keeps no more than this in memory. */
const [MAX_LINES, MAX_LENGTH] = [1000, 1 << 16];

/**
 * Joins the lines of rows, in linear time. A line that cannot be read and leaves a quote open is joined
 * with the next ones, up to that which closes it. If they are no row, or one over the limits, the first
 * line cannot be read, and the others are read one by one.
 */
export class QuotedRows<T extends object> {
  #held: Entry[] = [];
  #length = 0;

  /** @param parse Reads a line, or the joined ones; `undefined`: it cannot be read. */
  constructor(private readonly parse: (text: string) => T | undefined) {}

  /** Whether lines wait for the end of a quote. */
  get isHeld(): boolean {
    return this.#held.length > 0;
  }

  /** Adds a line. Returns the number and the content of each that is read, or cannot be. */
  *add(entry: Entry): Generator<readonly [number, T | undefined], void> {
    const { number, text } = entry;
    const isOdd = text !== undefined && hasOddQuotes(text);
    if (this.#held.length === 0) {
      const one = text === undefined ? undefined : this.parse(text);
      if (one === undefined && isOdd && !/^\s*\{/.test(text)) this.#hold(entry);
      else yield [number, one];
      return;
    }
    this.#hold(entry);
    const isTooLong = this.#held.length > MAX_LINES || this.#length > MAX_LENGTH;
    if (text !== undefined && !isOdd && !isTooLong) return;
    const isClosed = isOdd && !isTooLong;
    const row = isClosed ? this.parse(this.#held.map((one) => one.text).join("\n")) : undefined;
    if (row === undefined) return yield* this.end();
    yield [this.#take()[0].number, row];
  }

  /** Reads the lines of an unclosed quote one by one. */
  *end(): Generator<readonly [number, T | undefined], void> {
    const [first, ...others] = this.#take();
    if (first === undefined) return;
    yield [first.number, undefined];
    for (const other of others) yield* this.add(other); // only the last of them can be held again
  }

  #hold(entry: Entry): void {
    this.#held.push(entry);
    this.#length += entry.text?.length ?? 0;
  }

  #take(): readonly Entry[] {
    const held = this.#held;
    [this.#held, this.#length] = [[], 0];
    return held;
  }
}

function hasOddQuotes(text: string): boolean {
  let isOdd = false;
  for (let at = -1; (at = text.indexOf('"', at + 1)) >= 0;) isOdd = !isOdd;
  return isOdd;
}
