import { assertEquals } from "@std/assert";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import {
  countLacking,
  lackingPartsText,
  lostFlags,
  readLackingParts,
} from "../../../src/store/rows/lacking_parts.ts";

/** Counts a reply that arrived at a time and was written a second later. */
const after = (
  earlier: Parameters<typeof countLacking>[0],
  parts: readonly string[],
  repliedAt: number,
  unqueried: readonly string[] = [],
) => countLacking(earlier, { parts, unqueried, repliedAt, now: repliedAt + 1000, limit: 3 });

Deno.test("a part keeps its values until the limit of replies in a row without it is reached", () => {
  const one = after({}, ["query"], 10_000);
  assertEquals(one, { query: { replies: 1, countedAt: 11_000 } });
  const two = after(one, ["query", "slp"], 20_000);
  assertEquals(two, {
    query: { replies: 2, countedAt: 21_000 },
    slp: { replies: 1, countedAt: 21_000 },
  });
  assertEquals(after(two, ["query"], 30_000), {}); // the limit; and the reply has slp
  assertEquals(after(two, ["slp"], 30_000), { slp: { replies: 2, countedAt: 31_000 } });
});

Deno.test("replies to programs that query a server at the same time count once", () => {
  const one = after({}, ["query"], 10_000);
  for (const repliedAt of [9000, 10_500, 11_000]) {
    assertEquals(after(one, ["query"], repliedAt), one);
  }
  assertEquals(after(one, ["query"], 11_001).query.replies, 2);
  const future = { query: { replies: 1, countedAt: 99_000 } }; // a clock was ahead
  assertEquals(after(future, ["query"], 10_000).query, { replies: 2, countedAt: 11_000 });
});

Deno.test("a reply to a program that did not query a protocol leaves its count", () => {
  const one = after({}, ["query"], 10_000);
  assertEquals(after(one, [], 20_000, ["query", "slp"]), one);
  assertEquals(after(one, [], 20_000, ["slp"]), {});
});

Deno.test("flags that report a lost part make a reply lack it, unless the server had them before", () => {
  const flags = (before: string[], now: string[]) =>
    lostFlags({ flags: before }, { flags: now }, PROTOCOLS);
  assertEquals(flags([], ["badUtf8", "cut", "statLost", "truncated"]), ["statLost", "truncated"]);
  assertEquals(flags(["truncated"], ["truncated"]), []);
});

Deno.test("counts that another program broke are unknown", () => {
  const counts = { query: { replies: 2, countedAt: 5 } };
  assertEquals(readLackingParts(lackingPartsText(counts)), counts);
  assertEquals([lackingPartsText({}), readLackingParts("")], ["", {}]);
  const broken = ["x", "1", "null", "[]", '{"a":1}', '{"a":{"replies":"2","countedAt":5}}'];
  for (const text of broken) assertEquals(readLackingParts(text), {}, text);
  assertEquals(readLackingParts('{"a":null,"query":{"replies":2,"countedAt":5}}'), counts);
});
