import { assert, assertEquals } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import {
  formatPlain,
  formatSections,
  NO_STYLE,
  parseFormatted,
  type TextRun,
} from "../../../src/core/formatted/mod.ts";
import { plainText } from "../../../src/core/text.ts";
import { TEXT } from "./texts.ts";

/** Text runs in short form: colour, formats, text. */
function short(runs: readonly TextRun[]): string[] {
  return runs.map(({ text, style: { color, formats } }) => `${color ?? ""}|${formats}|${text}`);
}

Deno.test("Java's codes: a colour ends formats, a reset ends colour and formats", () => {
  assertEquals(short(parseFormatted("a§lb§cc§od§rE")), ["||a", "|l|b", "c||c", "c|o|d", "||E"]);
  assertEquals(short(parseFormatted("§Ca§LB§kc§nd")), ["c||a", "c|l|B", "c|kl|c", "c|kln|d"]);
  assertEquals(short(parseFormatted("§a§b§c")), []);
  assertEquals(short(parseFormatted("x§ay§r§az")), ["||x", "a||yz"]);
  assertEquals(short(parseFormatted("§gA§uB")), ["g||A", "u||B"]);
});

Deno.test("Bedrock's codes: formats stay, m and n are colours", () => {
  const read = (text: string) => short(parseFormatted(text, { dialect: "bedrock" }));
  assertEquals(read("§la§cb§mc§nd§re"), [
    "|l|a",
    "c|l|b",
    "#971607|l|c",
    "#b4684d|l|d",
    "||e",
  ]);
  assertEquals(read("§o§#aBcDeFx"), ["#abcdef|o|x"]);
});

Deno.test("hex colours are parsed in both forms, and similar texts are not", () => {
  assertEquals(short(parseFormatted("§x§F§f§8§8§0§0a§#00aA00b")), ["#ff8800||a", "#00aa00||b"]);
  assertEquals(short(parseFormatted("§x§1§2a")), ["2||a"]);
  assertEquals(short(parseFormatted("§#12345g§")), ["||12345g"]);
});

Deno.test("a section sign and any character behind it are no text, also without a meaning", () => {
  assertEquals(short(parseFormatted("§§a§zb§")), ["||ab"]);
  assertEquals(short(parseFormatted("§cx§!y§\nz§\u212a§😀§")), ["c||xy\nz"]);
  assertEquals(short(parseFormatted("§va§wb")), ["v||a", "w||b"]);
});

Deno.test("a reset restores the initial style", () => {
  const base = { color: "4", formats: "l" };
  assertEquals(short(parseFormatted("a§kb§rc§2d", { base })), ["4|l|a", "4|kl|b", "4|l|c", "2||d"]);
});

Deno.test("the normal form has codes only where the style changes", () => {
  const normal = (text: string) => formatSections(parseFormatted(text));
  assertEquals(normal("§r§a§a§lHi§l§r§r"), "§a§lHi");
  assertEquals(normal("§lb§cc§o§od§rE"), "§lb§cc§od§rE");
  assertEquals(normal("§LA§#ABCDEFb"), "§lA§x§a§b§c§d§e§fb");
  assertEquals(normal("a§x§1§2b"), "a§2b");
  assertEquals(normal(""), "");
  assertEquals(
    formatSections([{ text: "§", style: NO_STYLE }, { text: "a§#123456", style: NO_STYLE }]),
    "a#123456",
  );
});

Deno.test("text runs survive formatting in normal form and parsing", () => {
  fc.assert(
    fc.property(TEXT, fc.constantFrom("java" as const, "bedrock" as const), (text, dialect) => {
      const runs = parseFormatted(text, { dialect });
      const normal = formatSections(runs);
      assertEquals(parseFormatted(normal), runs, JSON.stringify(text));
      assertEquals(formatSections(parseFormatted(normal)), normal);
    }),
    { seed: 1, numRuns: 5000 },
  );
});

Deno.test("the plain text stays equal in normal form, and equals that of the record", () => {
  fc.assert(
    fc.property(TEXT, (text) => {
      const plain = formatPlain(parseFormatted(text));
      assertEquals(plain, plainText(text));
      assertEquals(plainText(formatSections(parseFormatted(text))), plain);
    }),
    { seed: 2, numRuns: 5000 },
  );
});

Deno.test("runs are bounded by the number of codes, and their text by the input", () => {
  fc.assert(
    fc.property(TEXT, (text) => {
      const runs = parseFormatted(text);
      const signs = text.split("§").length - 1;
      assert(runs.length <= signs + 1);
      assert(runs.reduce((sum, run) => sum + run.text.length, 0) <= text.length);
      // A style takes at most a hex colour and five formats before each section sign: 24 units.
      assert(formatSections(runs).length <= text.length + 24 * signs);
    }),
    { seed: 3, numRuns: 2000 },
  );
});
