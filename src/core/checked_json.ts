/**
 * Reading JSON that somebody may have edited: each field is checked, and an error names the field,
 * what it holds, and what is wanted.
 *
 * @module
 */

/** A field does not hold what it must. */
export class FieldError extends Error {
  /** Always `"FieldError"`. */
  override readonly name = "FieldError";
}

/**
 * Checks a value, and returns it as what it is.
 *
 * @param field How errors name it, as `marks.udp.pass`.
 * @throws FieldError
 */
export type Check<T> = (value: unknown, field: string) => T;

/** What a check returns. */
type Checked<C> = C extends Check<infer T> ? T : never;

/** Longest part of a value that an error shows. */
const MOST_SHOWN = 60;

/** An error that says what a field holds, and what it must be. */
export function wrongField(field: string, value: unknown, wanted: string): FieldError {
  const textMatching = JSON.stringify(value) ?? "missing";
  const shown = textMatching.length > MOST_SHOWN
    ? `${textMatching.slice(0, MOST_SHOWN)}…`
    : textMatching;
  return new FieldError(`${field} is ${shown}, and must be ${wanted}`);
}

/** A whole number. */
export function integer(least = 0, most: number = Number.MAX_SAFE_INTEGER): Check<number> {
  return (value, field) => {
    if (Number.isInteger(value) && value as number >= least && value as number <= most) {
      return value as number;
    }
    throw wrongField(field, value, `a whole number from ${least} to ${most}`);
  };
}

/** A text that a pattern matches. */
export function text(pattern: RegExp, wanted: string): Check<string> {
  return (value, field) => {
    if (typeof value === "string" && pattern.test(value)) return value;
    throw wrongField(field, value, wanted);
  };
}

/** A text that is read as something else; `undefined` where it cannot be. */
export function parsedText<T>(read: (text: string) => T | undefined, wanted: string): Check<T> {
  return (value, field) => {
    const result = typeof value === "string" ? read(value) : undefined;
    if (result !== undefined) return result;
    throw wrongField(field, value, wanted);
  };
}

/** One of some words. */
export function oneOf<Word extends string>(words: readonly Word[]): Check<Word> {
  return (value, field) => {
    const word = words.find((one) => one === value);
    if (word !== undefined) return word;
    throw wrongField(field, value, `one of ${words.join(", ")}`);
  };
}

/** `null`, or something else. */
export function nullable<T>(check: Check<T>): Check<T | null> {
  return (value, field) => value === null ? null : check(value, field);
}

/** A field that may be missing. */
export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value, field) => value === undefined ? undefined : check(value, field);
}

/** A list. */
export function listOf<T>(check: Check<T>): Check<T[]> {
  return (value, field) => {
    if (!Array.isArray(value)) throw wrongField(field, value, "a list");
    return value.map((one, i) => check(one, `${field}[${i}]`));
  };
}

/** A list of so many values, each of its own kind. */
export function tuple<Checks extends readonly Check<unknown>[]>(
  ...checks: Checks
): Check<{ [I in keyof Checks]: Checked<Checks[I]> }> {
  return (value, field) => {
    if (!Array.isArray(value) || value.length > checks.length) {
      throw wrongField(field, value, `a list of ${checks.length}`);
    }
    return checks.map((check, i) => check(value[i], `${field}[${i}]`)) as never;
  };
}

/** An object with these fields, and no others. */
export function objectOf<Checks extends Readonly<Record<string, Check<unknown>>>>(
  checks: Checks,
): Check<{ [Name in keyof Checks]: Checked<Checks[Name]> }> {
  return (value, field) => {
    const prefix = field === "" ? "" : `${field}.`;
    const entries = new Map(entriesOf(value, field));
    const unknown = [...entries.keys()].find((name) => !Object.hasOwn(checks, name));
    if (unknown !== undefined) throw new FieldError(`there is no field ${prefix}${unknown}`);
    const read = Object.entries(checks).map((
      [name, check],
    ) => [name, check(entries.get(name), prefix + name)]);
    return Object.fromEntries(read.filter(([, one]) => one !== undefined));
  };
}

/** Names and values of an object. */
export function entriesOf(value: unknown, field: string): [string, unknown][] {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return Object.entries(value);
  }
  throw wrongField(field === "" ? "it" : field, value, "an object");
}

/** Whole numbers under the names that an object of such numbers has. */
export function countsLike<Counts extends object>(counts: Counts): Check<Counts> {
  return objectOf(
    Object.fromEntries(Object.keys(counts).map((name) => [name, integer()])),
  ) as Check<unknown> as Check<Counts>;
}

/** Reads JSON text. */
export function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new FieldError(`it is no JSON: ${(error as Error).message}`);
  }
}
