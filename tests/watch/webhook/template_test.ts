import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import { InputError } from "../../../src/core/errors.ts";
import {
  parseJsonTemplate,
  parseTextTemplate,
  PLACEHOLDER_NAMES,
} from "../../../src/watch/webhook/template.ts";
import { eachKind, offline } from "./events.ts";

const asIs = (text: string) => text;

Deno.test("a text template shows each placeholder", () => {
  const text = PLACEHOLDER_NAMES.map((name) => `${name}={${name}}`).join("|");
  const render = parseTextTemplate(`${text}\r\n\n`, "t.txt");
  assertEquals(render(offline(), asIs).split("|"), [
    "message=Hypixel (mc.example.org:25565) is offline, last reply 14:03 UTC",
    "name=Hypixel",
    "host=mc.example.org",
    "port=25565",
    "endpoint=mc.example.org:25565",
    "address=192.0.2.7",
    "event=offline",
    "change=is offline, last reply 14:03 UTC",
    "players=",
    "time=2026-11-22T14:05:00.000Z",
    "id=0193a1b2-0001-7000-8000-000000000001",
  ]);
  const players = parseTextTemplate("{players}", "t.txt");
  assertEquals(eachKind().map((event) => players(event, asIs)), [
    "1200",
    "",
    "",
    "2",
    "",
    "",
    "",
    "",
  ]);
});

Deno.test("values in a text template are escaped, and the text of the template is not", () => {
  const render = parseTextTemplate("*{name}* <@1>", "t.txt");
  assertEquals(render(offline({ name: "*a*" }), (text) => text.replaceAll("*", "")), "*a* <@1>");
  assertEquals(render(offline({ name: "{event} $& $1" }), asIs), "*{event} $& $1* <@1>");
});

Deno.test("an unknown placeholder is refused with the list", () => {
  for (const text of ["{nam}", "{Name}", "{}", "{{name}}", "{name }", "{constructor}"]) {
    for (const parse of [parseTextTemplate, parseJsonTemplate]) {
      const { message } = assertThrows(() => parse(`"${text}"`, "t.txt"), InputError);
      assert(message.startsWith(`Cannot use template "t.txt": there is no placeholder "${text}"`));
      assert(message.endsWith(PLACEHOLDER_NAMES.map((name) => `{${name}}`).join(" ")), message);
    }
  }
});

Deno.test("unusable templates are refused in one line that quotes no part of them", () => {
  const refused = (parse: (text: string, source: string) => unknown, text: string) => {
    const { message } = assertThrows(() => parse(text, "t"), InputError);
    assert(message.length < 120 && !message.includes("\n"), message);
    return message.replace('Cannot use template "t": ', "");
  };
  assertEquals(refused(parseTextTemplate, " \n"), "it is empty");
  assertEquals(
    refused(parseTextTemplate, "x".repeat(20_000)),
    "it must have at most 16,384 characters",
  );
  const json = "it must be a JSON document with the placeholders in its strings";
  for (const text of ["", "hello {name}", '{"a": {port}}', '{"token": "s3cr3t"']) {
    assertEquals(refused(parseJsonTemplate, text), json);
  }
  assertEquals(refused(parseJsonTemplate, '{"{name}": 1}'), "placeholders must not be in keys");
  assertEquals(
    refused(parseJsonTemplate, "[".repeat(8000) + "]".repeat(8000)),
    "it must have at most 32 levels",
  );
});

Deno.test("a template may have 16,384 characters and 32 levels of lists and objects, and not more", () => {
  assertEquals(parseTextTemplate("x".repeat(16_384), "t")(offline(), asIs).length, 16_384);
  assertThrows(() => parseTextTemplate("x".repeat(16_385), "t"), InputError, "16,384 characters");
  for (const [open, close] of [["[", "]"], ['{"a":', "}"]]) {
    for (const inner of ['"{port}"', "[]", "{}"]) {
      const levels = inner.startsWith('"') ? 32 : 31;
      const nested = (count: number) => `${open.repeat(count)}${inner}${close.repeat(count)}`;
      const render = parseJsonTemplate(nested(levels), "t");
      assertEquals(
        JSON.stringify(render(offline())),
        nested(levels).replace("{port}", "25565"),
      );
      assertThrows(() => parseJsonTemplate(nested(levels + 1), "t"), InputError, "32 levels");
    }
  }
});

Deno.test("no name changes the form of a JSON template's document", () => {
  const template = { text: "{name} {change}", n: [1, null, true, "{port}"], __proto__x: {} };
  const render = parseJsonTemplate(JSON.stringify(template), "t.json");
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 80 }), (name) => {
      const value = JSON.parse(JSON.stringify(render(offline({ name })))) as typeof template;
      assertEquals(Object.keys(value), Object.keys(template));
      assertEquals(value.n, [1, null, true, "25565"]);
      assertEquals(typeof value.text, "string");
    }),
    { seed: 1, numRuns: 300 },
  );
  const name = '", "admin": true, "x": "\\';
  assertEquals((render(offline({ name })) as typeof template).text.slice(0, name.length), name);
});
