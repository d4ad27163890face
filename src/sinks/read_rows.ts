/**
 * Converts rows of this program's CSV and JSON formats back to records.
 *
 * @module
 */
import { formatAddress, parseAddress } from "../core/address.ts";
import { type Field, FIELDS, type FieldType, type ServerRecord } from "../core/record.ts";
import { unguardText } from "./csv.ts";

/**
 * Converts a JSON object to a record. Missing keys are null; unknown keys are ignored.
 *
 * @returns `undefined` when a value has the wrong type for its field, or the endpoint is invalid.
 */
export function recordFromJson(row: Readonly<Record<string, unknown>>): ServerRecord | undefined {
  const record: Record<string, unknown> = {};
  for (const { name, type, nullable } of FIELDS) {
    const value = row[name] ?? (nullable ? null : DEFAULTS[name] ?? null);
    if (value === null ? !nullable : !IS_TYPE[type](value)) return undefined;
    record[name] = value;
  }
  const address = parseAddress(record.host as string);
  const port = record.port as number;
  if (address === undefined || port < 1 || port > 65535) return undefined;
  return { ...record as unknown as ServerRecord, host: formatAddress(address) };
}

/** Defaults of fields that are not nullable: the row may have been written without their columns. */
const DEFAULTS: Readonly<Record<string, unknown>> = {
  protocol: "",
  protocols: [],
  flags: [],
  seen_at: 0,
};

/** Tests whether a value has a field's type. */
const IS_TYPE: Readonly<Record<FieldType, (value: unknown) => boolean>> = {
  text: (value) => typeof value === "string",
  integer: Number.isSafeInteger,
  number: Number.isFinite,
  boolean: (value) => typeof value === "boolean",
  names: (value) => Array.isArray(value) && value.every((one) => typeof one === "string"),
  plugins: (value) => Array.isArray(value) && value.every(isPlugin),
  facts: isObject,
};

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isPlugin(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { name, version } = value;
  return typeof name === "string" && (version === null || typeof version === "string");
}

/**
 * Converts the cells of a CSV line to a JSON object.
 *
 * @param head Names of the columns.
 * @returns `undefined` when the number of cells is wrong, or a cell has the wrong type for its column.
 */
export function jsonFromCells(
  head: readonly string[],
  cells: readonly string[],
): Readonly<Record<string, unknown>> | undefined {
  if (cells.length !== head.length) return undefined;
  const row: Record<string, unknown> = {};
  for (const [i, name] of head.entries()) {
    const field = FIELDS.find((one) => one.name === name);
    try {
      row[name] = field === undefined ? cells[i] : valueOf(cells[i], field);
    } catch {
      return undefined; // no JSON
    }
  }
  return row;
}

function valueOf(cell: string, { type }: Field): unknown {
  if (cell === "") return null;
  switch (type) {
    case "text":
      return unguardText(cell);
    case "boolean":
      return cell === "true" ? true : cell === "false" ? false : cell;
    case "integer":
    case "number":
      return Number(cell);
    default:
      return JSON.parse(cell);
  }
}
