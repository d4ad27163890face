/**
 * Rows as JSON: one object per line, or one array.
 *
 * @module
 */
import { type Field, FIELDS, type ServerRecord } from "../core/record.ts";
import type { Format } from "./sink.ts";

/** The version of the rows' shape, in every one of them. */
export const SCHEMA = 1;

/** One JSON object per line, with these keys. */
export function ndjsonFormat(fields: readonly Field[]): Format {
  const jsonRow = rowWriter(fields);
  const keys = ["schema", ...fields.map(({ name }) => name)].sort().join();
  return {
    name: "ndjson",
    head: "",
    tail: "",
    appendable: true,
    fits: (first) => {
      const row = parseRow(first);
      return row?.schema === SCHEMA && Object.keys(row).sort().join() === keys;
    },
    whole: (line) => parseRow(line) !== undefined,
    row: (record) => `${jsonRow(record)}\n`,
  };
}

/** The object of a line; `undefined` where it holds none, or a torn one. */
export function parseRow(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? value as Record<string, unknown> : undefined;
  } catch {
    return undefined;
  }
}

/** One JSON array of objects with these keys. */
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

/** Writes the objects: whole, or piece by piece, for building each first takes three times as long. */
function rowWriter(fields: readonly Field[]): (record: ServerRecord) => string {
  if (fields === FIELDS) { // a record's own keys, in their order
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

/** What JSON may hold as it is, but a terminal should not see. */
const UNSEEN = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** JSON in which characters that move a cursor or reorder a line are escaped. */
export function jsonText(value: unknown): string {
  return harmlessJson(JSON.stringify(value));
}

function harmlessJson(json: string): string {
  return json.replace(
    UNSEEN,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
