/**
 * Splits a file into entries: lines, and JSON objects, which may take several lines or share one.
 *
 * @module
 */

/** A line, or a JSON object. */
export interface Entry {
  /** The number of its first line, from 1. */
  readonly number: number;
  /** Its text; `undefined` for an object that is cut off, and for a text over the limit. */
  readonly text: string | undefined;
}

/**
 * Reads entries in linear time, with at most one of them in memory. An object begins with the first `{`
 * of a line, after brackets and commas at most. Objects of NDJSON, of a JSON array in one line and of
 * a formatted one are therefore read alike. An object that is cut off ends before the next `{` at the
 * start of a line: formatted JSON has none inside of an object.
 */
export class EntryReader {
  #line = 1;
  #first = 1;
  #parts: string[] = [];
  #length = 0;
  /** `gap`: nothing but white space, brackets and commas were read since the line or object began. */
  #within: "gap" | "line" | "object" = "gap";
  /** Number of open braces and brackets of the object. */
  #depth = 0;
  #isQuoted = false;
  #isEscaped = false;
  #before = LINE_FEED;

  /** @param longest Maximum length of an entry, UTF-16 code units. */
  constructor(private readonly longest: number) {}

  /** Reads the next part of the file. Returns the entries that end in this part. */
  *read(chunk: string): Generator<Entry, void> {
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      if (this.#within === "line") {
        at = chunk.indexOf("\n", at);
        if (at < 0) break;
      }
      const code = chunk.charCodeAt(at);
      if (this.#within === "object") {
        if (this.#isCut(code)) {
          this.#reset();
          yield { number: this.#first, text: undefined };
          from = at;
        } else if (this.#length + at - from >= this.longest) {
          this.#within = "line"; // the rest of the line is dropped with it
        } else if (this.#endsObject(code)) {
          this.#take(chunk.slice(from, at + 1));
          yield this.#finish();
          from = at + 1;
          continue;
        }
      }
      if (this.#within === "gap" && code === OPEN && this.#depth === 0) {
        [this.#within, this.#first, this.#depth] = ["object", this.#line, 1];
        [this.#parts, this.#length, from] = [[], 0, at];
      } else if (this.#within === "gap" && !GAP.has(code)) {
        [this.#within, this.#first] = ["line", this.#line];
      }
      if (code === LINE_FEED) {
        this.#line++;
        if (this.#within === "line") {
          this.#take(chunk.slice(from, at));
          yield this.#finish();
        }
        if (this.#within === "gap") {
          this.#reset();
          from = at + 1;
        }
      }
      this.#before = code;
    }
    this.#take(chunk.slice(from));
  }

  /** The entry that the end of the file ends. */
  *end(): Generator<Entry, void> {
    if (this.#within === "object") yield { number: this.#first, text: undefined };
    else if (this.#within === "line") yield this.#finish();
  }

  /** Whether the object is cut off before this character. */
  #isCut(code: number): boolean {
    return this.#isQuoted ? code === LINE_FEED : code === OPEN && this.#before === LINE_FEED;
  }

  /** Processes a character of an object. Returns whether the object ends with it. */
  #endsObject(code: number): boolean {
    if (this.#isQuoted) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (code === BACKSLASH) this.#isEscaped = true;
      else if (code === QUOTE) this.#isQuoted = false;
      return false;
    }
    if (code === QUOTE) this.#isQuoted = true;
    else if (code === OPEN || code === OPEN_LIST) this.#depth++;
    else if (code === CLOSE || code === CLOSE_LIST) return --this.#depth === 0;
    return false;
  }

  /** Adds a part of the entry, unless it exceeds the limit. */
  #take(part: string): void {
    this.#length += part.length;
    if (this.#length <= this.longest) this.#parts.push(part);
    else this.#parts = [];
  }

  #finish(): Entry {
    const text = this.#length > this.longest ? undefined : this.#parts.join("");
    this.#reset();
    return { number: this.#first, text };
  }

  #reset(): void {
    [this.#parts, this.#length, this.#within] = [[], 0, "gap"];
    [this.#depth, this.#isQuoted, this.#isEscaped] = [0, false, false];
  }
}

const [LINE_FEED, QUOTE, BACKSLASH] = [10, 34, 92];
const [OPEN, CLOSE, OPEN_LIST, CLOSE_LIST] = [123, 125, 91, 93];
/** White space, commas and brackets, which may separate objects; and a byte order mark. */
const GAP = new Set([..." \t\r\n,[]\ufeff"].map((one) => one.charCodeAt(0)));
