/**
 * The CSV format (RFC 4180). A row is one line, even if a text contains line feeds. No cell is a
 * formula in a spreadsheet.
 *
 * @module
 */
import { parse, stringify } from "@std/csv";
import type { Field, ServerRecord } from "../core/record.ts";
import { oneLine } from "../core/text.ts";
import { jsonText } from "./json.ts";
import type { Format } from "./sink.ts";

/**
 * The CSV format with the given columns. Its header is the fields' names.
 *
 * @param guardsNumbers Whether a text that looks like a number or a date is guarded too.
 */
export function csvFormat(fields: readonly Field[], guardsNumbers = false): Format {
  const line = (cells: readonly string[]) => stringify([cells], { headers: false });
  return {
    name: "csv",
    head: line(fields.map(({ name }) => name)),
    tail: "",
    appendable: true,
    isComplete: (text) => cellsOf(text).length === fields.length,
    row: (record) => line(fields.map((field) => cell(record, field, guardsNumbers))),
  };
}

/** Parses the cells of a line. Returns no cells when a quote is not closed. */
export function cellsOf(line: string, separator = ","): readonly string[] {
  try {
    return parse(line, { separator })[0] ?? [];
  } catch {
    return [];
  }
}

/**
 * Formats a cell: nothing for null, JSON for lists and objects, guarded text for all other values.
 */
function cell(record: ServerRecord, { name, type }: Field, guardsNumbers: boolean): string {
  const value = record[name];
  if (value === null) return "";
  if (typeof value === "string") {
    const isNumber = guardsNumbers && NUMBER.test(value) && !ADDRESSES.has(name);
    return isNumber ? `'${value}` : guardText(value);
  }
  return type === "names" || type === "plugins" || type === "facts"
    ? jsonText(value)
    : String(value);
}

/**
 * A formula: `=`, `+`, `-` or `@`, also full-width, as East Asian spreadsheets accept them, after any
 * apostrophes, white space and invisible characters.
 */
const FORMULA = /^'*[\s\p{Cf}]*[=+\-@\uff1d\uff0b\uff0d\uff20]/u;

/** A text that readers of CSV may take for a number, a date or a time. */
const NUMBER = /^\d[\d.,/: e+-]*$/i;
/** Such a text after apostrophes. It gets one more, as a formula does. */
const QUOTED_NUMBER = /^'+\d[\d.,/: e+-]*$/i;
/** Columns of addresses, which no reader takes for numbers. */
const ADDRESSES = new Set<string>(["host", "alias_of"]);

/**
 * Guards a text against formula injection in spreadsheets. A text that would be a formula is prefixed
 * with an apostrophe. A text that already has apostrophes before the formula gets one more, because
 * {@linkcode unguardText} could not restore it otherwise.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(guardText("=1+2"), "'=1+2");
 * assertEquals(guardText("A = B\n"), "A = B␊");
 * ```
 */
export function guardText(text: string): string {
  const line = oneLine(text);
  return FORMULA.test(line) || QUOTED_NUMBER.test(line) ? `'${line}` : line;
}

/** Reverses {@linkcode guardText}. Control characters stay replaced. */
export function unguardText(cell: string): string {
  return QUOTED_NUMBER.test(cell) || cell.startsWith("'") && FORMULA.test(cell)
    ? cell.slice(1)
    : cell;
}
