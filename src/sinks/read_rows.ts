/**
 * Reading rows back that one of our formats wrote.
 *
 * @module
 */
import { formatAddress, parseAddress } from "../core/address.ts";
import { type Field, FIELDS, type FieldType, type ServerRecord } from "../core/record.ts";
import { unguardText } from "./csv.ts";

/**
 * The record of a JSON object. Keys that it lacks are null; those of others are passed over.
 *
 * @returns `undefined` where a value is not what its field holds, or there is no address.
 */
export function recordOfJson(row: Readonly<Record<string, unknown>>): ServerRecord | undefined {
  const record: Record<string, unknown> = {};
  for (const { name, type, nullable } of FIELDS) {
    const value = row[name] ?? (nullable ? null : DEFAULTS[name] ?? null);
    if (value === null ? !nullable : !FITS[type](value)) return undefined;
    record[name] = value;
  }
  const address = parseAddress(record.host as string);
  const port = record.port as number;
  if (address === undefined || port < 1 || port > 65535) return undefined;
  return { ...record as unknown as ServerRecord, host: formatAddress(address) };
}

/** What stands for columns that were not chosen when the row was written. */
const DEFAULTS: Readonly<Record<string, unknown>> = {
  protocol: "",
  protocols: [],
  flags: [],
  seen_at: 0,
};

/** Whether a value is what a field holds. */
const FITS: Readonly<Record<FieldType, (value: unknown) => boolean>> = {
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
 * The JSON object of a line of CSV.
 *
 * @param head The names of its columns.
 * @returns `undefined` where a cell is not what its column holds.
 */
export function jsonOfCells(
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
