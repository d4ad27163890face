/** Tests of src/web/status/formatted_texts.ts: texts of servers in the forms of both services. */
import { assert, assertEquals } from "@std/assert";
import { textLines, wholeText } from "../../../src/web/status/formatted_texts.ts";

const JAVA = { dialect: "java" } as const;
const BEDROCK = { dialect: "bedrock" } as const;

Deno.test("mcsrvstat.us has lines, spans for colours, and spans in these for formats", () => {
  // The form of a reply of the service that is quoted in public code.
  const motd = "                §aHypixel Network §c[1.8-1.18]\n" +
    "      §e✰ §6§lSKYBLOCK §e✰";
  assertEquals(textLines(motd, JAVA), {
    raw: motd.split("\n"),
    clean: ["                Hypixel Network [1.8-1.18]", "      ✰ SKYBLOCK ✰"],
    html: [
      '                <span style="color: #55FF55">Hypixel Network </span>' +
      '<span style="color: #FF5555">[1.8-1.18]</span>',
      '      <span style="color: #FFFF55">✰ </span>' +
      '<span style="color: #FFAA00"><span style="font-weight: bold;">SKYBLOCK </span></span>' +
      '<span style="color: #FFFF55">✰</span>',
    ],
  });
  const plain = ["A Minecraft Server"];
  assertEquals(textLines(plain[0], JAVA), { raw: plain, clean: plain, html: plain });
  assertEquals(textLines("", JAVA), { raw: [""], clean: [""], html: [""] });
});

Deno.test("mcstatus.io has one text, and a span for each run in one span", () => {
  assertEquals(wholeText("§fA\n§r§oB§m§nC", JAVA), {
    raw: "§fA\n§r§oB§m§nC",
    clean: "A\nBC",
    html:
      '<span><span style="color: #ffffff;">A</span>\n<span style="font-style: italic;">B</span>' +
      '<span style="font-style: italic;text-decoration: line-through underline;">C</span></span>',
  });
  assertEquals(
    wholeText("§kx", JAVA).html,
    '<span><span class="minecraft-format-obfuscated">x</span></span>',
  );
  assertEquals(wholeText("A", JAVA).html, "<span><span>A</span></span>");
});

Deno.test("in components a style holds beyond the end of a line", () => {
  assertEquals(textLines("§cA\nB", { dialect: "java", keepsStyle: true }).html, [
    '<span style="color: #FF5555">A</span>',
    '<span style="color: #FF5555">B</span>',
  ]);
  assertEquals(textLines("§cA\r\nB", JAVA).html, ['<span style="color: #FF5555">A</span>', "B"]);
});

Deno.test("Bedrock's codes have their own colours, and its grey differs", () => {
  assertEquals(textLines("§7a", BEDROCK).html, ['<span style="color: #C6C6C6">a</span>']);
  assertEquals(textLines("§7a", JAVA).html, ['<span style="color: #AAAAAA">a</span>']);
  assertEquals(textLines("§mred", BEDROCK).html, ['<span style="color: #971607">red</span>']);
  assertEquals(textLines("§#12abefx", JAVA).html, ['<span style="color: #12ABEF">x</span>']);
});

Deno.test("hostile texts stay text: no tags, no control and reordering characters", () => {
  const hostile = `§c<img src=x onerror="alert('1')">&\u001b[2J\u202e\u0000\ud800${
    "\u0301".repeat(99)
  }`;
  for (const { clean, html } of [wholeText(hostile, JAVA), wholeText(hostile, BEDROCK)]) {
    assert(!/[\p{Cc}\u202e\ud800]/u.test(clean + html));
    assert((clean.match(/\u0301/g) ?? []).length <= 4);
    assertEquals(
      html.replace(/<\/?span(?: style="color: #[0-9a-f]{6};")?>/g, "").match(/[<>"']/),
      null,
    );
  }
  const lines = textLines(hostile, JAVA).html.join("");
  assertEquals(
    lines.replace(/<\/?span(?: style="color: #[0-9A-F]{6}")?>/g, "").match(/[<>"']/),
    null,
  );
});
