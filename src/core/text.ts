/**
 * Untrusted text: decoding its bytes, and making it harmless before it is shown.
 *
 * @module
 */

import { concat, indexOfBytes } from "./bytes.ts";

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
const REPLACEMENT = "\ufffd";
const REPLACEMENT_BYTES = Uint8Array.of(0xef, 0xbf, 0xbd);

/** A decoded text, and whether its bytes were valid UTF-8. */
export interface Decoded {
  /** The text, with U+FFFD for invalid bytes. */
  text: string;
  /** Whether the bytes were invalid UTF-8. */
  badUtf8: boolean;
}

/** Decodes UTF-8, with U+FFFD for invalid bytes: the rule for Bedrock advertisements. */
export function decodeUtf8(bytes: Uint8Array): Decoded {
  const text = utf8.decode(bytes);
  return {
    text,
    badUtf8: text.includes(REPLACEMENT) && replacementsIn(text) > replacementBytesIn(bytes),
  };
}

// A decoder with `fatal: true` would report invalid bytes too. It takes twice as long for valid
// text, and a hundred times as long for invalid text, which half of the Java servers send. The
// encoding of U+FFFD never occurs inside another character. The difference of the two counts is
// therefore the number of invalid sequences.

/** Number of U+FFFD in a decoded text: those that were encoded, and those for invalid bytes. */
function replacementsIn(text: string): number {
  return text.split(REPLACEMENT).length - 1;
}

/** Number of encoded U+FFFD in bytes. */
function replacementBytesIn(bytes: Uint8Array): number {
  let count = 0;
  for (let at = 0; (at = indexOfBytes(bytes, REPLACEMENT_BYTES, at) + 1) > 0;) count++;
  return count;
}

/** The encoding of a text file: UTF-16 if it begins with that byte order mark, otherwise UTF-8. */
function encodingOf([first, second]: Uint8Array): "utf-8" | "utf-16le" | "utf-16be" {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
}

/**
 * Decodes a file that a user wrote: UTF-8, or UTF-16 with a byte order mark, as PowerShell writes it.
 * Drops the mark. A line that is not UTF-8 is Windows-1252, as older spreadsheets write it.
 */
export function decodeTextFile(bytes: Uint8Array): string {
  const encoding = encodingOf(bytes);
  return encoding === "utf-8" ? decodeLines(bytes) : new TextDecoder(encoding).decode(bytes);
}

/** Decodes a file as {@linkcode decodeTextFile} does, as a stream. */
export async function* decodeTextStream(
  chunks: AsyncIterable<Uint8Array>,
): AsyncIterable<string> {
  let isUtf8: boolean | undefined;
  let decoder = new TextDecoder();
  let rest = new Uint8Array();
  for await (const chunk of chunks) {
    const bytes = rest.length === 0 ? chunk : concat(rest, chunk);
    if (isUtf8 === undefined && bytes.length >= 2) {
      decoder = new TextDecoder(encodingOf(bytes));
      isUtf8 = decoder.encoding === "utf-8";
    }
    const end = isUtf8 === undefined ? 0 : isUtf8 ? endOfLines(bytes) : bytes.length;
    const whole = bytes.subarray(0, end);
    if (end > 0) yield isUtf8 ? decodeLines(whole) : decoder.decode(whole, { stream: true });
    rest = Uint8Array.from(bytes.subarray(end));
  }
  yield isUtf8 === false ? decoder.decode() : decodeLines(rest);
}

/** The most bytes of a line that wait for its end. */
const MAX_WAITING = 1 << 22;

/** The end of the last whole line; in a longer one, a point between two characters of UTF-8. */
function endOfLines(bytes: Uint8Array): number {
  const end = bytes.lastIndexOf(LINE_FEED) + 1;
  if (bytes.length - end <= MAX_WAITING) return end;
  let last = bytes.length - 1;
  while (last > bytes.length - 4 && (bytes[last] & 0xc0) === 0x80) last--;
  return last;
}

const LINE_FEED = 0x0a;
const strictUtf8 = new TextDecoder("utf-8", { fatal: true });
const windows1252 = new TextDecoder("windows-1252");

function decodeLines(bytes: Uint8Array): string {
  const all = strictly(bytes);
  if (all !== undefined) return all;
  const lines: string[] = [];
  for (let from = 0, end = 0; from < bytes.length; from = end) {
    end = bytes.indexOf(LINE_FEED, from) + 1 || bytes.length;
    const line = bytes.subarray(from, end);
    lines.push(strictly(line) ?? windows1252.decode(line));
  }
  return lines.join("");
}

/** Decodes UTF-8; `undefined` for other bytes. */
function strictly(bytes: Uint8Array): string | undefined {
  try {
    return strictUtf8.decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Decodes Latin-1: one character per byte. */
export function decodeLatin1(bytes: Uint8Array): string {
  if (bytes.length <= 4096) return fromCodes(bytes);
  let text = "";
  for (let at = 0; at < bytes.length; at += 4096) text += fromCodes(bytes.subarray(at, at + 4096));
  return text;
}

/** Converts bytes with `apply`, which is four times as fast as spreading them. */
function fromCodes(bytes: Uint8Array): string {
  return String.fromCharCode.apply(null, bytes as unknown as number[]);
}

/**
 * Decodes a field of a Query reply: UTF-8 when the bytes are valid UTF-8, else Latin-1. Java
 * servers write the low byte of every UTF-16 unit, other servers UTF-8. The section sign in
 * Latin-1, `a7` before an ASCII byte, is never valid UTF-8.
 *
 * @example The same text from two kinds of servers
 * ```ts
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(decodeField(Uint8Array.of(0xa7, 0x61, 0x48, 0x69)), "§aHi");
 * assertEquals(decodeField(Uint8Array.of(0xc2, 0xa7, 0x61, 0x48, 0x69)), "§aHi");
 * ```
 */
export function decodeField(bytes: Uint8Array): string {
  const { text, badUtf8 } = decodeUtf8(bytes);
  return badUtf8 ? decodeLatin1(bytes) : text; // ASCII text has the same bytes in both encodings
}

/**
 * Cuts a text to at most `most` UTF-16 units, without splitting a surrogate pair.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals([cutText("ab🎮", 3), cutText("ab🎮", 4)], ["ab", "ab🎮"]);
 * ```
 */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  const start = text.slice(0, most);
  const last = start.charCodeAt(most - 1);
  return last >= 0xd800 && last < 0xdc00 ? start.slice(0, -1) : start;
}

/** Encodes the low byte of every UTF-16 unit, like Java's `writeBytes`; lossy above U+00FF. */
export function encodeLatin1(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/**
 * A formatting code: a section sign with the character behind it, as the game hides both also if it does
 * not know the code, and a sign at the end of a line. A hex colour is one code in the form `§#rrggbb`,
 * and seven codes in the form `§x§r§r§g§g§b§b`.
 */
const FORMAT_CODE = /§(?:#[0-9a-f]{6}|[^\n])?/giu;
const CONTROL = /\p{Cc}/gu;
/** Line and paragraph separators, which some programs treat as line ends. */
const SEPARATORS = /[\u2028\u2029]/g;
/** Characters that reorder text: embeddings, overrides, isolates. */
const REORDERING = /[\u202a-\u202e\u2066-\u2069]/g;
/**
 * Characters without a glyph: joiners, directional marks, fillers, tags, variation selectors,
 * interlinear annotation. They make different texts look equal and can carry hidden text. Zero
 * width joiners are included, because terminals disagree about the width of joined emoji. A
 * variation selector directly after an emoji is excluded, because it is common and changes the
 * emoji.
 */
const INVISIBLE =
  /(?<!\p{Emoji})[\ufe0e\ufe0f]|[[\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]--[\ufe0e\ufe0f]]/gv;
/** Blank characters with a width: braille without dots, and Hangul fillers. */
const BLANKS = /[\u2800\u115f\u1160\u3164\uffa0]/g;

/**
 * Removes formatting codes and control characters from a MOTD, and folds its white space.
 *
 * @example
 * ```ts
 * import { plainText } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(plainText("§aHi\u0000§r  there\n"), "Hi there");
 * ```
 */
export function plainText(motd: string): string {
  return tidyText(motd.replace(FORMAT_CODE, ""));
}

/** Any character other than Latin letters and signs. Text without such a character is harmless. */
const UNUSUAL = /[^ -~\u00a1-\u00ac\u00ae-\u02ff]/;

/**
 * Characters and spaces that {@linkcode tidyText} may change. Most texts contain none of them: they
 * are Latin letters with single spaces.
 */
const UNTIDY = /[^ -~\u00a1-\u00ac\u00ae-\u02ff]|^ | {2}| $/;

/** Does what {@linkcode plainText} does, for a text without formatting codes. */
export function tidyText(text: string): string {
  if (!UNTIDY.test(text)) return text;
  const seen = text.replace(CONTROL, " ").replace(SEPARATORS, " ").replace(REORDERING, "")
    .replace(BLANKS, " ").replace(INVISIBLE, "");
  return marksLimiter()(seen).replace(/ +/g, " ").trim();
}

/** Maximum number of combining marks on one character, as in living scripts. */
const MAX_MARKS = 4;
/** Combining marks, and invisible characters between them. */
const MARKS = /[\p{M}\p{Cf}]+/gu;

/**
 * Returns a function that limits the combining marks on one character. More marks would cover the
 * lines above and below. Successive calls continue one text.
 */
export function marksLimiter(): (text: string) => string {
  let count = 0; // marks on the last character so far
  return (text) => {
    if (text === "") return text;
    let end = 0;
    const bounded = text.replace(MARKS, (marks, at: number) => {
      if (at > 0) count = 0;
      end = at + marks.length;
      return Array.from(marks).filter((one) => !/\p{M}/u.test(one) || count++ < MAX_MARKS).join(
        "",
      );
    });
    if (end < text.length) count = 0;
    return bounded;
  };
}

/**
 * Makes text harmless for a terminal: on one line (see {@linkcode oneLine}), with U+FFFD for
 * characters without a glyph, and spaces for blank ones.
 */
export function harmlessText(text: string): string {
  if (!UNUSUAL.test(text)) return text;
  return marksLimiter()(oneLine(text).replace(BLANKS, " ").replace(INVISIBLE, "\ufffd"));
}

/**
 * Keeps text on one line and in its order: control characters become control pictures (`ESC`
 * becomes `␛`), and reordering characters become U+FFFD.
 */
export function oneLine(text: string): string {
  if (!UNUSUAL.test(text)) return text;
  return text.replace(CONTROL, picture).replace(SEPARATORS, "\u2424").replace(REORDERING, "\ufffd");
}

function picture(control: string): string {
  const code = control.charCodeAt(0);
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? "\u2421" : "\ufffd";
}

export interface Line {
  /** The line without its line feed; empty if it is too long. */
  readonly line: string;
  /** Whether a line feed ended the line; the last line may lack one. */
  readonly ended: boolean;
  /** Whether the line exceeds the allowed length; its text is dropped. */
  readonly tooLong: boolean;
}

/**
 * Splits text into lines, in linear time, with at most one line in memory.
 *
 * @param longest Maximum number of characters of a line. Default: no limit.
 */
export async function* linesOf(
  chunks: AsyncIterable<string>,
  longest = Infinity,
): AsyncIterable<Line> {
  let [parts, length]: [string[], number] = [[], 0];
  const take = (whole: string) => {
    length += whole.length;
    if (length <= longest) parts.push(whole);
    else parts = [];
  };
  const finish = (ended: boolean): Line => {
    const line = { line: parts.join(""), ended, tooLong: length > longest };
    [parts, length] = [[], 0];
    return line;
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = 0; (end = chunk.indexOf("\n", from)) >= 0; from = end + 1) {
      take(chunk.slice(from, end));
      yield finish(true);
    }
    take(chunk.slice(from));
  }
  yield finish(false);
}
