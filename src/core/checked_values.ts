/**
 * Which values are valid, for options, parameters of URLs, JSON that a user may have edited, and
 * messages of NATS. Of JSON, each field is checked, and an error names the field, its value and the
 * required value.
 *
 * @module
 */
import type { JsonSchema } from "./schema.ts";

/** The valid values of options, parameters and fields, whose errors differ. */
export interface ValueForm<Value> {
  /** The valid values, for an error: "a whole number from 1 to 500". */
  readonly wanted: string;
  readonly schema: JsonSchema;
  /** The value of a text; `undefined`: it is not valid. */
  readonly read: (text: string) => Value | undefined;
  /** The value of a value in JSON; `undefined`: it is not valid. */
  readonly ofJson: (value: unknown) => Value | undefined;
}

/** The texts that `read` accepts. */
export function formed<Value>(
  wanted: string,
  read: (text: string) => Value | undefined,
  schema: JsonSchema = { type: "string" },
): ValueForm<Value> {
  const ofJson = (value: unknown) => typeof value === "string" ? read(value) : undefined;
  return { wanted, schema, read, ofJson };
}

/** The whole numbers between two limits. */
export function wholeNumber(least: number, most: number): ValueForm<number> {
  const ofJson = (value: unknown) =>
    Number.isInteger(value) && value as number >= least && value as number <= most
      ? value as number
      : undefined;
  return {
    wanted: `a whole number from ${least} to ${most}`,
    schema: { type: "integer", minimum: least, maximum: most },
    read: (text) => ofJson(/^\d{1,16}$/.test(text) ? Number(text) : NaN),
    ofJson,
  };
}

/** The given words. */
export function oneOf<const Word extends string>(words: readonly Word[]): ValueForm<Word> {
  const read = (text: string) => words.find((word) => word === text);
  return formed(`one of ${words.join(", ")}`, read, { type: "string", enum: words });
}

/** `true` and `false`. */
export const TRUE_OR_FALSE: ValueForm<boolean> = {
  wanted: "true or false",
  schema: { type: "boolean" },
  read: (text) => text === "true" ? true : text === "false" ? false : undefined,
  ofJson: (value) => typeof value === "boolean" ? value : undefined,
};

/** The error of a field with an invalid value. */
export class FieldError extends Error {
  /** The class's name, always `"FieldError"`. */
  override readonly name = "FieldError";
}

/**
 * Checks a value, and returns it with its type.
 *
 * @param field The field's name in errors, for example `marks.udp.pass`.
 * @throws FieldError when the value is invalid.
 */
export type Check<T> = (value: unknown, field: string) => T;

type Checked<C> = C extends Check<infer T> ? T : never;

/** Maximum number of characters of a value that an error shows. */
const MAX_SHOWN = 60;

/** The error for a field, with its value and the required value. */
export function wrongField(field: string, value: unknown, wanted: string): FieldError {
  const textMatching = JSON.stringify(value) ?? "missing";
  const shown = textMatching.length > MAX_SHOWN
    ? `${textMatching.slice(0, MAX_SHOWN)}…`
    : textMatching;
  return new FieldError(`${field} is ${shown}, and must be ${wanted}`);
}

/** Checks that a value has a form. */
export function checked<Value>({ ofJson, wanted }: ValueForm<Value>): Check<Value> {
  return (value, field) => {
    const result = ofJson(value);
    if (result !== undefined) return result;
    throw wrongField(field, value, wanted);
  };
}

/** Checks that a value is a whole number from `least` to `most`. */
export function integer(least = 0, most: number = Number.MAX_SAFE_INTEGER): Check<number> {
  return checked(wholeNumber(least, most));
}

/** Checks that a value is a string that matches a pattern. */
export function text(pattern: RegExp, wanted: string): Check<string> {
  return checked(formed(wanted, (text) => pattern.test(text) ? text : undefined));
}

/** Allows `null` besides the values of a check. */
export function nullable<T>(check: Check<T>): Check<T | null> {
  return (value, field) => value === null ? null : check(value, field);
}

/** Allows a missing field besides the values of a check. */
export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value, field) => value === undefined ? undefined : check(value, field);
}

/** Checks that a value is a list, and checks each item. */
export function listOf<T>(check: Check<T>): Check<T[]> {
  return (value, field) => {
    if (!Array.isArray(value)) throw wrongField(field, value, "a list");
    return value.map((one, i) => check(one, `${field}[${i}]`));
  };
}

/**
 * Checks that a value is a list, with a check for each item. The list may be shorter than the list
 * of checks: missing items are checked as `undefined`.
 */
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

/** Checks that a value is an object with the given fields and no others. */
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

/** The names and values of an object; throws FieldError for any other value. */
export function entriesOf(value: unknown, field: string): [string, unknown][] {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return Object.entries(value);
  }
  throw wrongField(field === "" ? "it" : field, value, "an object");
}

/**
 * Checks that a value is an object of whole numbers with the same field names as a given object.
 */
export function countsLike<Counts extends object>(counts: Counts): Check<Counts> {
  return objectOf(
    Object.fromEntries(Object.keys(counts).map((name) => [name, integer()])),
  ) as Check<unknown> as Check<Counts>;
}

/**
 * Maximum number of levels of nested objects and lists in JSON that others may have written.
 * `JSON.stringify()` and PostgreSQL fail at some thousand levels.
 */
export const MAX_DEPTH = 200;

/** Parses JSON text; throws FieldError when it is not JSON, or has more than 200 levels. */
export function parseJson(json: string): unknown {
  const value = parsed(json);
  if (isWithin(value, MAX_DEPTH)) return value;
  throw new FieldError(`it has more than ${MAX_DEPTH} levels of objects and lists`);
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new FieldError(`it is not JSON: ${(error as Error).message}`);
  }
}

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((one) => isWithin(one, levels - 1));
}
