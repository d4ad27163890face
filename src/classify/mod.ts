/**
 * Classifies servers: derives the software from the replies of a server.
 *
 * The rules are data, with a source each: data/software.json. A rule tests the values of one
 * protocol, and all its conditions have to be met. Of the matching rules, the one with the highest
 * confidence names the software; of rules with equal confidence, the first one does.
 *
 *     A   the software names itself, in a field that no other software writes
 *     B   the reply has a structure that only this software produces
 *     C   a weak hint: other software has the same structure
 *
 * @module
 */
import ruleBook from "../../data/software.json" with { type: "json" };
import type { ServerRecord } from "../core/record.ts";
import {
  allowedValues,
  byCost,
  type Captured,
  compileCondition,
  type ConditionTest,
  pathReader,
  type RuleCondition,
} from "./rule_conditions.ts";

/** The columns that classification fills. */
export type Classification = Pick<
  ServerRecord,
  "edition" | "software" | "software_confidence" | "proxy" | "flags"
>;

type Confidence = "A" | "B" | "C";

/** A rule: see data/software.schema.json. */
interface Rule {
  /** Index of the rule in the file. */
  readonly order: number;
  readonly protocol: string;
  readonly software?: string;
  readonly confidence: Confidence;
  readonly edition?: string;
  readonly proxy?: string;
  readonly flags?: readonly string[];
  readonly when: readonly RuleCondition[];
}

interface CompiledRule extends Omit<Rule, "when"> {
  readonly tests: readonly ConditionTest[];
}

/**
 * The rules for a protocol, indexed by a value. It is the value at the path that most of the rules
 * test.
 */
interface RuleIndex {
  /** Reads the value at the indexed path. */
  readonly read: (record: ServerRecord) => unknown;
  /** The rules by value, without the condition on that value. */
  readonly rules: ReadonlyMap<unknown, readonly CompiledRule[]>;
  /** The rules for all other values. */
  readonly others: readonly CompiledRule[];
  /** Flags of possible forgery, which reduce all claims to hints. */
  readonly forgedBy: readonly string[];
}

interface Claim {
  readonly rule: CompiledRule;
  readonly confidence: Confidence;
  readonly name: string | undefined;
  readonly version: string | undefined;
}

/**
 * Classifies a server.
 *
 * @returns The new values of the columns. `software` is a name without spaces, and the version if
 * the software publishes its own. Without a matching rule, values stay unchanged.
 *
 * @example
 * ```ts
 * import { classify } from "blocksweep/protocols";
 * import { emptyRecord } from "blocksweep/records";
 * import { assertEquals } from "@std/assert";
 *
 * const facts = { header: "splitnum", brand: "Velocity", values: { game_id: "MINECRAFT" } };
 * const { software, software_confidence, proxy } = classify({
 *   ...emptyRecord({ address: 0x7f000001, port: 25577 }, 0),
 *   protocols: ["query"],
 *   plugins: [],
 *   extras: { query: { form: "full", ...facts } },
 * });
 * assertEquals([software, software_confidence, proxy], ["Velocity", "A", "velocity"]);
 * ```
 */
export function classify(record: ServerRecord): Classification {
  const claims: Claim[] = [];
  for (const protocol of record.protocols) addClaims(claims, protocol, record);
  if (claims.length > 1) claims.sort(byConfidence);
  const best = claims.find(({ name }) => name !== undefined);
  return {
    edition: record.edition ?? firstValue(claims, "edition"),
    software: best === undefined ? record.software : softwareOf(best),
    software_confidence: best?.confidence ?? null,
    proxy: firstValue(claims, "proxy"),
    flags: flagsOf(claims, record.flags),
  };
}

function byConfidence(a: Claim, b: Claim): number {
  return a.confidence < b.confidence
    ? -1
    : a.confidence > b.confidence
    ? 1
    : a.rule.order - b.rule.order;
}

/** The first value that a claim gives, or `null`. */
function firstValue(claims: readonly Claim[], column: "edition" | "proxy"): string | null {
  for (const { rule } of claims) {
    const value = rule[column];
    if (value !== undefined) return value;
  }
  return null;
}

function softwareOf({ name, version }: Claim): string {
  return version === undefined ? name! : `${name} ${version}`;
}

/** The existing flags and those of the claims, each once, sorted. */
function flagsOf(claims: readonly Claim[], before: readonly string[]): readonly string[] {
  const flags = [...before];
  for (const { rule } of claims) if (rule.flags !== undefined) flags.push(...rule.flags);
  if (claims.length > 1 && namesDiffer(claims)) flags.push("softwareDiffers");
  return flags.length < 2 ? flags : [...new Set(flags)].sort();
}

/**
 * Whether two protocols name different software. For example, a proxy replies in one protocol, and
 * the server behind it in the other.
 */
function namesDiffer(claims: readonly Claim[]): boolean {
  const names = new Map<string, string>();
  for (const { confidence, name, rule: { protocol } } of claims) {
    if (confidence === "A" && name !== undefined && !names.has(protocol)) names.set(protocol, name);
  }
  return new Set(names.values()).size > 1;
}

/**
 * Adds the claims of the rules for one protocol. If the reply in that protocol may be forged, the
 * claims are hints (`C`).
 */
function addClaims(claims: Claim[], protocol: string, record: ServerRecord): void {
  const shelf = ruleIndexOf(protocol);
  if (shelf === undefined) return;
  const forged = record.flags.length > 0 &&
    shelf.forgedBy.some((flag) => record.flags.includes(flag));
  for (const rule of shelf.rules.get(shelf.read(record)) ?? shelf.others) {
    const one = claim(rule, record);
    if (one !== undefined) claims.push(forged ? asHint(one) : one);
  }
}

function asHint(matchRule: Claim): Claim {
  return { ...matchRule, confidence: "C", rule: { ...matchRule.rule, proxy: undefined } };
}

function claim(rule: CompiledRule, record: ServerRecord): Claim | undefined {
  let captured = NOTHING;
  for (const test of rule.tests) {
    const result = test(record);
    if (result === false) return undefined;
    if (result !== true) captured = captured === NOTHING ? result : { ...captured, ...result };
  }
  const { confidence, software = captured.name } = rule;
  return { rule, confidence, name: software, version: captured.version };
}

const NOTHING: Captured = {};

/** Compiles a rule, without the condition that the index already tests. */
function compileRule({ when, ...rule }: Rule, met?: RuleCondition): CompiledRule {
  const tests = when.filter((one) => one !== met)
    .toSorted(byCost).map(compileCondition);
  return { ...rule, tests };
}

/**
 * Indexes the rules for a protocol by the values at the path that most of the rules compare with
 * values.
 */
function indexRules(rules: readonly Rule[], protocol: string): RuleIndex {
  const paths = rules.flatMap(({ when }) => when.filter(allowedValues).map(({ at }) => at));
  const uses = new Map<string, number>();
  for (const path of paths) uses.set(path, (uses.get(path) ?? 0) + 1);
  const [path = ""] = [...uses.keys()].sort((a, b) => uses.get(b)! - uses.get(a)!);
  const options = rules.map((rule) => {
    const key = rule.when.find((one) => one.at === path && allowedValues(one));
    return { values: key && allowedValues(key), rule: compileRule(rule, key) };
  });
  const rulesFor = (value?: unknown) =>
    options.filter(({ values }) => values?.includes(value) ?? true).map(({ rule }) => rule);
  return {
    read: pathReader(path),
    rules: new Map(options.flatMap(({ values = [] }) => values.map((one) => [one, rulesFor(one)]))),
    others: rulesFor(),
    forgedBy: ruleBook.forgeable.find((one) => one.protocol === protocol)?.flags ?? [],
  };
}

/** The rules in the order of the file. */
const RULES = ruleBook.rules.map((rule, order) => ({ ...rule, order })) as unknown as Rule[];

/** The indexes of rules that were needed so far, by protocol. */
const RULE_INDEXES = new Map<string, RuleIndex | undefined>();

/** The rule index of a protocol, made when it is first needed; `undefined`: it has no rules. */
function ruleIndexOf(protocol: string): RuleIndex | undefined {
  if (RULE_INDEXES.has(protocol)) return RULE_INDEXES.get(protocol);
  const rules = RULES.filter((rule) => rule.protocol === protocol);
  const index = rules.length === 0 ? undefined : indexRules(rules, protocol);
  RULE_INDEXES.set(protocol, index);
  return index;
}
