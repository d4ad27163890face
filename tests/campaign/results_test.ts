import { assert, assertEquals, assertThrows } from "@std/assert";
import { FieldError } from "../../src/core/checked_values.ts";
import { ATTACHMENTS, emptyRecord, type RecordWithAttachments } from "../../src/core/record.ts";
import { documentedFlags } from "../../src/protocols/documented_flags.ts";
import {
  formatPartEnd,
  MAX_ROWS_BYTES,
  parsePartEnd,
  type PartEnd,
  rowMessages,
} from "../../src/campaign/results.ts";

function row(port: number, more: Partial<RecordWithAttachments> = {}): RecordWithAttachments {
  return { ...emptyRecord({ address: 0x0a000001, port }, 1e12), protocol: "slp", ...more };
}

/** The rows in messages, as JSON. */
function rowsIn(records: readonly RecordWithAttachments[], limit?: number) {
  return [...rowMessages(records, limit)].map(({ bytes, rows }) => {
    const lines = new TextDecoder().decode(bytes).split("\n");
    assertEquals(lines.pop(), "");
    assertEquals(lines.length, rows);
    assert(bytes.length <= (limit ?? MAX_ROWS_BYTES));
    return lines.map((line) => JSON.parse(line));
  });
}

Deno.test("rows with their attachments are divided into messages", () => {
  const attachments = { replies: { slp: { size: 3, data: "AAAA" } }, icon: "BBBB" };
  const records = Array.from({ length: 10 }, (_, i) => row(i + 1, { [ATTACHMENTS]: attachments }));
  assertEquals(rowsIn([]), []);
  const [whole] = rowsIn(records);
  assertEquals(whole.map(({ port }) => port), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  assertEquals(whole[0].attachments, attachments);
  const length = JSON.stringify(whole[0]).length + 1;
  assertEquals(rowsIn(records.slice(0, 9), 3 * length).map((rows) => rows.length), [3, 3, 3]);
  assertEquals(rowsIn(records, 3 * length).flat(), whole);
});

Deno.test("a row that is too large loses raw replies, then its icon, then large values", () => {
  const data = "A".repeat(200_000);
  const replies = { slp: { size: 1, data }, query: { size: 1, data }, raknet: { size: 1, data } };
  const large = "\u0001".repeat(60_000);
  const whole = row(1, { flags: ["badUtf8"], name: "a" });
  const [first, second, third] = rowsIn([
    { ...whole, [ATTACHMENTS]: { replies, icon: "BBBB" } },
    { ...whole, motd: large, [ATTACHMENTS]: { replies, icon: data } },
    { ...whole, motd: large, map: large, [ATTACHMENTS]: { replies: {}, icon: data } },
  ]).flat();
  assertEquals(first.attachments, { replies: {}, icon: "BBBB" });
  assertEquals([second.attachments, second.motd.length], [undefined, 60_000]);
  assertEquals([third.attachments, third.motd, third.map, third.name], [
    undefined,
    null,
    null,
    "a",
  ]);
  for (const { flags } of [first, second, third]) assertEquals(flags, ["badUtf8", "tooLarge"]);
  assert(documentedFlags().some(({ name }) => name === "tooLarge"));
});

const END: PartEnd = {
  form: 1,
  worker: "w1",
  tries: 2,
  counters: { sent: 10, replies: 5, found: 3, position: 256, total: 256 },
  packetLoss: 0.5,
  coverage: {
    flooding: ["10.0.0.1"],
    disturbed: ["query"],
    interviewsDisturbed: true,
    omitted: false,
    excluded: ["10.0.0.0/28"],
  },
};

Deno.test("the end of a part is read back, and anything else is refused", () => {
  const { coverage: _, ...failed } = { ...END, why: "no route", packetLoss: null };
  for (const end of [END, failed]) assertEquals(parsePartEnd(formatPartEnd(end)), end);
  const { counters, coverage } = END;
  for (
    const wrong of [
      {},
      [],
      { ...END, form: 2 },
      { ...END, tries: -1 },
      { ...END, packetLoss: 2 },
      { ...END, counters: { ...counters, sent: -1 } },
      { ...END, counters: { ...counters, sent: 1.5 } },
      { ...END, coverage: { ...coverage, omitted: 1 } },
      { ...END, coverage: { ...coverage, excluded: ["a.example"] } },
      { ...END, why: "a".repeat(1001) },
      { ...END, more: 1 },
    ]
  ) assertThrows(() => parsePartEnd(JSON.stringify(wrong)), FieldError);
  assertThrows(() => parsePartEnd("no JSON"), FieldError);
});
