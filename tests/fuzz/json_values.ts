/** Changes single values of JSON: changed bytes would seldom give JSON again. */
import type { Random } from "../../src/fleet/random.ts";

/** A message with JSON, and the text around it. */
export interface Document {
  readonly head: string;
  readonly value: unknown;
  readonly tail: string;
}

/** Values that are the limits of some check, or of another type. */
const VALUES: readonly unknown[] = [
  ...[null, true, false, 0, 1, -1, 0.5, 65_535, 65_536, 2 ** 31, 2 ** 32, 2 ** 53, 1e300],
  ...[
    "",
    "a",
    "0",
    "-",
    "1/1",
    "10.0.0.1",
    "::",
    "10.0.0.0-10.0.0.9",
    "\u202e\u0000\u001b",
    "\ud800",
  ],
  ...["é".repeat(300), "9".repeat(400), [], [[]], [null], {}, { a: 1 }, { "": [] }],
  nested(40),
  ...["<deep 0>", "<deep 1>", "<deep 2>", "<deep 3>"],
];

function nested(levels: number): unknown {
  let value: unknown = [];
  for (let i = 0; i < levels; i++) value = i % 2 === 0 ? [value] : { extra: value };
  return value;
}

/**
 * Texts for which `JSON.stringify()` recurses: keys of digits, 2,000 keys, and long texts under
 * nesting. They stand for the values `"<deep 0>"` and so on.
 */
const MANY_KEYS = JSON.stringify(
  Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [i, 1])),
);
const DEEP: readonly string[] = [
  nestedText('{"7":', MANY_KEYS, 150),
  nestedText('{"7":', MANY_KEYS, 6000),
  nestedText('{"a":', MANY_KEYS, 6000),
  nestedText('{"7":', `"${"é".repeat(10_000)}"`, 6000),
];

function nestedText(open: string, inner: string, levels: number): string {
  return open.repeat(levels) + inner + "}".repeat(levels);
}

/** The JSON text of a value of {@linkcode changedJson}. */
export function changedText(value: unknown): string {
  return JSON.stringify(value).replace(/"<deep (\d)>"/g, (_, i) => DEEP[i]);
}

/** The JSON object or list in a message; `undefined`: it has none. */
export function documentIn(bytes: Uint8Array): Document | undefined {
  const text = new TextDecoder().decode(bytes);
  const [, head, json, tail] = /^([^{[]*)([{[].*[}\]])([^}\]]*)$/s.exec(text) ?? [];
  const value = json === undefined ? undefined : parsed(json);
  return value === undefined ? undefined : { head, value, tail };
}

function parsed(json: string): unknown {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A copy of a value, in which one value is replaced, removed, doubled or renamed. */
export function changedJson(value: unknown, random: Random): unknown {
  const isParent = typeof value === "object" && value !== null && Object.keys(value).length > 0;
  if (!isParent || random.chance(0.1)) return otherValue(value, random);
  if (Array.isArray(value)) {
    const at = random.below(value.length);
    const copy = [...value];
    if (random.chance(0.15)) copy.splice(at, random.below(2), copy[at]);
    else if (random.chance(0.1)) copy.splice(at, 1);
    else copy[at] = changedJson(copy[at], random);
    return copy;
  }
  const entries = Object.entries(value);
  const at = random.below(entries.length);
  const [name, inner] = entries[at];
  const change = random.below(10);
  if (change === 0) entries.splice(at, 1);
  else if (change === 1) {
    entries[at] = [random.pick(["__proto__", "a", `${name}s`, ""]), inner];
  } else entries[at] = [name, changedJson(inner, random)];
  return Object.fromEntries(entries);
}

/** Another value in place of one: of the list above, or near it. */
function otherValue(value: unknown, random: Random): unknown {
  if (typeof value === "string") {
    const inner = parsed(value);
    if (inner !== undefined && random.chance(0.9)) {
      return JSON.stringify(changedJson(inner, random));
    }
    if (random.chance(0.3)) return value.slice(0, random.below(value.length + 1));
    if (random.chance(0.3)) return value + random.pick(VALUES);
  }
  if (typeof value === "number" && random.chance(0.5)) return value + random.below(3) - 1;
  return random.pick(VALUES);
}
