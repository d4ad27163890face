/**
 * Parses and formats text with section signs. Every text is valid. A section sign is never text: the game
 * shows neither the sign nor the character behind it.
 *
 * @module
 */
import { NO_STYLE, type Style, type TextRun, TextRunList, withFormat } from "./style.ts";

/** The rules for codes. */
export type Dialect =
  /** A colour ends all formats; `m` and `n` are formats. */
  | "java"
  /** A colour leaves formats as they are; `m` and `n` are colours (redstone, copper). */
  | "bedrock";

/** Options for parsing section signs. */
export interface FormattedOptions {
  /** The rules for codes. Default: `java`. */
  readonly dialect?: Dialect;
  /** The style before the first code and after `§r`. Default: no style. */
  readonly base?: Style;
}

/**
 * A hex colour in one of its two forms, a code of one character, or a section sign at the end of a line.
 * `plainText` removes the same codes.
 */
const CODE = /§(?:x((?:§[0-9a-f]){6})|#([0-9a-f]{6})|([^\n]))?/giu;
/** Codes that have an effect. The game hides all others. */
const KNOWN_CODE = /^[0-9a-wA-W]$/;
const BEDROCK_COLORS = new Map([["m", "#971607"], ["n", "#b4684d"]]);

/**
 * Parses text with section signs.
 *
 * @example
 * ```ts
 * import * as formatted from "blocksweep/formatted";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(formatted.parseFormatted("§aHi §lyou"), [
 *   { text: "Hi ", style: { color: "a", formats: "" } },
 *   { text: "you", style: { color: "a", formats: "l" } },
 * ]);
 * ```
 */
export function parseFormatted(text: string, options: FormattedOptions = {}): readonly TextRun[] {
  const list = new TextRunList();
  appendFormatted(list, text, options);
  return list.runs;
}

/** Parses text with section signs, and appends its runs to a list. */
export function appendFormatted(
  list: TextRunList,
  text: string,
  { dialect = "java", base = NO_STYLE }: FormattedOptions,
): void {
  let style = base;
  let at = 0;
  for (const match of text.matchAll(CODE)) {
    list.add(text.slice(at, match.index), style);
    at = match.index + match[0].length;
    style = styleAfter(style, match, base, dialect);
  }
  list.add(text.slice(at), style);
}

function styleAfter(style: Style, match: RegExpExecArray, base: Style, dialect: Dialect): Style {
  const [, pairs, hex, letter = ""] = match;
  const formats = dialect === "java" ? "" : style.formats;
  const rgb = hex ?? pairs?.replaceAll("§", "");
  if (rgb !== undefined) return { color: `#${rgb.toLowerCase()}`, formats };
  if (!KNOWN_CODE.test(letter)) return style;
  const code = letter.toLowerCase();
  if (code === "r") return base;
  const material = dialect === "bedrock" ? BEDROCK_COLORS.get(code) : undefined;
  if (material !== undefined) return { color: material, formats };
  return "klmno".includes(code)
    ? { color: style.color, formats: withFormat(style.formats, code) }
    : { color: code, formats };
}

/**
 * Formats text runs in normal form: Java's codes only where the style changes, and hex colours as
 * Spigot writes them. Parsing the result yields equal runs. Section signs in the text of a run, which
 * no game shows, are left out.
 *
 * @example
 * ```ts
 * import * as formatted from "blocksweep/formatted";
 * import { assertEquals } from "@std/assert";
 *
 * const runs = formatted.parseFormatted("§l§#FF8800§oHi§r§r!");
 * assertEquals(formatted.formatSections(runs), "§x§f§f§8§8§0§0§oHi§r!");
 * ```
 */
export function formatSections(runs: readonly TextRun[]): string {
  const merged = new TextRunList();
  for (const { text, style } of runs) merged.add(text, style);
  let before = NO_STYLE;
  let whole = "";
  for (const { text, style } of merged.runs) {
    whole += codesBetween(before, style) + text.replaceAll("§", "");
    before = style;
  }
  return whole;
}

/** The codes that change one style into another. */
function codesBetween(from: Style, to: Style): string {
  const keeps = from.color === to.color &&
    [...from.formats].every((one) => to.formats.includes(one));
  if (!keeps) return codesOf(to);
  return formatCodes([...to.formats].filter((one) => !from.formats.includes(one)));
}

/** The codes that set a style after any previous style. */
function codesOf({ color, formats }: Style): string {
  const start = color === null
    ? "§r"
    : color.startsWith("#")
    ? `§x${formatCodes(color.slice(1))}`
    : `§${color}`;
  return start + formatCodes(formats);
}

function formatCodes(letters: Iterable<string>): string {
  return Array.from(letters, (letter) => `§${letter}`).join("");
}
