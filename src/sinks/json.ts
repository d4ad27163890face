/**
 * The formats `ndjson` (one JSON object per line) and `json` (one array).
 *
 * @module
 */
import { parseJson } from "../core/checked_values.ts";
import { type Field, FIELDS, type ServerRecord } from "../core/record.ts";
import type { Format } from "./sink.ts";

/** Schema version of rows: the value of their key `schema`. */
export const SCHEMA = 1;

/** The format with one JSON object per line, with the keys `schema` and the fields' names. */
export function ndjsonFormat(fields: readonly Field[]): Format {
  const jsonRow = rowWriter(fields);
  const keys = ["schema", ...fields.map(({ name }) => name)].sort().join();
  return {
    name: "ndjson",
    head: "",
    tail: "",
    appendable: true,
    canFollow: (first) => {
      const row = parseRow(first);
      return row?.schema === SCHEMA && Object.keys(row).sort().join() === keys;
    },
    isComplete: (line) => parseRow(line) !== undefined,
    row: (record) => `${jsonRow(record)}\n`,
  };
}

/** Parses the JSON object of a line; `undefined` when the line is not one, or nested too deeply. */
export function parseRow(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = parseJson(line);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? value as Record<string, unknown> : undefined;
  } catch {
    return undefined;
  }
}

/** The format of one JSON array of objects, with the keys of {@linkcode ndjsonFormat}. */
export function jsonFormat(fields: readonly Field[]): Format {
  const jsonRow = rowWriter(fields);
  return {
    name: "json",
    head: "[",
    tail: "\n]\n",
    appendable: false,
    row: (record, first) => `${first ? "" : ","}\n${jsonRow(record)}`,
  };
}

/**
 * Creates a function that formats records. With selected fields, the text is built key by key. That is
 * three times as fast as building an object for `JSON.stringify`.
 */
function rowWriter(fields: readonly Field[]): (record: ServerRecord) => string {
  if (fields === FIELDS) { // a record has exactly these keys, in this order
    return (record) => harmlessJson(`{"schema":${SCHEMA},${JSON.stringify(record).slice(1)}`);
  }
  const pieces = fields.map(({ name }) => ({ name, key: `,${JSON.stringify(name)}:` }));
  return (record) => {
    let text = `{"schema":${SCHEMA}`;
    for (const { name, key } of pieces) {
      const value = record[name];
      text += key + (value == null ? "null" : JSON.stringify(value));
    }
    return harmlessJson(`${text}}`);
  };
}

/** Characters that JSON allows unescaped and that affect a terminal: C1 controls, bidi controls, BOM. */
const UNSAFE = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Formats a value as JSON. Characters that move the cursor or reorder a line are escaped. */
export function jsonText(value: unknown): string {
  return harmlessJson(JSON.stringify(value));
}

function harmlessJson(json: string): string {
  return json.replace(
    UNSAFE,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
