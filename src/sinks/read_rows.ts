/**
 * Converts rows of this program's CSV and JSON formats back to records.
 *
 * @module
 */
import { formatHost, parseHost, unmappedAddress } from "../core/address.ts";
import { parseJson } from "../core/checked_values.ts";
import { type Field, FIELDS, IS_TYPE, type ServerRecord } from "../core/record.ts";
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
  const parsed = parseHost(record.host as string);
  const port = record.port as number;
  if (parsed === undefined || port < 1 || port > 65535) return undefined;
  const host = formatHost({ ...parsed, address: unmappedAddress(parsed.address) });
  return { ...record as unknown as ServerRecord, host };
}

/** Default values of fields that must not be null. A row may lack the columns of these fields. */
const DEFAULTS: Readonly<Record<string, unknown>> = {
  protocol: "",
  protocols: [],
  flags: [],
  seen_at: 0,
};

/**
 * Converts the cells of a CSV line to a JSON object.
 *
 * @param head Names of the columns.
 * @returns `undefined` when the number of cells is wrong, a cell has the wrong type for its column, or a
 * spreadsheet has changed it.
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
      if (typeof row[name] === "string" && isChanged(name, cells[i])) return undefined;
    } catch {
      return undefined; // the cell is not JSON, or nested too deeply
    }
  }
  return row;
}

/** The words of a boolean; spreadsheets write them in capitals. */
const BOOLEANS = new Map([["true", true], ["TRUE", true], ["false", false], ["FALSE", false]]);

/** The date into which spreadsheets change a version such as 1.20.1: `20.01.2001`, `1/20/2001`, `20-Jan`. */
const DATE =
  /^(?:\d{1,2}\.(?:0\d|1[0-2])\.(?:19|20)\d{2}|\d{1,4}\/\d{1,2}\/\d{1,4}|\d{1,2}-[A-Z][a-z]{2}|[A-Z][a-z]{2}-\d{2})$/;

/** Whether a spreadsheet has changed a cell: a GUID to 1.23457E+18, a version to a date. */
function isChanged(name: string, cell: string): boolean {
  return name === "guid" ? !/^'?\d{1,20}$/.test(cell) : name === "version" && DATE.test(cell);
}

function valueOf(cell: string, { type }: Field): unknown {
  if (cell === "") return null;
  switch (type) {
    case "text":
      return unguardText(cell);
    case "boolean":
      return BOOLEANS.get(cell) ?? cell;
    case "integer":
      return /^-?\d+$/.test(cell) ? Number(cell) : cell; // not 1.79525E+12
    case "number":
      return cell.trim() === cell ? Number(cell) : cell;
    default:
      return parseJson(cell);
  }
}
