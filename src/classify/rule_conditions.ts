/**
 * The conditions of rules: a path in the record, and the required value.
 *
 * @module
 */
import type { ServerRecord } from "../core/record.ts";

/** A condition as data: the path `at`, and one operator with its operand. */
export type RuleCondition = Readonly<Record<string, unknown>> & { readonly at: string };

/** Named parts that a pattern captured in a text: the software's `name` and `version`. */
export type Captured = Readonly<Record<string, string | undefined>>;
/** A compiled condition: returns whether it is met, or the captured parts. */
export type ConditionTest = (record: ServerRecord) => boolean | Captured;
/** An operator: compiles an operand into a test of a value. */
type Operator = (wanted: never) => (value: unknown, record: ServerRecord) => boolean | Captured;

/**
 * Maximum number of characters of a text that is matched with patterns. Names of software are
 * shorter. The limit keeps matching fast.
 */
const MAX_CHARACTERS = 256;

const OPERATORS: Readonly<Record<string, Operator>> = {
  /** The value equals the operand; `null`: the value is missing. */
  is: (wanted: unknown) => (value) => value === wanted,
  /** The value equals one of the operands. */
  in: (wanted: readonly unknown[]) => (value) => wanted.includes(value),
  /** The value exists (`true`) or is missing (`false`). */
  known: (wanted: boolean) => (value) => (value !== null) === wanted,
  /** The value is a text that matches a pattern; its groups `name` and `version` are captured. */
  matches: (pattern: string) => {
    const form = new RegExp(pattern);
    const names = pattern.includes("(?<");
    return (value) => {
      if (typeof value !== "string" || value.length > MAX_CHARACTERS) return false;
      return names ? form.exec(value)?.groups ?? false : form.test(value);
    };
  },
  /** The value equals the value at another path. */
  equals: (path: string) => {
    const other = pathReader(path);
    return (value, record) => value !== null && value === other(record);
  },
  /** The value differs from the value at another path; both exist. */
  differs: (path: string) => {
    const other = pathReader(path);
    return (value, record) => value !== null && other(record) !== null && value !== other(record);
  },
  /** The value is a number above the number at another path. */
  above: (path: string) => {
    const other = pathReader(path);
    return (value, record) => {
      const than = other(record);
      return typeof value === "number" && typeof than === "number" && value > than;
    };
  },
  /** The value is a number, at least the operand. */
  atLeast: (least: number) => (value) => typeof value === "number" && value >= least,
  /**
   * The items of the value are exactly the operands, in this order. For an object, its keys are
   * compared.
   */
  lists: (wanted: readonly string[]) => (value) => {
    const items = listOf(value);
    return items?.length === wanted.length && wanted.every((item, i) => items[i] === item);
  },
  /** The first items of the value are the operands, in this order. */
  begins: (wanted: readonly string[]) => (value) => {
    const items = listOf(value);
    return items !== undefined && wanted.every((item, i) => items[i] === item);
  },
  /**
   * The items of the value include all operands, in this order. Other items may be between them.
   */
  ordered: (wanted: readonly string[]) => (value) => {
    const indexes = wanted.map((item) => listOf(value)?.indexOf(item) ?? -1);
    return indexes.every((at, i) => at >= 0 && (i === 0 || at > indexes[i - 1]));
  },
  /** All items of the value are operands. */
  within: (wanted: readonly string[]) => (value) =>
    listOf(value)?.every((item) => wanted.includes(item as string)) ?? false,
  /**
   * The value is a decimal number below 2^64 that has a given hexadecimal digit at a given place,
   * counted from 0 at the lowest digit.
   */
  hexDigit: ([place, digit]: readonly [number, number]) => (value) =>
    typeof value === "string" && /^[0-9]{1,20}$/.test(value) &&
    Number(BigInt(value) >> BigInt(4 * place) & 15n) === digit,
};

function listOf(value: unknown): readonly unknown[] | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  return Array.isArray(value) ? value : Object.keys(value);
}

/**
 * Returns a function that reads a path: a column, or `protocol.fact`, or a key inside a fact. A
 * missing value is `null`. Only own properties are read, because hosts choose the keys.
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

/** Slow operators, in order of cost. */
const SLOW = ["lists", "begins", "ordered", "within", "matches"];

/** Compares conditions by cost: slow operators come last. */
export function byCost(a: RuleCondition, b: RuleCondition): number {
  return SLOW.indexOf(operatorOf(a)) - SLOW.indexOf(operatorOf(b));
}

function operatorOf(condition: RuleCondition): string {
  return Object.keys(condition).find((key) => key !== "at")!;
}

/** Compiles a condition into a function that tests records. */
export function compileCondition(condition: RuleCondition): ConditionTest {
  const read = pathReader(condition.at);
  const name = operatorOf(condition);
  const test = OPERATORS[name](condition[name] as never);
  return (record) => test(read(record), record);
}

/** The values that a condition allows; `undefined`: its operator is neither `is` nor `in`. */
export function allowedValues(condition: RuleCondition): readonly unknown[] | undefined {
  return "is" in condition ? [condition.is] : condition.in as unknown[] | undefined;
}
