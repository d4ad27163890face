/**
 * JSON from strangers: bounded before it is parsed, so that no text of 2 MiB becomes a tree of a
 * million objects.
 *
 * @module
 */
import { Malformed } from "../../bytes.ts";
import { decodeUtf8 } from "../../text.ts";

/** An object of JSON. Its keys are a stranger's: see {@linkcode own}. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Objects and lists in each other: a component takes two of each level that it may have. */
export const MOST_NESTING = 80;
/** Values in one text: a big pack of mods has some thousands. */
export const MOST_VALUES = 65_536;

/** What was odd about a text of JSON. */
export type JsonFlag =
  /** Bytes are not UTF-8; U+FFFD stands for them. */
  | "badUtf8"
  /** Control characters stand in it as they are, where JSON wants them escaped. */
  | "badJson";

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
 * @throws Malformed when it is none, or more than a server has to say.
 */
export function parseJson(bytes: Uint8Array): ParsedJson {
  const { text, badUtf8 } = decodeUtf8(bytes);
  checkBounds(text);
  const flags: JsonFlag[] = badUtf8 ? ["badUtf8"] : [];
  const value = tryParse(text);
  if (value !== undefined) return { value, flags };
  // Lenient on purpose: Gson, in the game's client, reads raw control characters in strings.
  const mended = tryParse(text.replace(CONTROL, " "));
  if (mended === undefined) throw new Malformed("a status that is no JSON", 0);
  return { value: mended, flags: [...flags, "badJson"] };
}

const CONTROL = /\p{Cc}/gu;

function checkBounds(text: string): void {
  let nesting = 0;
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    const token = text[at];
    if (token === "]" || token === "}") nesting--;
    else if (token === '"') at = endOfText(text, at);
    if (token !== "[" && token !== "{" && token !== ",") continue;
    if (token !== ",") nesting++;
    if (nesting > MOST_NESTING) throw new Malformed(`JSON nested deeper than ${MOST_NESTING}`, at);
    if (++values > MOST_VALUES) throw new Malformed(`JSON of more than ${MOST_VALUES} values`, at);
  }
}

/** Where the text that starts here ends. Every backslash is looked at once, or once more. */
function endOfText(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text[end - 1 - escapes] === "\\") escapes++;
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
export function own(object: unknown, key: string): unknown {
  return isObject(object) && Object.hasOwn(object, key) ? object[key] : undefined;
}

/** A text, or `null`. */
export function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** A list; empty when the value is none. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
