/**
 * The colours of the dashboard, for light and dark, as CSS variables. Spacing, type sizes and shapes are
 * in `style.css`.
 *
 * @module
 */
import { COLORS } from "../../core/formatted/mod.ts";
import { readableColor } from "./contrast.ts";

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
  m1: color("#a9dcc6", "#114a3c"),
  m2: color("#5fbf9b", "#17765c"),
  m3: color("#1e9672", "#25a57d"),
  m4: color("#0d6a50", "#5fd6aa"),
  m5: color("#073d2f", "#d8fff0"),
} as const satisfies Readonly<Record<string, SchemeColors>>;

/** The name of a colour. */
export type Token = keyof typeof TOKENS;

/** The grounds on which servers' texts stand. */
export const GROUNDS: readonly Token[] = ["ground", "surface", "raised"];

/** The colours of Minecraft's text on the grounds of a scheme, by the letters of their codes. */
export function motdColors(scheme: Scheme): ReadonlyMap<string, string> {
  const grounds = GROUNDS.map((name) => TOKENS[name][scheme]);
  return new Map([...COLORS].map(([code, hex]) => [code, readableColor(hex, grounds)]));
}

/** The rules of a scheme: variables, and the classes of coloured text. */
function schemeRules(scheme: Scheme): string {
  const variables = Object.entries(TOKENS).map(([name, colors]) => `--${name}:${colors[scheme]}`);
  const texts = [...motdColors(scheme)].map(([code, hex]) => `.mc-${code}{color:${hex}}`);
  return `:root{${variables.join(";")}}\n${texts.join("\n")}`;
}

/** The style sheet of the colours. Paper has the light ones. */
export function colorRules(): string {
  return `${schemeRules("light")}\n@media screen and (prefers-color-scheme:dark){\n${
    schemeRules("dark")
  }\n}\n`;
}
