/**
 * The page for people who are probed. Covers src/web/report/single_file.tsx and
 * src/cli/commands/report/contact_page.ts with page_output.ts.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { contactPage } from "../../../src/web/report/contact_page.tsx";
import { inFolder } from "../../app/resume/stopped_programs.ts";
import { runHere } from "../../cli/run_here.ts";

const FACTS = {
  contact: "a+b&c@example.org",
  operator: undefined,
  purpose: undefined,
  retention: undefined,
  allProtocols: PROTOCOLS,
};

Deno.test("the contact page names contact, marker and every kind of probe, and loads nothing", () => {
  const html = contactPage(FACTS);
  assertStringIncludes(
    html,
    '<a href="mailto:a%2Bb%26c@example.org"><bdi>a+b&amp;c@example.org</bdi></a>',
  );
  assertStringIncludes(html, "<code>§b§d§f§d§b</code>");
  for (const { probeText } of PROTOCOLS) assertStringIncludes(html, `<li>${probeText}</li>`);
  for (const name of ["626c6f636b737770", "blocksweep"]) {
    assertStringIncludes(html, `<code>${name}</code>`);
  }
  assertStringIncludes(html, "at most 5 packets per second to an address, 50 to a network");
  assertEquals(
    html.match(/<script|\bon\w+=|<link rel="icon" href="(?!data:)|\bsrc="(?!data:)|url\(/g),
    null,
  );
  assertStringIncludes(html, "default-src &#39;none&#39;; style-src");
  assertEquals(html.match(/href="(?!data:|mailto:)[^"]*"/g), null);
  const page = contactPage({ ...FACTS, contact: "https://example.org/?a=1&b=2" });
  assertStringIncludes(page, '<a href="https://example.org/?a=1&amp;b=2">');
});

Deno.test("texts of the contact page are text, whatever they contain", () => {
  const text = '</bdi><script>alert(1)</script>"&\u202e';
  const html = contactPage({ ...FACTS, operator: text, purpose: text, retention: text });
  const shown = "<bdi>&lt;/bdi&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;&amp;\ufffd</bdi>";
  assertEquals(html.split(shown).length, 4);
  assert(!html.includes("<script"));
});

Deno.test("contact-page writes the page to a file or standard output", async () => {
  await inFolder(async (folder) => {
    const words = ["contact-page", "--contact", "abuse@example.org", "--operator", "Labs"];
    const printed = await runHere(words);
    assertEquals([printed.code, printed.stderr], [0, ""]);
    assertStringIncludes(printed.stdout, "Operator: <bdi>Labs</bdi>");
    const written = await runHere([...words, "-o", `${folder}/index.html`]);
    assertEquals([written.code, written.stdout], [0, ""]);
    assertEquals(`${await Deno.readTextFile(`${folder}/index.html`)}\n`, printed.stdout);
  });
});

Deno.test("contact-page overwrites an HTML page or an empty file, and no other file", async () => {
  await inFolder(async (folder) => {
    const file = `${folder}/servers`;
    const words = ["contact-page", "--contact", "abuse@example.org", "-o"];
    const old = ["", "<!doctype html>\n", "\ufeff\n<!DOCTYPE  HTML PUBLIC>", "<html lang=en>"];
    for (const text of old) {
      await Deno.writeTextFile(file, text);
      assertEquals(await runHere([...words, file]), { code: 0, stdout: "", stderr: "" }, text);
      assertStringIncludes(await Deno.readTextFile(file), "abuse@example.org");
    }
    const others = [
      "SQLite format 3\0",
      "\ufeff",
      " ",
      "<htmlx>",
      "key <!doctype html>",
      "<?xml?>",
    ];
    for (const text of others) {
      await Deno.writeTextFile(file, text);
      const { code, stderr } = await runHere([...words, file]);
      assertEquals(code, 2, text);
      assertStringIncludes(
        stderr,
        `Cannot overwrite "${file}": it is not an HTML page; name anoth`,
      );
      assertEquals(await Deno.readTextFile(file), text);
    }
    const database = await runHere([...words, `${folder}/new.db`]);
    assertEquals(database.code, 2);
    assertStringIncludes(database.stderr, 'new.db", which is a database');
  });
});
