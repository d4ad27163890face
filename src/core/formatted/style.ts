/**
 * The style of Minecraft's text: its colour and formats.
 *
 *     code     0 to f  the sixteen colours      k obfuscated  l bold  m struck through
 *              g to w  Bedrock's own colours    n underlined  o italic  r reset
 *     hex      x r r g g b b, a section sign before each (Spigot), or # rrggbb (plugins)
 *
 * `v` (resin) is in Bedrock since 1.21.50, `w` (the blue of parties) since 26.30.
 *
 * Sources: minecraft.wiki "Formatting codes"; net.minecraft.network.chat.Style of 1.16 and later.
 *
 * @module
 */

/** The colour and formats of a text. */
export interface Style {
  /** The letter of a colour code, or `#rrggbb` in lower case; `null`: the default colour. */
  readonly color: string | null;
  /** The letters of the formats, a subset of `klmno` in that order. */
  readonly formats: string;
}

/** A text run: a piece of text with one style. */
export interface TextRun {
  /** The text as sent, without formatting codes. */
  readonly text: string;
  /** The style of the whole text. */
  readonly style: Style;
}

/** The style of text without colour and formats. */
export const NO_STYLE: Style = { color: null, formats: "" };

/** The colours as `#rrggbb`, by the letters of their codes. */
export const COLORS: ReadonlyMap<string, string> = new Map([
  ["0", "#000000"],
  ["1", "#0000aa"],
  ["2", "#00aa00"],
  ["3", "#00aaaa"],
  ["4", "#aa0000"],
  ["5", "#aa00aa"],
  ["6", "#ffaa00"],
  ["7", "#aaaaaa"],
  ["8", "#555555"],
  ["9", "#5555ff"],
  ["a", "#55ff55"],
  ["b", "#55ffff"],
  ["c", "#ff5555"],
  ["d", "#ff55ff"],
  ["e", "#ffff55"],
  ["f", "#ffffff"],
  ["g", "#ddd605"],
  ["h", "#e3d4d1"],
  ["i", "#cecaca"],
  ["j", "#443a3b"],
  ["p", "#deb12d"],
  ["q", "#47a036"],
  ["s", "#2cbaa8"],
  ["t", "#21497b"],
  ["u", "#9a5cc6"],
  ["v", "#eb7114"],
  ["w", "#8cb3ff"],
]);

/** The letters of the sixteen colours, by their names in components. */
export const COLOR_NAMES: ReadonlyMap<string, string> = new Map([
  ["black", "0"],
  ["dark_blue", "1"],
  ["dark_green", "2"],
  ["dark_aqua", "3"],
  ["dark_red", "4"],
  ["dark_purple", "5"],
  ["gold", "6"],
  ["gray", "7"],
  ["dark_gray", "8"],
  ["blue", "9"],
  ["green", "a"],
  ["aqua", "b"],
  ["red", "c"],
  ["light_purple", "d"],
  ["yellow", "e"],
  ["white", "f"],
]);

/** The letters of the formats, by their names in components. */
export const FORMAT_NAMES: ReadonlyMap<string, string> = new Map([
  ["obfuscated", "k"],
  ["bold", "l"],
  ["strikethrough", "m"],
  ["underlined", "n"],
  ["italic", "o"],
]);

export function sameStyle(a: Style, b: Style): boolean {
  return a === b || a.color === b.color && a.formats === b.formats;
}

/** Adds a format to a set of formats, or removes it. */
export function withFormat(formats: string, letter: string, on = true): string {
  const has = (other: string) => other === letter ? on : formats.includes(other);
  return [..."klmno"].filter(has).join("");
}

/** The red, green and blue of a colour, 0 to 255 each. */
export function rgbOf(color: string): readonly [red: number, green: number, blue: number] {
  const value = parseInt((COLORS.get(color) ?? color).slice(1), 16);
  return [value >> 16 & 255, value >> 8 & 255, value & 255];
}

/** Builds a list of text runs. Adjacent runs of equal style are joined, and empty ones dropped. */
export class TextRunList {
  /** The text runs so far. */
  readonly runs: TextRun[] = [];

  /** Appends a text with its style. */
  add(text: string, style: Style): void {
    const last = this.runs.at(-1);
    if (text === "") return;
    if (last === undefined || !sameStyle(last.style, style)) this.runs.push({ text, style });
    else this.runs[this.runs.length - 1] = { text: last.text + text, style };
  }
}
