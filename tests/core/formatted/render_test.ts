/** Covers src/core/formatted/mod.ts and src/core/formatted/style.ts. */
import { assert, assertEquals } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import {
  COLORS,
  escapeHtml,
  formatAnsi,
  formatHtml,
  formatPlain,
  nearest256,
  parseFormatted,
  type TextRun,
} from "../../../src/core/formatted/mod.ts";
import { TEXT } from "./texts.ts";

const SGR = new RegExp("\u001b\\[0(?:;\\d{1,3})*m", "g");
const OURS = /<bdi class="mc">|<\/bdi>|<span class="mc-[a-z0-9]+(?: mc-[a-z0-9]+)*">|<\/span>/g;
const DANGEROUS = /[\p{Cc}\u202a-\u202e\u2066-\u2069\u2028\u2029]/u;

/** Maximum number of combining marks on one character. */
function marks(text: string): number {
  const piles = text.match(/[\p{M}\p{Cf}]+/gu) ?? [];
  return Math.max(0, ...piles.map((pile) => (pile.match(/\p{M}/gu) ?? []).length));
}

Deno.test("terminal text has no escape sequence but colours and formats, on one line", () => {
  fc.assert(
    fc.property(TEXT, fc.constantFrom("256" as const, "true" as const), (text, depth) => {
      const line = formatAnsi(parseFormatted(text), depth);
      const bare = line.replace(SGR, "");
      assert(!DANGEROUS.test(bare), JSON.stringify(line));
      assertEquals(bare, formatAnsi(parseFormatted(text), "none"));
      assert(line === "" || line.endsWith("\u001b[0m"));
      assert(marks(bare) <= 4);
    }),
    { seed: 1, numRuns: 5000 },
  );
});

Deno.test("HTML has only the formatter's tags, all closed, and no unescaped text", () => {
  fc.assert(
    fc.property(TEXT, (text) => {
      const html = formatHtml(parseFormatted(text));
      const bare = html.replace(OURS, "");
      assert(!/[<>"']|&(?!amp;|lt;|gt;|quot;|#39;)/.test(bare), html);
      assert(!DANGEROUS.test(bare.replaceAll("\n", "")), JSON.stringify(html));
      assert(bare.isWellFormed());
      assertEquals(html.match(/<span/g)?.length, html.match(/<\/span>/g)?.length);
      assert(html.startsWith('<bdi class="mc">') && html.endsWith("</bdi>"));
      assert(marks(bare) <= 4);
    }),
    { seed: 2, numRuns: 5000 },
  );
});

Deno.test("plain text contains no invisible characters and no stacked marks", () => {
  fc.assert(
    fc.property(TEXT, (text) => {
      const plain = formatPlain(parseFormatted(text));
      assert(!DANGEROUS.test(plain) && marks(plain) <= 4);
      assertEquals(plain, plain.trim());
    }),
    { seed: 3, numRuns: 2000 },
  );
});

Deno.test("every run adds at most its text and one style", () => {
  const count = 500;
  const runs: TextRun[] = Array.from({ length: count }, (_, i) => ({
    text: "<\u001b",
    style: { color: `#${(i * 30_011).toString(16).padStart(6, "0")}`, formats: "klmno" },
  }));
  for (const show of [formatPlain, formatHtml, (all: TextRun[]) => formatAnsi(all, "true")]) {
    let reads = 0;
    const counted = new Proxy(runs, {
      get(target, key) {
        if (typeof key === "string" && /^\d+$/.test(key)) reads++;
        return Reflect.get(target, key);
      },
    });
    const shown = show(counted);
    assertEquals(reads, count);
    assert(shown.length <= 96 * count + 64, String(shown.length));
  }
});

Deno.test("terminal formats have codes, and obfuscation has none", () => {
  const runs = parseFormatted("§k§l§m§n§oA§6B");
  assertEquals(formatAnsi(runs, "256"), "\u001b[0;1;9;4;3mA\u001b[0;38;5;214mB\u001b[0m");
  assertEquals(formatAnsi([], "true"), "");
  assertEquals(formatAnsi(parseFormatted("a\n  b"), "none"), "a b");
  assertEquals([nearest256("#000000"), nearest256("#ffffff"), nearest256("#808080")], [
    16,
    231,
    244,
  ]);
  assertEquals([nearest256("#ff0000"), nearest256("#080808"), nearest256("0")], [196, 232, 16]);
});

Deno.test("HTML classes are a colour's letter, or the nearest and the exact colour", () => {
  const html = (text: string) => formatHtml(parseFormatted(text));
  assertEquals(html("a\r\nb"), '<bdi class="mc">a\nb</bdi>');
  assertEquals(
    html("§aA§#55ff54B"),
    '<bdi class="mc"><span class="mc-a">A</span>' +
      '<span class="mc-a mc-x55ff54">B</span></bdi>',
  );
  assertEquals(html("§k§lA"), '<bdi class="mc"><span class="mc-k mc-l">A</span></bdi>');
  for (const [letter, rgb] of COLORS) {
    assert(html(`§${rgb}x`).includes(`mc-${letter} mc-x${rgb.slice(1)}`), letter);
  }
  assertEquals(
    escapeHtml(`<a href="x" b='y'>&\ud800`),
    "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;\ufffd",
  );
});

Deno.test("marks are bounded across formatting codes", () => {
  const zalgo = parseFormatted("e\u0301\u0301§a\u0301\u0301§b\u0301\u0301x\u0301");
  assertEquals(formatAnsi(zalgo, "none"), "e\u0301\u0301\u0301\u0301x\u0301");
  assertEquals(formatPlain(zalgo), "e\u0301\u0301\u0301\u0301x\u0301");
});
