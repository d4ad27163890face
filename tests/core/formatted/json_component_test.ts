import { assert, assertEquals } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import {
  formatPlain,
  formatSections,
  MAX_NODES,
  MAX_UNITS,
  parseComponent,
} from "../../../src/core/formatted/mod.ts";
import { TEXT } from "./texts.ts";

/** A component formatted in normal form. */
const normal = (value: unknown) => formatSections(parseComponent(value).runs);

Deno.test("texts, numbers and lists are components; the first item of a list is the parent", () => {
  assertEquals(["Hi", 7, true, null, undefined, {}, []].map(normal), [
    "Hi",
    "7",
    "true",
    "",
    "",
    "",
    "",
  ]);
  assertEquals(normal([{ text: "a", color: "red" }, "b", { text: "c", bold: true }]), "§cab§lc");
  assertEquals(normal(["a", { text: "b", color: "red" }, "c"]), "a§cb§rc");
  assertEquals(normal([["a", "b"], [{ text: "c", italic: true }, "d"], "e"]), "ab§ocd§re");
  assertEquals(normal({ "": "a", bold: true, extra: [{ "": "b" }] }), "§lab");
});

Deno.test("colours by name and hex, and formats on and off, are inherited by nested components", () => {
  const names = ["black", "dark_blue", "gold", "Light_Purple", "white"];
  assertEquals(names.map((color) => normal({ text: "x", color })), [
    "§0x",
    "§1x",
    "§6x",
    "§dx",
    "§fx",
  ]);
  assertEquals(normal({ text: "x", color: "#FF8800" }), "§x§f§f§8§8§0§0x");
  for (const color of ["#ff88", "pink", 7, null, "__proto__", "constructor"]) {
    assertEquals(normal({ text: "x", color }), "x");
  }
  const all = { obfuscated: true, bold: "true", strikethrough: 1, underlined: true, italic: true };
  assertEquals(normal({ text: "x", ...all }), "§k§l§m§n§ox");
  assertEquals(
    normal({ text: "a", bold: true, color: "red", extra: [{ text: "b", bold: false }, "c"] }),
    "§c§la§cb§lc",
  );
  assertEquals(
    normal({ text: "a", color: "red", extra: [{ text: "b", color: "reset" }] }),
    "§ca§rb",
  );
});

Deno.test("section signs in a component start from its style", () => {
  assertEquals(normal({ text: "a§lb§rc§2d", color: "red" }), "§ca§lb§cc§2d");
});

Deno.test("a translation is its fallback or its key, with its arguments inserted", () => {
  assertEquals(normal({ translate: "a.b.c", with: [] }), "a.b.c");
  assertEquals(normal({ translate: "a.b.c", with: ["x", { text: "y", color: "red" }] }), "x §cy");
  assertEquals(normal({ translate: "a.b.c", fallback: "no words", with: ["x"] }), "no words");
  assertEquals(
    normal({ translate: "a", fallback: "%s is %2$s, %1$s %% %s %d %3$s", with: ["x", 2] }),
    "x is 2, x % 2 %d ",
  );
  assertEquals(
    normal({ translate: "%s!", with: [{ text: "b", bold: true }], color: "red" }),
    "§c§lb§c!",
  );
  assertEquals(normal({ translate: "%s%0$s%9999$s.", with: "no list" }), ".");
  assertEquals(normal({ translate: 7 }), "");
});

Deno.test("other contents yield their text", () => {
  assertEquals(normal({ keybind: "key.jump" }), "key.jump");
  assertEquals(normal({ selector: "@p" }), "@p");
  assertEquals(normal({ nbt: "a.b" }), "a.b");
  assertEquals(normal({ score: { name: "x", value: 7 } }), "7");
  assertEquals(normal({ score: 7 }), "");
  assertEquals(normal({ text: { no: "text" } }), "");
  assertEquals(normal({ text: "a", extra: "no list" }), "a");
});

Deno.test("names of an object's prototype yield no text", () => {
  assertEquals(normal(JSON.parse('{"__proto__":{"text":"x","bold":true},"extra":["y"]}')), "y");
  assertEquals(normal({ constructor: "x", toString: "y" }), "");
});

/** A value that counts every access. */
function counted(value: unknown, count: { steps: number }): unknown {
  if (typeof value !== "object" || value === null) return value;
  return new Proxy(value, {
    get(target, key) {
      count.steps++;
      return counted(Reflect.get(target, key), count);
    },
    getOwnPropertyDescriptor(target, key) {
      count.steps++;
      return Reflect.getOwnPropertyDescriptor(target, key);
    },
  });
}

/** Maximum number of accesses for a component of any size. */
const MAX_STEPS = 60 * (MAX_NODES + 1);

function stepsOf(value: unknown): number {
  const count = { steps: 0 };
  parseComponent(counted(value, count));
  return count.steps;
}

Deno.test("the number of property accesses grows with the number of components, up to the bound", () => {
  const wide = (size: number) => ({ extra: Array(size).fill({ text: "x", color: "red" }) });
  const [small, twice] = [stepsOf(wide(100)), stepsOf(wide(200))];
  assert(twice < 2.1 * small, `${small} steps, then ${twice}`);
  assert(stepsOf(wide(100_000)) < MAX_STEPS);
  const { runs, cut } = parseComponent(wide(100_000));
  assertEquals([runs[0].text.length, cut], [MAX_NODES - 1, true]);
  assertEquals(parseComponent(wide(MAX_NODES - 1)).cut, false);
});

Deno.test("depth is bounded in extra, in lists and in arguments", () => {
  const nest = (wrap: (inner: unknown) => unknown, levels: number) => {
    let value: unknown = "x";
    for (let i = 1; i < levels; i++) value = wrap(value);
    return parseComponent(value);
  };
  for (
    const wrap of [
      (extra: unknown) => ({ extra: [extra] }),
      (item: unknown) => [item],
      (arg: unknown) => ({ translate: "%s", with: [arg] }),
    ]
  ) {
    assertEquals([nest(wrap, 32).runs[0]?.text, nest(wrap, 32).cut], ["x", false]);
    assertEquals([nest(wrap, 33).runs.length, nest(wrap, 33).cut], [0, true]);
    assertEquals(nest(wrap, 10_000).cut, true);
  }
});

Deno.test("text that nested translations repeat is bounded", () => {
  let bomb: unknown = "x".repeat(1000);
  for (let i = 0; i < 20; i++) bomb = { translate: "%1$s".repeat(50), with: [bomb] };
  assert(stepsOf(bomb) < MAX_STEPS);
  const { runs, cut } = parseComponent(bomb);
  assert(cut && runs.reduce((sum, { text }) => sum + text.length, 0) <= MAX_UNITS);
  const much = parseComponent("§a".repeat(1e6));
  assertEquals([much.runs, much.sent.length, much.cut], [[], 32_768, true]);
  const codes = { translate: "%1$s".repeat(900), with: ["§a".repeat(1000)] };
  assert(parseComponent(codes).cut);
  assert(parseComponent({ translate: "%s".repeat(1e6) }).cut);
});

Deno.test("any JSON yields a text", () => {
  const key = fc.constantFrom("text", "extra", "with", "translate", "color", "bold", "", "score");
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      TEXT,
      fc.constantFrom(1, true, null),
      tie("list"),
      tie("object"),
    ),
    list: fc.array(tie("tree"), { maxLength: 4 }),
    object: fc.dictionary(key, tie("tree"), { maxKeys: 5 }),
  }));
  fc.assert(
    fc.property(tree, (value) => {
      const { runs, cut } = parseComponent(value);
      assertEquals(parseComponent(formatSections(runs)).runs, runs);
      assert(!cut && typeof formatPlain(runs) === "string");
    }),
    { seed: 4, numRuns: 3000 },
  );
});
