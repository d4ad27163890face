/**
 * Text from strangers: how its bytes are read, and how it is made harmless before it is shown.
 *
 * @module
 */

import { indexOfBytes } from "./bytes.ts";

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
const REPLACEMENT = "\ufffd";
const REPLACEMENT_BYTES = Uint8Array.of(0xef, 0xbf, 0xbd);

/** Text, and whether bytes in it could not be read. */
export interface Decoded {
  /** The text; U+FFFD stands for what could not be read. */
  text: string;
  /** Whether there was something that could not be read. */
  badUtf8: boolean;
}

/** UTF-8, with U+FFFD for what is not: the rule of the Bedrock advertisement. */
export function decodeUtf8(bytes: Uint8Array): Decoded {
  const text = utf8.decode(bytes);
  return {
    text,
    badUtf8: text.includes(REPLACEMENT) && replacementsIn(text) > replacementBytesIn(bytes),
  };
}

// A decoder that throws would tell as well, but it takes twice as long where all is right, and a
// hundred times as long for the section sign of every second Java server. (The bytes of U+FFFD are
// never taken for a part of anything else, so that its own are counted alike on both sides.)

/** How often U+FFFD stands in a text: for itself, or for what could not be read. */
function replacementsIn(text: string): number {
  return text.split(REPLACEMENT).length - 1;
}

/** How often the bytes of U+FFFD occur. */
function replacementBytesIn(bytes: Uint8Array): number {
  let count = 0;
  for (let at = 0; (at = indexOfBytes(bytes, REPLACEMENT_BYTES, at) + 1) > 0;) count++;
  return count;
}

/** One character per byte. */
export function decodeLatin1(bytes: Uint8Array): string {
  if (bytes.length <= 4096) return fromCodes(bytes);
  let text = "";
  for (let at = 0; at < bytes.length; at += 4096) text += fromCodes(bytes.subarray(at, at + 4096));
  return text;
}

/** Spreading the bytes into a call takes four times as long as `apply`. */
function fromCodes(bytes: Uint8Array): string {
  return String.fromCharCode.apply(null, bytes as unknown as number[]);
}

/**
 * The rule for a field of a Query reply: UTF-8 when the bytes are valid UTF-8 with at least one
 * multi-byte character, else Latin-1. Java servers write the low byte of every UTF-16 unit, the
 * others UTF-8, and `a7` before an ASCII byte (the section sign in Latin-1) is never valid UTF-8.
 *
 * @example The same text from two kinds of servers
 * ```ts
 * import { decodeField } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(decodeField(Uint8Array.of(0xa7, 0x61, 0x48, 0x69)), "§aHi");
 * assertEquals(decodeField(Uint8Array.of(0xc2, 0xa7, 0x61, 0x48, 0x69)), "§aHi");
 * ```
 */
export function decodeField(bytes: Uint8Array): string {
  const { text, badUtf8 } = decodeUtf8(bytes);
  return badUtf8 ? decodeLatin1(bytes) : text; // pure ASCII is the same in both
}

/**
 * The start of a text: at most so many UTF-16 units, and no half of a surrogate pair at its end.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { cutText } from "blocksweep/protocols";
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

/** The low byte of every UTF-16 unit, as Java's `writeBytes` does: lossy above U+00FF. */
export function encodeLatin1(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** A formatting code; of the two hex forms, `§x§r§r§g§g§b§b` is seven codes. */
const FORMAT_CODE = /§(?:#[0-9a-f]{6}|[0-9a-ux])/gi;
const CONTROL = /\p{Cc}/gu;
/** Line and paragraph separators, which some programs take for the end of a line. */
const SEPARATORS = /[\u2028\u2029]/g;
/** Characters that turn the order of others around: embeddings, overrides, isolates. */
const REORDERING = /[\u202a-\u202e\u2066-\u2069]/g;
/**
 * Characters without a glyph, which make different texts look equal and can carry hidden text:
 * joiners, directional marks, fillers, tags, variation selectors, interlinear annotation. Zero width
 * joiners are among them, for terminals disagree about the width of joined emoji. An emoji or text
 * variation selector directly behind an emoji is not: it is common, and changes the emoji's look.
 */
const INVISIBLE =
  /(?<!\p{Emoji})[\ufe0e\ufe0f]|[[\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]--[\ufe0e\ufe0f]]/gv;
/** Characters that are as wide as others, but blank: braille without dots, and Hangul fillers. */
const BLANKS = /[\u2800\u115f\u1160\u3164\uffa0]/g;

/**
 * A MOTD without its formatting codes and control characters, its white space folded.
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

/** Anything but Latin letters and signs, of which most texts are: none is unseen, or moves others. */
const UNUSUAL = /[^ -~\u00a1-\u00ac\u00ae-\u02ff]/;

/** What a tidy text does not hold: most are Latin letters and signs with single spaces between. */
const UNTIDY = /[^ -~\u00a1-\u00ac\u00ae-\u02ff]|^ | {2}| $/;

/** {@linkcode plainText} for a text whose formatting codes are gone already. */
export function tidyText(text: string): string {
  if (!UNTIDY.test(text)) return text;
  const seen = text.replace(CONTROL, " ").replace(SEPARATORS, " ").replace(REORDERING, "")
    .replace(BLANKS, " ").replace(INVISIBLE, "");
  return marksLimiter()(seen).replace(/ +/g, " ").trim();
}

/** Marks that may stand on one character: the most that living scripts put there. */
const MOST_MARKS = 4;
/** Marks, and what is not seen between them. */
const MARKS = /[\p{M}\p{Cf}]+/gu;

/**
 * Bounds how many combining marks pile up on one character, so that text stays on its line. What
 * is given to the function one after the other is taken for one text.
 */
export function marksLimiter(): (text: string) => string {
  let count = 0; // on the last character so far
  return (text) => {
    if (text === "") return text;
    let end = 0;
    const bounded = text.replace(MARKS, (marks, at: number) => {
      if (at > 0) count = 0;
      end = at + marks.length;
      return Array.from(marks).filter((one) => !/\p{M}/u.test(one) || count++ < MOST_MARKS).join(
        "",
      );
    });
    if (end < text.length) count = 0;
    return bounded;
  };
}

/**
 * Text for a terminal: on one line (see {@linkcode oneLine}), with U+FFFD for characters without a
 * glyph, and spaces for those that are blank.
 */
export function harmlessText(text: string): string {
  if (!UNUSUAL.test(text)) return text;
  return marksLimiter()(oneLine(text).replace(BLANKS, " ").replace(INVISIBLE, "\ufffd"));
}

/**
 * Text that stays on its line and in its order: control characters become their pictures (`ESC`
 * becomes `␛`), and what would turn others around becomes U+FFFD.
 */
export function oneLine(text: string): string {
  if (!UNUSUAL.test(text)) return text;
  return text.replace(CONTROL, picture).replace(SEPARATORS, "\u2424").replace(REORDERING, "\ufffd");
}

function picture(control: string): string {
  const code = control.charCodeAt(0);
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? "\u2421" : "\ufffd";
}

/** A line of a text. */
export interface Line {
  /** The line without its end; empty where it is too long. */
  readonly line: string;
  /** Whether a line feed follows: the last line may lack it. */
  readonly ended: boolean;
  /** Whether it has more characters than were allowed; they were not kept. */
  readonly tooLong: boolean;
}

/**
 * Text line by line, in linear time, with at most one line in memory.
 *
 * @param longest Characters that a line may have. Default: no limit.
 */
export async function* linesOf(
  chunks: AsyncIterable<string>,
  longest = Infinity,
): AsyncIterable<Line> {
  let [parts, length]: [string[], number] = [[], 0];
  const take = (part: string) => {
    length += part.length;
    if (length <= longest) parts.push(part);
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
