/**
 * Plain evaluation of the rules: every rule of the file in order, with all conditions
 * in order. The optimized classification is compared with it.
 */
import type { Classification } from "../../src/classify/mod.ts";
import type { ServerRecord } from "../../src/core/record.ts";
import book from "../../data/software.json" with { type: "json" };

// deno-lint-ignore no-explicit-any
type Any = any;

/** A rule all of whose conditions are met. */
interface Match {
  readonly rule: Any;
  readonly confidence: string;
  readonly name?: string;
  readonly version?: string;
}

/** The expected result of `classify()`. */
export function simpleClassify(record: ServerRecord): Classification {
  const matches = book.rules.flatMap((rule) => match(rule, record) ?? [])
    .sort((a, b) => a.confidence.localeCompare(b.confidence));
  const best = matches.find(({ name }) => name !== undefined);
  const sure = book.rules.map(({ protocol }) => protocol).map((protocol) =>
    matches.find(({ rule, confidence, name }) =>
      rule.protocol === protocol && confidence === "A" && name !== undefined
    )?.name
  ).filter((name) => name !== undefined);
  const flags = [...record.flags, ...matches.flatMap(({ rule }) => rule.flags ?? [])];
  if (new Set(sure).size > 1) flags.push("softwareDiffers");
  const printed = (column: string) =>
    matches.map(({ rule }) => rule[column]).find((value) => value !== undefined) ?? null;
  return {
    edition: record.edition ?? printed("edition"),
    software: best === undefined
      ? record.software
      : best.name + (best.version === undefined ? "" : ` ${best.version}`),
    software_confidence: best?.confidence ?? null,
    proxy: printed("proxy"),
    flags: [...new Set(flags)].sort(),
  };
}

function match(rule: Any, record: ServerRecord): Match | undefined {
  if (!record.protocols.includes(rule.protocol)) return undefined;
  const captured: Any = {};
  for (const condition of rule.when) {
    const value = at(record, condition.at);
    if ("matches" in condition) {
      const found = typeof value === "string" && value.length <= 256
        ? new RegExp(condition.matches).exec(value)
        : null;
      if (found === null) return undefined;
      Object.assign(captured, found.groups);
    } else if (!holds(condition, value, record)) {
      return undefined;
    }
  }
  const named = { name: rule.software ?? captured.name, version: captured.version };
  const forgeable = book.forgeable.find(({ protocol }) => protocol === rule.protocol)?.flags ?? [];
  return forgeable.some((flag) => record.flags.includes(flag))
    ? { ...named, confidence: "C", rule: { ...rule, proxy: undefined } }
    : { ...named, confidence: rule.confidence, rule };
}

/** The value at a path; `null` if it is missing. */
function at(record: ServerRecord, path: string): Any {
  let value: Any = path.includes(".") ? record.extras : record;
  for (const step of path.split(".")) {
    if (!(value instanceof Object) || !Object.hasOwn(value, step)) return null;
    value = (value as Any)[step];
  }
  return value ?? null;
}

function holds(condition: Any, value: Any, record: ServerRecord): boolean {
  const [name] = Object.keys(condition).filter((key) => key !== "at");
  const wanted = condition[name];
  const items: Any[] | undefined = !(value instanceof Object)
    ? undefined
    : Array.isArray(value)
    ? value
    : Object.keys(value);
  switch (name) {
    case "is":
      return value === wanted;
    case "in":
      return wanted.includes(value);
    case "known":
      return (value !== null) === wanted;
    case "equals":
      return value !== null && value === at(record, wanted);
    case "differs":
      return value !== null && at(record, wanted) !== null && value !== at(record, wanted);
    case "above": {
      const than = at(record, wanted);
      return typeof value === "number" && typeof than === "number" && value > than;
    }
    case "atLeast":
      return typeof value === "number" && value >= wanted;
    case "lists":
      return items !== undefined && items.length === wanted.length && begins(items, wanted);
    case "begins":
      return items !== undefined && begins(items, wanted);
    case "ordered": {
      const indexes: number[] = wanted.map((one: string) => items?.indexOf(one) ?? -1);
      return indexes.every((place, i) => place > (i === 0 ? -1 : indexes[i - 1]));
    }
    case "within":
      return items !== undefined && items.every((item) => wanted.includes(item));
    case "hexDigit":
      return typeof value === "string" && /^[0-9]{1,20}$/.test(value) &&
        (BigInt(value) >> BigInt(4 * wanted[0]) & 15n) === BigInt(wanted[1]);
    default:
      throw new Error(`no operator ${name}`);
  }
}

function begins(items: readonly Any[], wanted: readonly Any[]): boolean {
  return wanted.every((one, i) => items[i] === one);
}
