/**
 * Parses Minecraft's JSON text: nested components.
 *
 *     component   "text"  number  bool  [component, ...]  { content, style..., extra: [component] }
 *     content     text | translate (fallback, with) | keybind | selector | score.value | nbt
 *
 * The JSON is untrusted. Its depth, number of components and length of text are bounded. Content
 * beyond the bounds is omitted, and the result has a flag.
 *
 * Sources: minecraft.wiki "Text component format"; TranslatableContents of 1.19.4 and later.
 *
 * @module
 */
import { cutText } from "../text.ts";
import { appendFormatted } from "./section_signs.ts";
import {
  COLOR_NAMES,
  FORMAT_NAMES,
  NO_STYLE,
  type Style,
  type TextRun,
  TextRunList,
  withFormat,
} from "./style.ts";

/** Maximum number of components in one text. */
export const MAX_NODES = 1000;
/** Maximum number of levels of nested components. */
export const MAX_COMPONENT_DEPTH = 32;
/** Maximum number of UTF-16 units of text, codes and placeholders included. */
export const MAX_UNITS = 32_768;

/** A parsed component: its text runs and its unformatted text. */
export interface Component {
  /** The text of the component as runs, in order. */
  readonly runs: readonly TextRun[];
  /** All texts of the component, concatenated, including formatting codes without an effect. */
  readonly sent: string;
  /** Whether a part was omitted because it exceeds a bound. */
  readonly cut: boolean;
}

/**
 * Parses a component from parsed JSON. Any value yields a text, which may be empty.
 *
 * @example
 * ```ts
 * import * as formatted from "blocksweep/formatted";
 * import { assertEquals } from "@std/assert";
 *
 * const { runs } = formatted.parseComponent({
 *   text: "Hi ",
 *   color: "gold",
 *   extra: [{ translate: "%s of %s", with: [3, { text: "20", bold: true }] }],
 * });
 * assertEquals(formatted.formatSections(runs), "§6Hi 3 of §l20");
 * ```
 */
export function parseComponent(value: unknown): Component {
  const reader = new ComponentReader();
  reader.visit(value, NO_STYLE, 1);
  return { runs: reader.list.runs, sent: reader.sent, cut: reader.cut };
}

/** A component that is an object. Its keys are untrusted, so only own properties are read. */
type Json = Readonly<Record<string, unknown>>;

/** Reads a component recursively, within the bounds. */
class ComponentReader {
  readonly list = new TextRunList();
  sent = "";
  cut = false;
  #nodes = MAX_NODES;
  #units = MAX_UNITS;

  visit(value: unknown, style: Style, depth: number): void {
    if (this.#nodes-- <= 0 || depth > MAX_COMPONENT_DEPTH) this.cut = true;
    else if (Array.isArray(value)) this.#array(value, style, depth);
    else if (typeof value === "object" && value !== null) this.#object(value as Json, style, depth);
    else if (value !== null && value !== undefined) this.#text(String(value), style);
  }

  /** Reads a list, whose first item is the parent of the others. */
  #array(items: readonly unknown[], style: Style, depth: number): void {
    const [first] = items;
    const isObject = typeof first === "object" && first !== null && !Array.isArray(first);
    const inherited = isObject ? styleOf(first as Json, style) : style;
    this.#each(items, (i) => i === 0 ? style : inherited, depth + 1);
  }

  #object(json: Json, style: Style, depth: number): void {
    const own = styleOf(json, style);
    this.#content(json, own, depth);
    const extra = ownValue(json, "extra");
    if (Array.isArray(extra)) this.#each(extra, () => own, depth + 1);
  }

  #each(items: readonly unknown[], style: (i: number) => Style, depth: number): void {
    for (let i = 0; i < items.length; i++) {
      if (this.#nodes <= 0) {
        this.cut = true;
        return;
      }
      this.visit(items[i], style(i), depth);
    }
  }

  #content(json: Json, style: Style, depth: number): void {
    const key = ownValue(json, "translate");
    const text = ownValue(json, "text") ?? ownValue(json, ""); // in NBT lists of mixed types, the key of a text is ""
    if (isScalar(text)) this.#text(String(text), style);
    else if (typeof key === "string") this.#translate(json, key, style, depth);
    else {
      const score = ownValue(json, "score");
      const other = ownValue(json, "keybind") ?? ownValue(json, "selector") ??
        ownValue(json, "nbt") ??
        (typeof score === "object" && score !== null
          ? ownValue(score as Json, "value")
          : undefined);
      if (isScalar(other)) this.#text(String(other), style);
    }
  }

  /**
   * Reads a translation. Its pattern is the fallback, else the key, as the game's translations are
   * not included. The words in `with` take the place of a key without placeholders.
   */
  #translate(json: Json, key: string, style: Style, depth: number): void {
    const fallback = ownValue(json, "fallback");
    const list = ownValue(json, "with");
    const args: readonly unknown[] = Array.isArray(list) ? list : [];
    const pattern = this.#limited(typeof fallback === "string" ? fallback : key);
    if (typeof fallback !== "string" && args.length > 0 && !pattern.includes("%")) {
      return this.#words(args, style, depth);
    }
    let at = 0;
    let next = 0;
    for (const match of pattern.matchAll(/%(?:(%)|(?:(\d{1,4})\$)?s)/g)) {
      this.#text(pattern.slice(at, match.index) + (match[1] ?? ""), style);
      at = match.index + match[0].length;
      if (match[1] !== undefined) continue;
      this.#spend(match[0].length); // placeholders count, because they may be the whole pattern
      const index = match[2] === undefined ? next++ : Number(match[2]) - 1;
      if (index >= 0 && index < args.length) this.visit(args[index], style, depth + 1);
    }
    this.#text(pattern.slice(at), style);
  }

  /** Reads the words of a translation whose pattern is not known, with spaces between them. */
  #words(words: readonly unknown[], style: Style, depth: number): void {
    for (const [i, word] of words.entries()) {
      if (i > 0) this.#text(" ", style);
      this.visit(word, style, depth + 1);
    }
  }

  #text(text: string, style: Style): void {
    const part = this.#limited(text);
    this.#spend(part.length);
    this.sent += part;
    appendFormatted(this.list, part, { base: style });
  }

  /** The start of a text, cut to the number of units that the bound still allows. */
  #limited(text: string): string {
    if (text.length <= this.#units) return text;
    this.cut = true;
    return cutText(text, Math.max(0, this.#units));
  }

  #spend(units: number): void {
    this.#units -= units;
  }
}

/** The value of an object's own property. */
function ownValue(json: Json, key: string): unknown {
  return Object.hasOwn(json, key) ? json[key] : undefined;
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

/** The style of an object: its own properties, else the inherited style. */
function styleOf(json: Json, { color: inherited, formats: before }: Style): Style {
  let formats = before;
  for (const [name, letter] of FORMAT_NAMES) {
    const value = ownValue(json, name);
    if (value === true || value === "true" || value === 1) formats = withFormat(formats, letter);
    else if (value !== undefined) formats = withFormat(formats, letter, false);
  }
  return { color: colorOf(ownValue(json, "color"), inherited), formats };
}

function colorOf(value: unknown, inherited: string | null): string | null {
  if (typeof value !== "string") return inherited;
  const name = value.slice(0, 16).toLowerCase();
  if (name === "reset") return null;
  return COLOR_NAMES.get(name) ?? (/^#[0-9a-f]{6}$/.test(name) ? name : inherited);
}
