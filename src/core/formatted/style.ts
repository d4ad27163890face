/**
 * How a piece of the game's text looks: its colour and its formats.
 *
 *     code     0 to f  the sixteen colours      k obfuscated  l bold  m struck through
 *              g to u  Bedrock's materials      n underlined  o italic  r reset
 *     hex      x r r g g b b, a section sign before each (Spigot), or # rrggbb (plugins)
 *
 * Sources: minecraft.wiki "Formatting codes"; net.minecraft.network.chat.Style of 1.16 and later.
 *
 * @module
 */

/** How text looks. */
export interface Style {
  /** The letter of a colour code, or `#rrggbb` in lower case; `null`: whatever is usual there. */
  readonly color: string | null;
  /** Letters of the formats, of `klmno` and in that order. */
  readonly formats: string;
}

/** A piece of text that looks the same throughout. */
export interface TextRun {
  /** What it says, as sent: nothing in it is a code any more. */
  readonly text: string;
  /** How it looks. */
  readonly style: Style;
}

/** Text without any style. */
export const NO_STYLE: Style = { color: null, formats: "" };

/** The colours by the letters of their codes, `#rrggbb`. */
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
]);

/** The letters of the sixteen colours by the names that components give them. */
export const COLOR_NAMES: ReadonlyMap<string, string> = new Map([
  ...[
    ...["black", "dark_blue", "dark_green", "dark_aqua", "dark_red", "dark_purple", "gold", "gray"],
    ...["dark_gray", "blue", "green", "aqua", "red", "light_purple", "yellow", "white"],
  ].map((name, i) => [name, i.toString(16)] as const),
]);

/** Formats by the names that components give them. */
export const FORMAT_NAMES: ReadonlyMap<string, string> = new Map([
  ["obfuscated", "k"],
  ["bold", "l"],
  ["strikethrough", "m"],
  ["underlined", "n"],
  ["italic", "o"],
]);

/** Whether two styles look the same. */
export function sameStyle(a: Style, b: Style): boolean {
  return a === b || a.color === b.color && a.formats === b.formats;
}

/** Formats with one more, or one less. */
export function withFormat(formats: string, letter: string, on = true): string {
  const has = (other: string) => other === letter ? on : formats.includes(other);
  return [..."klmno"].filter(has).join("");
}

/** A colour as red, green and blue, 0 to 255 each. */
export function rgbOf(color: string): readonly [red: number, green: number, blue: number] {
  const value = parseInt((COLORS.get(color) ?? color).slice(1), 16);
  return [value >> 16 & 255, value >> 8 & 255, value & 255];
}

/** Runs as they are put together: those that look the same become one, empty ones none. */
export class TextRunList {
  /** The runs so far. */
  readonly runs: TextRun[] = [];

  /** Puts a piece behind the others. */
  add(text: string, style: Style): void {
    const last = this.runs.at(-1);
    if (text === "") return;
    if (last === undefined || !sameStyle(last.style, style)) this.runs.push({ text, style });
    else this.runs[this.runs.length - 1] = { text: last.text + text, style };
  }
}
