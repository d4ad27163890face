import { assertEquals } from "@std/assert";
import { stored, tagTexts } from "../../../src/app/targets/servers_in_files.ts";
import { record } from "../../store/records.ts";

const NOW = 10_000;

/** The state of a server that replied at time 1000, from the values of its row. */
function stateOf(value: unknown): unknown[] {
  const row = { players_at: value, first_seen: value, probed_at: value, missed_scans: value };
  const server = { record: record(1, { players: ["Ann"], seen_at: 1000 }), row };
  const { players_at: at, first_seen: first, probed_at: last, missed_scans: missed } = stored(
    server,
    NOW,
  );
  return [at, first, last, missed];
}

Deno.test("times and counts of a row are whole numbers, in JSON and in cells of CSV", () => {
  for (const value of [400, "400"]) assertEquals(stateOf(value), [400, 400, 400, 400]);
});

Deno.test("a time of a row that is no number is replaced by that of the reply, a count by 0", () => {
  for (const value of [true, [1], "", " 7", "0x1", "1e3", {}, null, undefined, -1, 1.5]) {
    assertEquals(stateOf(value), [1000, 1000, 1000, 0], Deno.inspect(value));
  }
});

Deno.test("a row without any time was first found when it was imported", () => {
  const { first_seen, seen_at } = stored({ record: record(1, { seen_at: 0 }), row: {} }, NOW);
  assertEquals([first_seen, seen_at], [NOW, 0]);
});

Deno.test("tags of a row are a list, also as JSON, or words; other texts are kept for the count", () => {
  const long = "x".repeat(65);
  const values: readonly (readonly [unknown, readonly string[]])[] = [
    [["a", "b c"], ["a", "b c"]],
    ['["a","b, c"]', ["a", "b, c"]],
    ["a, b c;d|e", ["a", "b c", "d", "e"]],
    ["[eu] lobby", ["[eu] lobby"]],
    ["[1]", []],
    [undefined, []],
    [5, []],
    [`${long},a`, [long, "a"]],
  ];
  for (const [value, tags] of values) assertEquals(tagTexts(value), tags);
  const server = { record: record(1), row: { tags: `${long},a`, notes: " A\n B " } };
  const { tags, notes } = stored(server, NOW);
  assertEquals([tags, notes], [["a"], "A B"]);
});

Deno.test("a time of a row that has not come yet is replaced by that of the reply", () => {
  assertEquals(stateOf(NOW + 1).slice(0, 3), [1000, 1000, 1000]);
});

Deno.test("the count of missed scans of a row stays a number that both databases can count up", () => {
  const missed = (value: unknown) => stateOf(value)[3];
  assertEquals([1e9 - 1, 1e9, 1e9 + 1, "9007199254740991"].map(missed), [1e9 - 1, 1e9, 1e9, 1e9]);
});
