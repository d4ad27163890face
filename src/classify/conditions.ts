/**
 * The conditions of rules: where they look, and what has to be there.
 *
 * @module
 */
import type { ServerRecord } from "../core/record.ts";

/** A condition as data: where to look, and one more key that says what has to be there. */
export type Condition = Readonly<Record<string, unknown>> & { readonly at: string };

/** Parts of a text that a rule names: the software's `name` and `version`. */
export type Captured = Readonly<Record<string, string | undefined>>;
/** Whether a condition holds, and what it captured. */
export type ConditionTest = (record: ServerRecord) => boolean | Captured;
/** Whether a value is what an operator wants. */
type Operator = (wanted: never) => (value: unknown, record: ServerRecord) => boolean | Captured;

/** Characters of a text that a pattern sees: no name is longer, and no pattern slow. */
const MOST_CHARACTERS = 256;

/** What a condition may want of the value that it looks at. */
const OPERATORS: Readonly<Record<string, Operator>> = {
  /** It is this; `null` is what is not there. */
  is: (wanted: unknown) => (value) => value === wanted,
  /** It is one of these. */
  in: (wanted: readonly unknown[]) => (value) => wanted.includes(value),
  /** It is there, or is not. */
  known: (wanted: boolean) => (value) => (value !== null) === wanted,
  /** It is a text of this form; what it names `name` and `version` is said on. */
  matches: (pattern: string) => {
    const form = new RegExp(pattern);
    const names = pattern.includes("(?<");
    return (value) => {
      if (typeof value !== "string" || value.length > MOST_CHARACTERS) return false;
      return names ? form.exec(value)?.groups ?? false : form.test(value);
    };
  },
  /** It equals what stands elsewhere. */
  equals: (path: string) => {
    const other = pathReader(path);
    return (value, record) => value !== null && value === other(record);
  },
  /** It differs from what stands elsewhere; both are there. */
  differs: (path: string) => {
    const other = pathReader(path);
    return (value, record) => value !== null && other(record) !== null && value !== other(record);
  },
  /** It is a number above another. */
  above: (path: string) => {
    const other = pathReader(path);
    return (value, record) => {
      const than = other(record);
      return typeof value === "number" && typeof than === "number" && value > than;
    };
  },
  /** It is a number, and no smaller than this. */
  atLeast: (least: number) => (value) => typeof value === "number" && value >= least,
  /** It lists exactly these, in this order; of an object, the keys. */
  lists: (wanted: readonly string[]) => (value) => {
    const items = listOf(value);
    return items?.length === wanted.length && wanted.every((item, i) => items[i] === item);
  },
  /** It lists these first. */
  begins: (wanted: readonly string[]) => (value) => {
    const items = listOf(value);
    return items !== undefined && wanted.every((item, i) => items[i] === item);
  },
  /** It lists all of these, in this order, whatever stands between them. */
  ordered: (wanted: readonly string[]) => (value) => {
    const places = wanted.map((item) => listOf(value)?.indexOf(item) ?? -1);
    return places.every((place, i) => place >= 0 && (i === 0 || place > places[i - 1]));
  },
  /** It lists nothing but these. */
  within: (wanted: readonly string[]) => (value) =>
    listOf(value)?.every((item) => wanted.includes(item as string)) ?? false,
  /** It is a decimal number below 2^64 whose hexadecimal digit at a place, from 0, is this. */
  hexDigit: ([place, digit]: readonly [number, number]) => (value) =>
    typeof value === "string" && /^[0-9]{1,20}$/.test(value) &&
    Number(BigInt(value) >> BigInt(4 * place) & 15n) === digit,
};

function listOf(value: unknown): readonly unknown[] | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  return Array.isArray(value) ? value : Object.keys(value);
}

/**
 * What reads a path: a column, or `protocol.fact` and perhaps a key inside. What is not there is
 * `null`; only own keys are, for strangers choose them.
 */
export function pathReader(path: string): (record: ServerRecord) => unknown {
  const steps = path.split(".");
  if (steps.length === 1) return (record) => record[path as keyof ServerRecord] ?? null;
  return ({ extras }) => {
    let value: unknown = extras;
    for (const step of steps) {
      if (typeof value !== "object" || value === null) return null;
      const found = (value as Record<string, unknown>)[step];
      if (found == null || !Object.hasOwn(value, step)) return null;
      value = found;
    }
    return value;
  };
}

/** Operators that take longer than the others. */
const SLOW = ["lists", "begins", "ordered", "within", "matches"];

/** Orders conditions: those that take longer are asked last. */
export function byCost(a: Condition, b: Condition): number {
  return SLOW.indexOf(operatorOf(a)) - SLOW.indexOf(operatorOf(b));
}

function operatorOf(condition: Condition): string {
  return Object.keys(condition).find((key) => key !== "at")!;
}

/** Makes a condition a test. */
export function compileCondition(condition: Condition): ConditionTest {
  const read = pathReader(condition.at);
  const name = operatorOf(condition);
  const holds = OPERATORS[name](condition[name] as never);
  return (record) => holds(read(record), record);
}

/** The values that a condition allows, where it names them. */
export function allowedValues(condition: Condition): readonly unknown[] | undefined {
  return "is" in condition ? [condition.is] : condition.in as unknown[] | undefined;
}
