/**
 * Replaces lone surrogates (half a UTF-16 pair), which UTF-8 cannot hold and files and databases
 * handle each in its own way. JSON can carry one (`"\ud800"`), and a formatting code that is removed
 * from a text can leave two. No row contains one.
 *
 * @module
 */
import type { Statement } from "./protocol.ts";

/** The flag of a row in which U+FFFD stands for half a surrogate pair. */
export const LONE_SURROGATE = "loneSurrogate";

/**
 * A statement without lone surrogates: U+FFFD replaces each, in columns and facts, in keys and nested
 * values too, and a flag reports it. A statement without any is returned as it is.
 */
export function wellFormed(statement: Statement): Statement {
  const { columns, facts, motdSent = "", flags } = statement;
  if (hasNoLoneSurrogate(columns) && hasNoLoneSurrogate(facts) && motdSent.isWellFormed()) {
    return statement;
  }
  return {
    ...statement,
    columns: replaced(columns),
    facts: replaced(facts),
    ...(statement.motdSent !== undefined && { motdSent: motdSent.toWellFormed() }),
    flags: flags.includes(LONE_SURROGATE) ? flags : [...flags, LONE_SURROGATE],
  };
}

/** Whether no text in a value, keys among them, holds half a pair. It runs for every row. */
function hasNoLoneSurrogate(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (!hasNoLoneSurrogate(value[i])) return false;
    return true;
  }
  for (const key in value) {
    if (!key.isWellFormed() || !hasNoLoneSurrogate((value as Record<string, unknown>)[key])) {
      return false;
    }
  }
  return true;
}

/** The value with U+FFFD for each half; of two keys that become one, the first counts. */
function replaced<T>(value: T): T {
  return replaceIn(value) as T;
}

function replaceIn(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(replaceIn);
  const pairs = new Map<string, unknown>();
  for (const [key, inner] of Object.entries(value)) {
    const name = key.toWellFormed();
    if (!pairs.has(name)) pairs.set(name, replaceIn(inner));
  }
  return Object.fromEntries(pairs);
}
