/**
 * Replaces lone surrogates (halves of a UTF-16 surrogate pair) in rows. UTF-8 cannot encode a lone
 * surrogate, and files and databases handle it in different ways. JSON text can contain one
 * (`"\ud800"`). Two appear if a formatting code between the halves of a pair is removed.
 *
 * @module
 */
import type { Statement } from "./protocol.ts";

/** The flag of a row in which U+FFFD replaces a lone surrogate. */
export const LONE_SURROGATE = "loneSurrogate";

/**
 * A statement without lone surrogates. U+FFFD replaces each one in columns, facts, their keys and
 * nested values, and a flag reports it. A statement without lone surrogates is returned unchanged.
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

/** Whether a value and its keys contain no lone surrogate. It runs for every row. */
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

/** The value with U+FFFD for each lone surrogate. If two keys become equal, the first is kept. */
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
