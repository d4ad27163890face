import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  colorRules,
  contrast,
  gameColors,
  GROUNDS,
  MIN_CONTRAST,
  MOTD_GROUND,
  motdColors,
  readableColor,
  type Scheme,
  type Token,
  TOKENS,
} from "../../../src/web/style/tokens.ts";

const SCHEMES: readonly Scheme[] = ["light", "dark"];
/** Colours of text. */
const TEXTS: readonly Token[] = ["text", "muted", "accent", "good", "warn", "bad"];
/** Colours of lines and areas that carry information: contrast 3 (WCAG 1.4.11). */
const GRAPHICS: readonly Token[] = [
  ...["u0", "u1", "u2", "u3"] as const,
  ...["line-strong", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"] as const,
];

Deno.test("the contrast of colours follows WCAG", () => {
  assertEquals(contrast("#000000", "#ffffff"), 21);
  assertEquals(contrast("#777777", "#777777"), 1);
  assertEquals(contrast("#767676", "#ffffff").toFixed(2), "4.54");
  assertThrows(() => readableColor("#123456", ["#ffffff", "#000000"]), RangeError, "#ffffff");
});

Deno.test("texts are readable on all grounds", () => {
  for (const scheme of SCHEMES) {
    const grounds: readonly Token[] = [...GROUNDS, "tint"];
    const pairs: (readonly [Token, Token])[] = [["on-accent", "accent"]];
    for (const text of TEXTS) pairs.push(...grounds.map((on) => [text, on] as const));
    for (const [text, on] of pairs) {
      const found = contrast(TOKENS[text][scheme], TOKENS[on][scheme]);
      assert(found >= MIN_CONTRAST, `${text} on ${on}, ${scheme}: ${found.toFixed(2)}`);
    }
  }
});

Deno.test("lines of charts and controls differ from their grounds", () => {
  for (const scheme of SCHEMES) {
    for (const name of GRAPHICS) {
      const found = contrast(TOKENS[name][scheme], TOKENS.surface[scheme]);
      assert(found >= 3, `${name}, ${scheme}: ${found.toFixed(2)}`);
    }
  }
});

Deno.test("the colours of MOTDs are readable on all grounds", () => {
  for (const scheme of SCHEMES) {
    assertEquals(motdColors(scheme).size, 27);
    for (const [code, hex] of motdColors(scheme)) {
      for (const ground of GROUNDS) {
        const found = contrast(hex, TOKENS[ground][scheme]);
        assert(found >= MIN_CONTRAST, `${code} on ${ground}, ${scheme}: ${found.toFixed(2)}`);
      }
    }
  }
});

Deno.test("the steps of the map get stronger, away from the ground", () => {
  for (const scheme of SCHEMES) {
    const steps = (["m0", "m1", "m2", "m3", "m4", "m5"] as const).map((name) =>
      contrast(TOKENS[name][scheme], TOKENS.surface[scheme])
    );
    assertEquals(steps, steps.toSorted((a, b) => a - b));
    for (const ground of [TOKENS.surface[scheme], TOKENS.m0[scheme]]) {
      assert(contrast(TOKENS.m1[scheme], ground) >= 3, `${scheme}: ${ground}`);
    }
  }
});

Deno.test("each scheme has all colours, and dark ones are not printed", () => {
  const [light, dark] = colorRules().split("@media screen and (prefers-color-scheme:dark)");
  for (const rules of [light, dark]) {
    for (const name of Object.keys(TOKENS)) assert(rules.includes(`--${name}:#`), name);
    assertEquals(rules.match(/^\.mc-.\{color:#[0-9a-f]{6}\}/gm)?.length, 27);
  }
});

Deno.test("days with more and with less uptime differ in lightness", () => {
  for (const scheme of SCHEMES) {
    const days = (["u0", "u1", "u2", "u3"] as const).map((name) => TOKENS[name][scheme]);
    days.slice(1).forEach((one, i) => {
      const found = contrast(one, days[i]);
      assert(found >= 1.4, `${one} beside ${days[i]}, ${scheme}: ${found.toFixed(2)}`);
    });
  }
});

Deno.test("a MOTD on the ground of the game is readable in both schemes", () => {
  for (const [code, hex] of gameColors()) {
    assert(contrast(hex, MOTD_GROUND) >= MIN_CONTRAST, code);
  }
  assert(colorRules().includes(`.motd .mc-a{color:${gameColors().get("a")}}`));
});
