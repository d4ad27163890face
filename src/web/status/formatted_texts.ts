/**
 * Formatted texts of servers in the forms of the status services: as sent, plain, and as HTML with inline
 * styles.
 *
 * @module
 */
import {
  COLORS,
  type Dialect,
  escapeHtml,
  parseFormatted,
  type TextRun,
} from "../../core/formatted/mod.ts";
import { harmlessText, marksLimiter } from "../../core/text.ts";

/** A text in its three forms. */
export interface TextForms<Form> {
  /** The text as sent, with formatting codes. */
  readonly raw: Form;
  /** The text without formatting codes. Spaces at its start stay: they centre it. */
  readonly clean: Form;
  /** The text as HTML. */
  readonly html: Form;
}

/** How a service writes the text of a run with its style. `color` is `#rrggbb` in lower case. */
type RunWriter = (text: string, color: string | undefined, formats: string) => string;

/** The CSS declaration of each format that has one; obfuscated text (k) has a class. */
const DECLARATIONS: Readonly<Record<string, string>> = {
  l: "font-weight: bold;",
  m: "text-decoration: line-through;",
  n: "text-decoration: underline;",
  o: "font-style: italic;",
};

/** As mcsrvstat.us: a span for the colour, and one in it for each format. */
const nestedSpans: RunWriter = (text, color, formats) => {
  const styled = [...formats].reduceRight((inner, letter) => {
    const style = DECLARATIONS[letter];
    const attribute = style === undefined
      ? 'class="minecraft-formatted--obfuscated"'
      : `style="${style}"`;
    return `<span ${attribute}>${inner}</span>`;
  }, escapeHtml(text));
  return color === undefined
    ? styled
    : `<span style="color: ${color.toUpperCase()}">${styled}</span>`;
};

/** As mcstatus.io: one span for each run. */
const singleSpan: RunWriter = (text, color, formats) => {
  const lines = [..."mn"].filter((letter) => formats.includes(letter))
    .map((letter) => letter === "m" ? "line-through" : "underline");
  const style = [
    color === undefined ? "" : `color: ${color};`,
    ...[..."lo"].filter((letter) => formats.includes(letter)).map((one) => DECLARATIONS[one]),
    lines.length === 0 ? "" : `text-decoration: ${lines.join(" ")};`,
  ].join("");
  const attributes = (formats.includes("k") ? ' class="minecraft-format-obfuscated"' : "") +
    (style === "" ? "" : ` style="${style}"`);
  return `<span${attributes}>${escapeHtml(text)}</span>`;
};

/** The grey of Bedrock's code 7, which differs from Java's. */
const BEDROCK_GREY = "#c6c6c6";

function colorOf(color: string | null, dialect: Dialect): string | undefined {
  if (color === null) return undefined;
  return color === "7" && dialect === "bedrock" ? BEDROCK_GREY : COLORS.get(color) ?? color;
}

/** How a text is read. */
export interface TextOptions {
  readonly dialect: Dialect;
  /** Whether a style holds beyond the end of a line, as in components. Default: a line ends it. */
  readonly keepsStyle?: boolean;
}

/** The runs of a text, harmless and divided into lines. */
function linesOf(text: string, { dialect, keepsStyle }: TextOptions): readonly TextRun[][] {
  if (!keepsStyle) return text.split(LINE_END).map((line) => harmlessRuns(line, dialect));
  const lines: TextRun[][] = [[]];
  for (const { text: whole, style } of parseFormatted(text, { dialect })) {
    for (const [i, part] of whole.split(LINE_END).entries()) {
      if (i > 0) lines.push([]);
      if (part !== "") lines.at(-1)!.push({ text: part, style });
    }
  }
  return lines.map(harmless);
}

const LINE_END = /\r?\n/;

function harmlessRuns(line: string, dialect: Dialect): TextRun[] {
  return harmless(parseFormatted(line, { dialect }));
}

function harmless(runs: readonly TextRun[]): TextRun[] {
  const bound = marksLimiter();
  return runs.map(({ text, style }) => ({ text: bound(harmlessText(text)), style }));
}

function formsOf(sent: string, options: TextOptions, write: RunWriter): TextForms<string[]> {
  const text = sent.toWellFormed();
  const lines = linesOf(text, options);
  return {
    raw: text.split(LINE_END),
    clean: lines.map((runs) => runs.map((run) => run.text).join("")),
    html: lines.map((runs) =>
      runs.map(({ text, style: { color, formats } }) =>
        write(text, colorOf(color, options.dialect), formats)
      ).join("")
    ),
  };
}

/**
 * A text as mcsrvstat.us has it: lists of lines. Text without a style has no span.
 *
 * @example
 * ```ts
 * import { textLines } from "./formatted_texts.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(textLines("§c§lHi\n <you>", { dialect: "java" }), {
 *   raw: ["§c§lHi", " <you>"],
 *   clean: ["Hi", " <you>"],
 *   html: [
 *     '<span style="color: #FF5555"><span style="font-weight: bold;">Hi</span></span>',
 *     " &lt;you&gt;",
 *   ],
 * });
 * ```
 */
export function textLines(text: string, options: TextOptions): TextForms<string[]> {
  return formsOf(text, options, nestedSpans);
}

/**
 * A text as mcstatus.io has it: one text, in which the HTML has a span for each run, all in one span.
 *
 * @example
 * ```ts
 * import { wholeText } from "./formatted_texts.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(wholeText("§fA §kB", { dialect: "java" }), {
 *   raw: "§fA §kB",
 *   clean: "A B",
 *   html: '<span><span style="color: #ffffff;">A </span>' +
 *     '<span class="minecraft-format-obfuscated" style="color: #ffffff;">B</span></span>',
 * });
 * ```
 */
export function wholeText(text: string, options: TextOptions): TextForms<string> {
  const { raw, clean, html } = formsOf(text, options, singleSpan);
  return {
    raw: raw.join("\n"),
    clean: clean.join("\n"),
    html: `<span>${html.join("\n")}</span>`,
  };
}
