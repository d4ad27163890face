/**
 * Tests of column values: rows that are read from files, and values that protocols report.
 *
 * @module
 */
import type { FieldType } from "./record.ts";

/** Tests whether a value that is not `null` has a field's type. */
export const IS_TYPE: Readonly<Record<FieldType, (value: unknown) => boolean>> = {
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
