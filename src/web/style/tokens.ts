/**
 * The colours of the dashboard, for light and dark, as CSS variables, and their contrast (WCAG 2.2).
 * Spacing, type sizes and shapes are in `style.css`.
 *
 * @module
 */
import { COLORS, rgbOf } from "../../core/formatted/mod.ts";

/** A colour scheme of the operating system. */
export type Scheme = "light" | "dark";

/** A colour in each scheme, `#rrggbb`. */
type SchemeColors = Readonly<Record<Scheme, string>>;

const color = (light: string, dark: string): SchemeColors => ({ light, dark });

/** The colours by the names of their variables. */
export const TOKENS = {
  /** The ground of pages, of cards and tables, and of a row or control under the pointer. */
  ground: color("#f4f6f8", "#0d1014"),
  surface: color("#ffffff", "#14181e"),
  raised: color("#eef1f5", "#1d232b"),
  /** Lines between rows and around cards, and those of controls. */
  line: color("#e1e5eb", "#262d37"),
  "line-strong": color("#848e9c", "#66707f"),
  /** Text, and secondary text. */
  text: color("#14181f", "#e8ecf2"),
  muted: color("#566070", "#9aa5b4"),
  /** Links, the current page and chosen values; text on that colour; a tint for grounds. */
  accent: color("#0a6b50", "#4cc79a"),
  "on-accent": color("#ffffff", "#08130f"),
  tint: color("#dff3ea", "#12302a"),
  /** States: online, a warning, offline. */
  good: color("#0b7043", "#46c985"),
  warn: color("#8a5a00", "#e3b04b"),
  bad: color("#b3261e", "#ff8a80"),
  /** Days by uptime, from all of the time to none: neighbours differ in lightness too. */
  u0: color("#0b7043", "#46c985"),
  u1: color("#5c9f1f", "#4a8a35"),
  u2: color("#8a4f00", "#f0b860"),
  u3: color("#d8463c", "#d8554c"),
  /** Series of charts. */
  s0: color("#0a7d5c", "#3fbf90"),
  s1: color("#3566d6", "#7ba4ff"),
  s2: color("#b4560d", "#f0a35c"),
  s3: color("#8a3fc0", "#c895f2"),
  s4: color("#b02a5c", "#f587ab"),
  s5: color("#0a7489", "#4cc3d9"),
  s6: color("#6b6f00", "#c9cd52"),
  s7: color("#5f6876", "#a3adbb"),
  /** The steps of the map from few to many. */
  m0: color("#e6eaef", "#1b2129"),
  m1: color("#2b946d", "#297a5c"),
  m2: color("#1f7c5a", "#329671"),
  m3: color("#156548", "#3cb488"),
  m4: color("#0d4c35", "#79d2b2"),
  m5: color("#072f20", "#d4f1e6"),
} as const satisfies Readonly<Record<string, SchemeColors>>;

export type Token = keyof typeof TOKENS;

/** The grounds on which servers' texts stand. */
export const GROUNDS: readonly Token[] = ["ground", "surface", "raised"];

/** The colours of Minecraft's text on the grounds of a scheme, by the letters of their codes. */
export function motdColors(scheme: Scheme): ReadonlyMap<string, string> {
  const grounds = GROUNDS.map((name) => TOKENS[name][scheme]);
  return new Map([...COLORS].map(([code, hex]) => [code, readableColor(hex, grounds)]));
}

/** The ground of a MOTD that is shown as in the game, in both schemes. */
export const MOTD_GROUND = "#14181e";

/** The classes of coloured text. */
function textRules(colors: ReadonlyMap<string, string>, within = ""): string {
  return [...colors].map(([code, hex]) => `${within}.mc-${code}{color:${hex}}`).join("\n");
}

/** The rules of a scheme: variables, and the classes of coloured text. */
function schemeRules(scheme: Scheme): string {
  const variables = Object.entries(TOKENS).map(([name, colors]) => `--${name}:${colors[scheme]}`);
  return `:root{${variables.join(";")}}\n${textRules(motdColors(scheme))}`;
}

/** The colours of a MOTD on {@linkcode MOTD_GROUND}, by the letters of their codes. */
export function gameColors(): ReadonlyMap<string, string> {
  return new Map([...COLORS].map(([code, hex]) => [code, readableColor(hex, [MOTD_GROUND])]));
}

/** The style sheet of the colours. Paper has the light ones. */
export function colorRules(): string {
  return `${schemeRules("light")}\n@media screen and (prefers-color-scheme:dark){\n${
    schemeRules("dark")
  }\n}\n.motd{background:${MOTD_GROUND}}\n${textRules(gameColors(), ".motd ")}\n`;
}

/** The least contrast of text and its ground, of level AA. */
export const MIN_CONTRAST = 4.5;

/** The relative luminance of a colour `#rrggbb`, 0 to 1. */
function luminance(hex: string): number {
  const [red, green, blue] = rgbOf(hex).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** The contrast of two colours, 1 to 21. */
export function contrast(a: string, b: string): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

/** The colour between two colours: 0 is the first one, 1 the second one. */
function mixed(from: string, to: string, share: number): string {
  const other = rgbOf(to);
  const channels = rgbOf(from).map((value, i) => Math.round(value + (other[i] - value) * share));
  return `#${channels.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/**
 * The colour itself if it is readable on all grounds, else the nearest mixture with black or white that
 * is. The grounds are either all light or all dark.
 *
 * @example
 * ```ts
 * import { readableColor } from "./tokens.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(readableColor("#ffff55", ["#000000"]), "#ffff55");
 * assertEquals(readableColor("#ffffff", ["#ffffff"]), "#757575");
 * ```
 */
export function readableColor(hex: string, grounds: readonly string[]): string {
  const end = luminance(grounds[0]) > 0.18 ? "#000000" : "#ffffff";
  for (let percent = 0;; percent++) {
    const one = mixed(hex, end, percent / 100);
    if (grounds.every((ground) => contrast(one, ground) >= MIN_CONTRAST)) return one;
    if (percent === 100) throw new RangeError(`No text is readable on ${grounds.join(", ")}`);
  }
}
