/**
 * Who is who: what the answers of a server say about the software behind them.
 *
 * What is known of software is data, with a source each: data/software.json. Here is what reads
 * it. A rule looks at what one protocol said; all its conditions have to hold. Of the rules that
 * match, the surest names the software; among equals, the first.
 *
 *     A   the software names itself, in a place that nobody else writes
 *     B   the answer is built as only this software builds it
 *     C   a weak hint: others look the same
 *
 * @module
 */
import ruleBook from "../data/software.json" with { type: "json" };
import type { ServerRecord } from "./record.ts";

/** What a record says about its software: the columns of that name. */
export type Classification = Pick<
  ServerRecord,
  "edition" | "software" | "software_confidence" | "proxy" | "flags"
>;

/** How sure a claim is. */
type Confidence = "A" | "B" | "C";

/** A condition as data: where to look, and one more key that says what has to be there. */
type Condition = Readonly<Record<string, unknown>> & { readonly at: string };

/** A rule as data: see data/software.schema.json. */
interface Rule {
  readonly protocol: string;
  readonly software?: string;
  readonly confidence: string;
  readonly edition?: string;
  readonly proxy?: string;
  readonly flags?: readonly string[];
  readonly when: readonly Condition[];
}

/** Parts of a text that a rule names: the software's `name` and `version`. */
type Captured = Readonly<Record<string, string | undefined>>;
/** Whether a condition holds, and what it captured. */
type Test = (record: ServerRecord) => boolean | Captured;
/** Whether a value is what an operator wants. */
type Operator = (wanted: never) => (value: unknown, record: ServerRecord) => boolean | Captured;

/** A rule, ready to run. */
interface ReadyRule extends Omit<Rule, "confidence" | "when"> {
  readonly confidence: Confidence;
  readonly order: number;
  readonly tests: readonly Test[];
}

/** What a rule that matched says. */
interface Claim {
  readonly rule: ReadyRule;
  readonly confidence: Confidence;
  readonly name: string | undefined;
  readonly version: string | undefined;
}

/** Characters of a text that a pattern sees: no name is longer, and no pattern slow. */
const MOST_CHARACTERS = 256;

/**
 * Says who a server is.
 *
 * @returns The columns as they should be. `software` is a name without spaces and, where it tells
 * one of its own, its version; what no rule knows stays as it was.
 *
 * @example
 * ```ts
 * import { classify, emptyRecord } from "blocksweep";
 * import { assertEquals } from "@std/assert";
 *
 * const said = { header: "splitnum", brand: "Velocity", values: { game_id: "MINECRAFT" } };
 * const { software, software_confidence, proxy } = classify({
 *   ...emptyRecord({ address: 0x7f000001, port: 25577 }, 0),
 *   protocols: ["query"],
 *   plugins: [],
 *   extras: { query: { form: "full", ...said } },
 * });
 * assertEquals([software, software_confidence, proxy], ["Velocity", "A", "velocity"]);
 * ```
 */
export function classify(record: ServerRecord): Classification {
  const claims = record.protocols.flatMap((protocol) => claimsOf(protocol, record)).sort(surer);
  const best = claims.find(({ name }) => name !== undefined);
  const first = (column: "edition" | "proxy") =>
    claims.find(({ rule }) => rule[column] !== undefined)?.rule[column] ?? null;
  return {
    edition: record.edition ?? first("edition"),
    software: best === undefined
      ? record.software
      : [best.name, best.version].filter(Boolean).join(" "),
    software_confidence: best?.confidence ?? null,
    proxy: first("proxy"),
    flags: [...new Set([...record.flags, ...ownFlags(claims)])].sort(),
  };
}

function surer(a: Claim, b: Claim): number {
  return a.confidence < b.confidence
    ? -1
    : a.confidence > b.confidence
    ? 1
    : a.rule.order - b.rule.order;
}

function ownFlags(claims: readonly Claim[]): string[] {
  const flags = claims.flatMap(({ rule }) => rule.flags ?? []);
  return namesDiffer(claims) ? [...flags, "softwareDiffers"] : flags;
}

/** Whether two protocols name two kinds of software: a proxy, say, and what stands behind it. */
function namesDiffer(claims: readonly Claim[]): boolean {
  const names = new Map<string, string>();
  for (const { confidence, name, rule: { protocol } } of claims) {
    if (confidence === "A" && name !== undefined && !names.has(protocol)) names.set(protocol, name);
  }
  return new Set(names.values()).size > 1;
}

/** What the rules for one protocol say. Where its answer may be forged, all of it is a hint. */
function claimsOf(protocol: string, record: ServerRecord): Claim[] {
  const rules = READY_RULES.get(protocol) ?? [];
  const claims = rules.flatMap((rule) => claim(rule, record) ?? []);
  const forgeable = ruleBook.forgeable.find((one) => one.protocol === protocol);
  if (!forgeable?.flags.some((flag) => record.flags.includes(flag))) return claims;
  return claims.map((one) => ({
    ...one,
    confidence: "C",
    rule: { ...one.rule, proxy: undefined },
  }));
}

function claim(rule: ReadyRule, record: ServerRecord): Claim | undefined {
  const captured: Record<string, string | undefined> = {};
  for (const test of rule.tests) {
    const result = test(record);
    if (result === false) return undefined;
    if (result !== true) Object.assign(captured, result);
  }
  const { confidence, software = captured.name } = rule;
  return { rule, confidence, name: software, version: captured.version };
}

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
    return (value) => {
      if (typeof value !== "string") return false;
      const found = form.exec(value.slice(0, MOST_CHARACTERS + 1));
      return found !== null && value.length <= MOST_CHARACTERS && (found.groups ?? true);
    };
  },
  /** It equals what stands elsewhere. */
  equals: (path: string) => {
    const other = reader(path);
    return (value, record) => value !== null && value === other(record);
  },
  /** It differs from what stands elsewhere; both are there. */
  differs: (path: string) => {
    const other = reader(path);
    return (value, record) => value !== null && other(record) !== null && value !== other(record);
  },
  /** It is a number above another. */
  above: (path: string) => {
    const other = reader(path);
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
function reader(path: string): (record: ServerRecord) => unknown {
  const steps = path.split(".");
  if (steps.length === 1) return (record) => record[path as keyof ServerRecord] ?? null;
  return ({ extras }) => {
    let value: unknown = extras;
    for (const step of steps) {
      if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return null;
      value = (value as Record<string, unknown>)[step];
    }
    return value ?? null;
  };
}

function ready(rule: Rule, order: number): ReadyRule {
  return { ...rule, confidence: rule.confidence as Confidence, order, tests: rule.when.map(test) };
}

function test({ at, ...rest }: Condition): Test {
  const read = reader(at);
  const [[name, wanted]] = Object.entries(rest);
  const holds = OPERATORS[name](wanted as never);
  return (record) => holds(read(record), record);
}

/** The rules by protocol, in the order of the file. */
const READY_RULES: ReadonlyMap<string, readonly ReadyRule[]> = Map.groupBy(
  (ruleBook.rules as readonly Rule[]).map(ready),
  ({ protocol }) => protocol,
);
