import { assertEquals } from "@std/assert";
import { emptyRecord, FIELDS } from "../../src/core/record.ts";
import { jsonFormat, ndjsonFormat } from "../../src/sinks/json.ts";

const RECORD = {
  ...emptyRecord({ address: 0x7f000001, port: 19132 }, 5),
  motd: 'a"\u2028\u009b',
  players: ["Ann"],
  extras: { raknet: { level: "x" } },
};

Deno.test("a row has the schema version and every field, in order", () => {
  const row = JSON.parse(ndjsonFormat(FIELDS).row(RECORD, true));
  assertEquals(Object.keys(row), ["schema", ...FIELDS.map(({ name }) => name as string)]);
  assertEquals(row, { schema: 1, ...RECORD });
});

Deno.test("the two ways to format all fields give equal text", () => {
  assertEquals(ndjsonFormat(FIELDS).row(RECORD, true), ndjsonFormat([...FIELDS]).row(RECORD, true));
  assertEquals(ndjsonFormat(FIELDS).row(RECORD, true).includes("\\u2028\\u009b"), true);
});

Deno.test("a row of selected fields has no other keys", () => {
  const fields = FIELDS.filter(({ name }) => ["port", "host", "guid"].includes(name));
  const text = ndjsonFormat(fields).row(RECORD, true);
  assertEquals(text, '{"schema":1,"host":"127.0.0.1","port":19132,"guid":null}\n');
  assertEquals(jsonFormat(fields).row(RECORD, false), `,\n${text.trim()}`);
});
