/**
 * Formats text runs for display: plain, for a terminal, for a web page. Cursor movements,
 * reordering and stacked marks are made harmless in each.
 *
 * @module
 */
import { harmlessText, marksLimiter, tidyText } from "../text.ts";
import { COLORS, rgbOf, type Style, type TextRun } from "./style.ts";

/**
 * The text of the runs without styles, as `plainText` returns it.
 *
 * @example
 * ```ts
 * import * as formatted from "blocksweep/formatted";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(formatted.formatPlain(formatted.parseFormatted("§aHi\n  §lyou")), "Hi you");
 * ```
 */
export function formatPlain(runs: readonly TextRun[]): string {
  return tidyText(runs.map(({ text }) => text).join(""));
}

/** The number of colours of a terminal. */
export type ColorDepth = "none" | "256" | "true";

const RESET = "\u001b[0m";
/** Terminal codes of formats; obfuscated text (k) has none and stays readable. */
const SGR = new Map([["l", "1"], ["o", "3"], ["n", "4"], ["m", "9"]]);

/**
 * Formats text for a terminal, on one line. Its only escape sequences set colours and formats; with
 * `none` there are none.
 *
 * @example
 * ```ts
 * import * as formatted from "blocksweep/formatted";
 * import { assertEquals } from "@std/assert";
 *
 * const runs = formatted.parseFormatted("§lHi §cyou\u001b[2J");
 * assertEquals(formatted.formatAnsi(runs, "none"), "Hi you␛[2J");
 * assertEquals(
 *   formatted.formatAnsi(runs, "true"),
 *   "\u001b[0;1mHi \u001b[0;38;2;255;85;85myou␛[2J\u001b[0m",
 * );
 * ```
 */
export function formatAnsi(runs: readonly TextRun[], depth: ColorDepth): string {
  const bound = marksLimiter();
  const line = runs.map(({ text, style }) => {
    const shown = bound(harmlessText(text.replace(/\s+/g, " ")));
    return depth === "none" ? shown : sgr(style, depth) + shown;
  }).join("");
  return depth === "none" || line === "" ? line : line + RESET;
}

function sgr({ color, formats }: Style, depth: "256" | "true"): string {
  const codes = ["0", ...Array.from(formats).flatMap((letter) => SGR.get(letter) ?? [])];
  if (color !== null && depth === "true") codes.push("38", "2", ...rgbOf(color).map(String));
  if (color !== null && depth === "256") codes.push("38", "5", String(nearest256(color)));
  return `\u001b[${codes.join(";")}m`;
}

/** The levels of a channel in a terminal's cube of 216 colours, which starts at colour 16. */
const CUBE = [0, 95, 135, 175, 215, 255];

/** The nearest of a terminal's 256 colours: in the cube, or among the 24 greys from 232 on. */
export function nearest256(color: string): number {
  const rgb = rgbOf(color);
  const [r, g, b] = rgb.map((value) => nearestOf(CUBE, (step) => Math.abs(step - value)));
  const mean = (rgb[0] + rgb[1] + rgb[2]) / 3;
  const grey = Math.max(0, Math.min(23, Math.round((mean - 8) / 10)));
  const level = 8 + 10 * grey;
  const cube = distance(rgb, [CUBE[r], CUBE[g], CUBE[b]]);
  return distance(rgb, [level, level, level]) < cube ? 232 + grey : 16 + 36 * r + 6 * g + b;
}

/** Index of the item with the least cost. */
function nearestOf<T>(items: readonly T[], cost: (item: T) => number): number {
  return items.reduce((best, item, i) => cost(item) < cost(items[best]) ? i : best, 0);
}

function distance(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, i) => sum + (value - b[i]) ** 2, 0);
}

/** The colours with a CSS class. */
const NAMED = [...COLORS.keys()];

/**
 * Formats text as HTML: escaped, styled only by classes, and isolated from the surrounding text
 * direction.
 *
 *     .mc   { white-space: pre-wrap }        .mc-l { font-weight: bold }
 *     .mc-o { font-style: italic }           .mc-n { text-decoration: underline }
 *     .mc-m { text-decoration: line-through }
 *     .mc-n.mc-m { text-decoration: underline line-through }
 *     .mc-k { filter: blur(0.2em) }
 *     .mc-0 { color: #000000 } ... one per entry of `COLORS`
 *
 * A hex colour has the class of the nearest of these colours, and `mc-xrrggbb` for the exact one.
 *
 * @example
 * ```ts
 * import * as formatted from "blocksweep/formatted";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(
 *   formatted.formatHtml(formatted.parseFormatted("§l<Hi> §#ff8800&")),
 *   '<bdi class="mc"><span class="mc-l">&lt;Hi&gt; </span>' +
 *     '<span class="mc-6 mc-xff8800">&amp;</span></bdi>',
 * );
 * ```
 */
export function formatHtml(runs: readonly TextRun[]): string {
  const spans = classedRuns(runs).map(({ text, classes }) =>
    classes === "" ? escapeHtml(text) : `<span class="${classes}">${escapeHtml(text)}</span>`
  );
  return `<bdi class="mc">${spans.join("")}</bdi>`;
}

/**
 * The texts and CSS classes of {@linkcode formatHtml}, for programs that build elements. Texts are
 * harmless, but not escaped for HTML.
 *
 * @example
 * ```ts
 * import * as formatted from "blocksweep/formatted";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(classedRuns(formatted.parseFormatted("§l<Hi>")), [
 *   { text: "<Hi>", classes: "mc-l" },
 * ]);
 * ```
 */
export function classedRuns(runs: readonly TextRun[]): { text: string; classes: string }[] {
  const bound = marksLimiter();
  return runs.map(({ text, style }) => ({
    text: bound(text.split(/\r?\n/).map(harmlessText).join("\n")),
    classes: classesOf(style),
  }));
}

function classesOf({ color, formats }: Style): string {
  const names = [...formats];
  if (color?.startsWith("#")) names.push(nearestNamed(color), `x${color.slice(1)}`);
  else if (color !== null) names.push(color);
  return names.map((name) => `mc-${name}`).join(" ");
}

/** The letter of the nearest colour with a class. */
function nearestNamed(color: string): string {
  const rgb = rgbOf(color);
  return NAMED[nearestOf(NAMED, (name) => distance(rgb, rgbOf(name)))];
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["'", "&#39;"],
]);

/** Escapes text for HTML content and attributes. */
export function escapeHtml(text: string): string {
  return text.toWellFormed().replace(/[&<>"']/g, (character) => ESCAPES.get(character)!);
}
