/**
 * Rows as CSV: RFC 4180, one line a row whatever a MOTD holds, and safe to open in a spreadsheet.
 *
 * @module
 */
import { parse, stringify } from "@std/csv";
import type { Field, ServerRecord } from "../core/record.ts";
import { oneLine } from "../core/text.ts";
import { jsonText } from "./json.ts";
import type { Format } from "./sink.ts";

/** CSV with these columns. */
export function csvFormat(fields: readonly Field[]): Format {
  const line = (cells: readonly string[]) => stringify([cells], { headers: false });
  return {
    name: "csv",
    head: line(fields.map(({ name }) => name)),
    tail: "",
    appendable: true,
    whole: (text) => cellsOf(text).length === fields.length,
    row: (record) => line(fields.map((field) => cell(record, field))),
  };
}

/** The cells of a line; none where a quote in it does not end. */
export function cellsOf(line: string): readonly string[] {
  try {
    return parse(line)[0] ?? [];
  } catch {
    return [];
  }
}

/** One cell: empty for null, JSON for lists, text made harmless. */
function cell(record: ServerRecord, { name, type }: Field): string {
  const value = record[name];
  if (value === null) return "";
  if (typeof value === "string") return guardText(value);
  return type === "names" || type === "plugins" || type === "facts"
    ? jsonText(value)
    : String(value);
}

/**
 * Text that no spreadsheet takes for a formula: where it would, an apostrophe stands in front, and
 * one more where apostrophes already do, so that {@linkcode unguardText} gets it back.
 *
 * @example
 * ```ts
 * import { guardText } from "blocksweep/scan";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(guardText("=1+2"), "'=1+2");
 * assertEquals(guardText("A = B\n"), "A = B␊");
 * ```
 */
export function guardText(text: string): string {
  const line = oneLine(text);
  return /^'*[=+\-@]/.test(line) ? `'${line}` : line;
}

/** The text that {@linkcode guardText} was given, but for characters that have no place in CSV. */
export function unguardText(cell: string): string {
  return /^''*[=+\-@]/.test(cell) ? cell.slice(1) : cell;
}
