import { assert, assertEquals } from "@std/assert";
import { GENERAL_FLAGS } from "../../src/core/flags.ts";
import { FIELDS } from "../../src/core/record.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";
import book from "../../data/software.json" with { type: "json" };
import schema from "../../data/software.schema.json" with { type: "json" };
import { violations } from "./schema.ts";

type Condition = Record<string, unknown>;
const CONDITIONS = book.rules.flatMap(({ protocol, when }) =>
  (when as Condition[]).map((condition) => ({ protocol, condition }))
);
const PATTERNS = CONDITIONS.flatMap(({ condition }) =>
  typeof condition.matches === "string" ? [condition.matches] : []
);

Deno.test("data/software.json conforms to its schema", () => {
  assertEquals(violations(book, schema), []);
});

Deno.test("the schema rejects invalid rules", () => {
  const rule = {
    protocol: "slp",
    confidence: "A",
    when: [{ at: "map", is: "x" }],
    source: "a book of theirs",
  };
  const faults = (change: object) =>
    violations(
      { forgeable: [], defaultMotds: ["Server"], rules: [{ ...rule, ...change }] },
      schema,
    );
  assertEquals(faults({}), []);
  for (
    const change of [
      { source: "" },
      { source: undefined, because: "" },
      { confidence: "D" },
      { proxy: "nginx" },
      { protocol: "http" },
      { software: "two words" },
      { when: [] },
      { when: [{ at: "map" }] },
      { when: [{ at: "map", is: "x", matches: "^y" }] },
      { when: [{ at: "map", smells: "x" }] },
      { when: [{ at: "map", matches: "unanchored" }] },
      { when: [{ at: "http.map", is: "x" }] },
    ]
  ) assert(faults(change).length > 0, JSON.stringify(change));
});

Deno.test("the schema and the rules name protocols of the list, and flags that they declare", () => {
  const { protocol, path } = schema.$defs;
  const names = PROTOCOLS.map(({ name }) => name);
  assertEquals(protocol.enum, names);
  assertEquals(/\(\?:([a-z|]+)\)/.exec(path.pattern)?.[1].split("|"), names);
  for (const { protocol, flags } of book.forgeable) {
    const declared = PROTOCOLS.find(({ name }) => name === protocol)?.flags ?? {};
    assertEquals(flags.filter((flag) => !(flag in GENERAL_FLAGS || flag in declared)), []);
  }
});

Deno.test("rules read existing columns, and facts of their own protocol", () => {
  const columns = new Set<string>(FIELDS.map(({ name }) => name));
  for (const { protocol, condition } of CONDITIONS) {
    for (const key of ["at", "equals", "differs", "above"]) {
      const path = condition[key];
      if (typeof path !== "string") continue;
      assert(path.includes(".") ? path.startsWith(`${protocol}.`) : columns.has(path), path);
    }
  }
});

Deno.test("patterns take linear time: repetitions are not nested, and all are bounded", () => {
  for (const pattern of PATTERNS) {
    new RegExp(pattern);
    const bare = pattern.replace(/\[[^\]]*\]/g, "x"); // a class matches one character
    assertEquals(/[*+]|\{\d+,\}/.exec(bare.replace(/\\./g, "x")), null, pattern);
    assertEquals(/\)[{]/.exec(bare), null, pattern);
  }
});

Deno.test("confidence A requires a name in a field that users cannot set", () => {
  const texts = ["motd", "motd_plain", "name", "map", "players", "gamemode"];
  for (const { confidence, when } of book.rules) {
    if (confidence !== "A") continue;
    const places = (when as Condition[]).map(({ at }) => at as string);
    assertEquals(places.filter((place) => texts.includes(place)), []);
  }
});
