/**
 * JSON from strangers: bounded before it is parsed, so that no text of 2 MiB becomes a tree of a
 * million objects. What lies beyond the bounds is left out, and a flag says so.
 *
 * @module
 */
import { Malformed } from "../../core/bytes.ts";
import { decodeUtf8 } from "../../core/text.ts";

/** An object of JSON. Its keys are a stranger's: see {@linkcode ownValue}. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Objects and lists in each other: a component takes two of each level that it may have. */
export const MOST_NESTING = 80;
/** Values in one text: a big pack of mods has some thousands. */
export const MOST_VALUES = 65_536;
/** Values that each of the first keys may have where the others left none. */
export const LEAST_VALUES = 1024;
/** How many keys that is said of: a status has some ten. */
const FIRST_KEYS = 64;

/** What was odd about a text of JSON. */
export type JsonFlag =
  /** Bytes are not UTF-8; U+FFFD stands for them. */
  | "badUtf8"
  /** Control characters stand in it as they are, where JSON wants them escaped, or a BOM before it. */
  | "badJson"
  /** It is deeper, or has more values, than is read: what lies beyond is left out. */
  | "cut";

/** A text of JSON, parsed. */
export interface ParsedJson {
  /** What it says. */
  readonly value: unknown;
  /** What was odd. */
  readonly flags: readonly JsonFlag[];
}

/**
 * Parses JSON.
 *
 * @throws Malformed when it is none.
 */
export function parseBoundedJson(bytes: Uint8Array): ParsedJson {
  const { text, badUtf8 } = decodeUtf8(bytes);
  const flags: JsonFlag[] = badUtf8 ? ["badUtf8"] : [];
  const { json, cut } = boundJson(text.startsWith(BOM) ? text.slice(BOM.length) : text);
  if (cut) flags.push("cut");
  const value = tryParse(json);
  if (value !== undefined) {
    return { value, flags: text.startsWith(BOM) ? [...flags, "badJson"] : flags };
  }
  // Lenient on purpose: Gson, in the game's client, reads raw control characters in strings.
  const mended = tryParse(json.replace(CONTROL, " "));
  if (mended === undefined) throw new Malformed("a status that is no JSON", 0);
  return { value: mended, flags: [...flags, "badJson"] };
}

const BOM = "\ufeff";
const CONTROL = /\p{Cc}/gu;

/** What is asked of a text: a test counts how often. */
export type JsonText = Pick<string, "length" | "charCodeAt" | "indexOf" | "slice">;

/**
 * Leaves out what lies beyond the bounds: `null` stands for an object or a list that is too deep, and
 * one with too many values ends early. Whether it is JSON at all is not asked.
 */
export function boundJson(text: JsonText): { readonly json: string; readonly cut: boolean } {
  const scan = new BoundedCopy(text);
  for (let at = 0; at < text.length; at++) {
    const token = text.charCodeAt(at);
    if (token === 0x22) at = endOfText(text, at); // "
    else if (token === 0x7b || token === 0x5b) scan.opens(at); // { [
    else if (token === 0x7d || token === 0x5d) scan.closes(at); // } ]
    else if (token === 0x2c) scan.goesOn(at); // ,
  }
  return scan.result();
}

/** The way through a text of JSON, and what of it is kept. */
class BoundedCopy {
  readonly #kept: string[] = [];
  /** Where what is being kept begins. */
  #from = 0;
  #depth = 0;
  #values = MOST_VALUES;
  #keys = 0;
  /** The depth of the object or list that is being left out, or the rest of it; 0: none is. */
  #leftOut = 0;
  /** Whether all of that is left out, its end too. */
  #whole = false;

  constructor(readonly text: JsonText) {}

  /** An object or a list begins. */
  opens(at: number): void {
    this.#depth++;
    if (this.#leftOut > 0) return;
    if (this.#depth <= MOST_NESTING && this.#values-- > 0) return;
    this.#leave(at, true);
    this.#kept.push("null");
  }

  /** An object or a list ends. */
  closes(at: number): void {
    if (this.#leftOut > 0 && this.#leftOut === this.#depth) {
      this.#from = this.#whole ? at + 1 : at;
      this.#leftOut = 0;
    }
    this.#depth--;
  }

  /** Another value of an object or a list follows. */
  goesOn(at: number): void {
    if (this.#leftOut > 0) return;
    const isFirst = this.#depth === 1 && this.#keys++ < FIRST_KEYS;
    if (isFirst) this.#values = Math.max(this.#values, LEAST_VALUES);
    if (this.#values-- <= 0) this.#leave(at, false);
  }

  #leave(at: number, whole: boolean): void {
    this.#kept.push(this.text.slice(this.#from, at));
    this.#leftOut = this.#depth;
    this.#whole = whole;
  }

  /** The text without what was left out. */
  result(): { readonly json: string; readonly cut: boolean } {
    const rest = this.#leftOut > 0 ? "" : this.text.slice(this.#from, this.text.length);
    return { json: this.#kept.join("") + rest, cut: this.#kept.length > 0 };
  }
}

/** Where the text that starts here ends. Every backslash is looked at once, or once more. */
function endOfText(text: JsonText, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === 0x5c) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}

/** `undefined` when the text is no JSON. */
function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a value is an object, and no list. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A value of an object's own: `constructor` is there only where it was sent. */
export function ownValue(object: unknown, key: string): unknown {
  return isObject(object) && Object.hasOwn(object, key) ? object[key] : undefined;
}

/** A text, or `null`. */
export function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** A list; empty when the value is none. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
