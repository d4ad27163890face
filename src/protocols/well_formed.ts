/**
 * Half a surrogate pair is no text: UTF-8 cannot hold it, so that files and databases would refuse
 * it, each in its own way. JSON may bring one (`"\ud800"`), and a code that is taken out of a text
 * may leave two. None leaves in a row.
 *
 * @module
 */
import type { Statement } from "./protocol.ts";

/** The flag of a row in which U+FFFD stands for half a surrogate pair. */
export const LONE_SURROGATE = "loneSurrogate";

/**
 * A statement without half pairs: U+FFFD stands for each, in columns and facts, keys and nested
 * values too, and a flag says so. The same statement where there are none.
 */
export function wellFormed(statement: Statement): Statement {
  const { columns, facts, motdSent = "", flags } = statement;
  if (isWhole(columns) && isWhole(facts) && motdSent.isWellFormed()) return statement;
  return {
    ...statement,
    columns: mended(columns),
    facts: mended(facts),
    ...(statement.motdSent !== undefined && { motdSent: motdSent.toWellFormed() }),
    flags: flags.includes(LONE_SURROGATE) ? flags : [...flags, LONE_SURROGATE],
  };
}

/** Whether no text in a value, keys among them, holds half a pair. It runs for every row. */
function isWhole(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (!isWhole(value[i])) return false;
    return true;
  }
  for (const key in value) {
    if (!key.isWellFormed() || !isWhole((value as Record<string, unknown>)[key])) return false;
  }
  return true;
}

/** The value with U+FFFD for each half; of two keys that become one, the first counts. */
function mended<T>(value: T): T {
  return mend(value) as T;
}

function mend(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(mend);
  const pairs = new Map<string, unknown>();
  for (const [key, inner] of Object.entries(value)) {
    const name = key.toWellFormed();
    if (!pairs.has(name)) pairs.set(name, mend(inner));
  }
  return Object.fromEntries(pairs);
}
