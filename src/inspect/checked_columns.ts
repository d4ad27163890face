/**
 * Checks the column values that protocols report: a value that does not fit its column is omitted.
 *
 * @module
 */
import { FIELDS, IS_TYPE, type Plugin } from "../core/record.ts";
import type { Statement } from "../protocols/protocol.ts";

/** The flag of a row whose reply had a value that does not fit its column. */
const BAD_COLUMN = "badColumn";
/** Maximum number of UTF-16 units of the texts in one column: more than a datagram can hold. */
const MAX_UNITS = 65_536;

/**
 * The type tests of the columns that protocols fill. Columns that are never null are missing,
 * because the scan fills them.
 */
const TESTS: ReadonlyMap<string, (value: unknown) => boolean> = new Map(
  FIELDS.filter(({ nullable }) => nullable).map(({ name, type }) => [name, IS_TYPE[type]]),
);

/**
 * A statement without values that have the wrong type for their column or are too long; a flag
 * reports the omission. A statement without such values is returned unchanged.
 */
export function withFittingColumns(statement: Statement): Statement {
  const { columns, flags } = statement;
  for (const name in columns) {
    if (fits(name, columns[name as keyof typeof columns])) continue;
    return {
      ...statement,
      columns: Object.fromEntries(Object.entries(columns).filter((pair) => fits(...pair))),
      flags: flags.includes(BAD_COLUMN) ? flags : [...flags, BAD_COLUMN],
    };
  }
  return statement;
}

/**
 * Whether a value has the type and size that its column allows. It runs for every value of a row.
 */
function fits(name: string, value: unknown): boolean {
  return value == null || (TESTS.get(name)?.(value) ?? false) && unitsOf(value) <= MAX_UNITS;
}

/** The size of a column's texts, UTF-16 units. Each item of a list adds one unit. */
function unitsOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (!Array.isArray(value)) return 0;
  let units = value.length;
  for (const item of value as (string | Plugin)[]) {
    units += typeof item === "string"
      ? item.length
      : item.name.length + (item.version ?? "").length;
  }
  return units;
}
