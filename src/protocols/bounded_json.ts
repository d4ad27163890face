/**
 * Bounds untrusted JSON before it is parsed. Otherwise a text of 2 MiB could become a tree of a
 * million objects. Values beyond the bounds are omitted, and a flag reports the omission.
 *
 * @module
 */
import { Malformed } from "../core/bytes.ts";
import { decodeUtf8 } from "../core/text.ts";

/** A JSON object with untrusted keys: read it with {@linkcode ownValue}. */
export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Maximum number of levels of nested objects and lists; each level of a text component takes two.
 */
export const MAX_NESTING = 80;
/** Maximum number of values in one text; a big mod pack has some thousands. */
export const MAX_JSON_VALUES = 65_536;
/**
 * Number of values that each of the first keys may have in any case, even if earlier keys exceed
 * the bounds.
 */
export const MIN_VALUES = 1024;
/** Number of keys with a guaranteed number of values; a status has about ten keys. */
const FIRST_KEYS = 64;

/** An anomaly of a JSON text. */
export type JsonFlag =
  /** Bytes are not valid UTF-8; U+FFFD replaces them. */
  | "badUtf8"
  /** The text contains unescaped control characters or starts with a BOM. JSON forbids both. */
  | "badJson"
  /** The text exceeds the bounds on nesting or values; the rest is omitted. */
  | "cut";

export interface ParsedJson {
  /** The parsed value, without omitted parts. */
  readonly value: unknown;
  /** The text that was parsed: valid JSON within the bounds. */
  readonly json: string;
  /** Anomalies that the parser found. */
  readonly flags: readonly JsonFlag[];
}

/**
 * Parses JSON within the bounds of this file.
 *
 * @throws Malformed when the text is not JSON.
 */
export function parseBoundedJson(bytes: Uint8Array): ParsedJson {
  const { text, badUtf8 } = decodeUtf8(bytes);
  const flags: JsonFlag[] = badUtf8 ? ["badUtf8"] : [];
  const { json, cut } = boundJson(text.startsWith(BOM) ? text.slice(BOM.length) : text);
  if (cut) flags.push("cut");
  const value = tryParse(json);
  if (value !== undefined) {
    return { value, json, flags: text.startsWith(BOM) ? [...flags, "badJson"] : flags };
  }
  // Lenient on purpose: Gson, in the game's client, reads raw control characters in strings.
  const spaced = json.replace(CONTROL, " ");
  const mended = tryParse(spaced);
  if (mended === undefined) throw new Malformed("a status that is not JSON", 0);
  return { value: mended, json: spaced, flags: [...flags, "badJson"] };
}

const BOM = "\ufeff";
const CONTROL = /\p{Cc}/gu;

/**
 * The members of a string that {@linkcode boundJson} uses. A test replaces them to count their
 * calls.
 */
export type JsonText = Pick<string, "length" | "charCodeAt" | "indexOf" | "slice">;

/**
 * Omits values beyond the bounds. `null` replaces an object or list that is nested too deeply, and
 * an object or list with too many values ends early. The text need not be valid JSON.
 */
export function boundJson(text: JsonText): { readonly json: string; readonly cut: boolean } {
  const copy = new BoundedCopy(text);
  for (let at = 0; at < text.length; at++) {
    const token = text.charCodeAt(at);
    if (token === 0x22) at = endOfString(text, at); // "
    else if (token === 0x7b || token === 0x5b) copy.open(at); // { [
    else if (token === 0x7d || token === 0x5d) copy.close(at); // } ]
    else if (token === 0x2c) copy.comma(at); // ,
  }
  return copy.result();
}

/** Copies a JSON text token by token, without the values beyond the bounds. */
class BoundedCopy {
  readonly #kept: string[] = [];
  /** Offset of the first character that is not copied yet. */
  #from = 0;
  #depth = 0;
  #values = MAX_JSON_VALUES;
  #keys = 0;
  /** Depth of the object or list that is being omitted, wholly or in part; 0: none. */
  #omittedDepth = 0;
  /** Whether the object or list at that depth is omitted wholly, its closing bracket included. */
  #whole = false;

  constructor(readonly text: JsonText) {}

  /** Handles an opening bracket. */
  open(at: number): void {
    this.#depth++;
    if (this.#omittedDepth > 0) return;
    if (this.#depth <= MAX_NESTING && this.#values-- > 0) return;
    this.#omit(at, true);
    this.#kept.push("null");
  }

  /** Handles a closing bracket. */
  close(at: number): void {
    if (this.#omittedDepth > 0 && this.#omittedDepth === this.#depth) {
      this.#from = this.#whole ? at + 1 : at;
      this.#omittedDepth = 0;
    }
    this.#depth--;
  }

  /** Handles a comma. Another value of an object or list follows the comma. */
  comma(at: number): void {
    if (this.#omittedDepth > 0) return;
    const isFirst = this.#depth === 1 && this.#keys++ < FIRST_KEYS;
    if (isFirst) this.#values = Math.max(this.#values, MIN_VALUES);
    if (this.#values-- <= 0) this.#omit(at, false);
  }

  #omit(at: number, whole: boolean): void {
    this.#kept.push(this.text.slice(this.#from, at));
    this.#omittedDepth = this.#depth;
    this.#whole = whole;
  }

  /** The text without the omitted values. */
  result(): { readonly json: string; readonly cut: boolean } {
    const rest = this.#omittedDepth > 0 ? "" : this.text.slice(this.#from, this.text.length);
    return { json: this.#kept.join("") + rest, cut: this.#kept.length > 0 };
  }
}

/** Offset of the quote that ends a string. Every backslash is read at most twice. */
function endOfString(text: JsonText, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === 0x5c) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}

/**
 * The members of an object that is valid JSON, with the first value of a key that occurs twice:
 * `JSON.parse()` keeps the last one. `undefined`: every key occurs once.
 */
export function firstMembers(json: string): Map<string, unknown> | undefined {
  const members = new Map<string, unknown>();
  let [depth, from, isDuplicate] = [0, 0, false];
  const take = (at: number) => {
    const member = json.slice(from, at);
    const start = member.indexOf('"');
    if (start < 0) return; // an empty object
    const end = endOfString(member, start) + 1;
    const key = JSON.parse(member.slice(start, end)) as string;
    if (members.has(key)) isDuplicate = true;
    else members.set(key, JSON.parse(member.slice(member.indexOf(":", end) + 1)));
  };
  for (let at = 0; at < json.length; at++) {
    const token = json.charCodeAt(at);
    if (token === 0x22) at = endOfString(json, at); // "
    else if (token === 0x7b || token === 0x5b) { // { [
      if (++depth === 1) from = at + 1;
    } else if (token === 0x7d || token === 0x5d) { // } ]
      if (--depth === 0) take(at);
    } else if (token === 0x2c && depth === 1) { // ,
      take(at);
      from = at + 1;
    }
  }
  return isDuplicate ? members : undefined;
}

/** Parses JSON; `undefined` when the text is not JSON. */
function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a value is an object and not a list. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * The value of an object's own property. Inherited properties, for example `constructor`, are
 * missing.
 */
export function ownValue(object: unknown, key: string): unknown {
  return isObject(object) && Object.hasOwn(object, key) ? object[key] : undefined;
}

/** The value if it is a string, else `null`. */
export function stringOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** The value if it is a list, else an empty list. */
export function listOrEmpty(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
