import { assertEquals } from "@std/assert";
import { noCanaries } from "../../../src/sweep/canaries/loss_estimate.ts";
import { PassTally } from "../../../src/sweep/canaries/pass_tally.ts";

function open() {
  const counts = noCanaries();
  return { tally: new PassTally(counts), found: () => [counts.firstFound, counts.secondFound] };
}

Deno.test("PassTally counts the servers of two complete passes, also those that are added later", () => {
  const { tally, found } = open();
  tally.begin("a", 100, true);
  for (const at of [101, 150, 199]) tally.add("a", at);
  tally.begin("a", 200, false);
  tally.add("a", 250);
  assertEquals(found(), [0, 0], "the second pass is not over");
  tally.begin("a", 300, false);
  assertEquals(found(), [3, 1]);
  tally.add("a", 180);
  tally.add("a", 299);
  tally.add("a", 300); // found by the third pass
  tally.begin("b", 400, true);
  tally.add("b", 410);
  tally.add("c", 410);
  tally.end();
  assertEquals(found(), [4, 2], "b had only one pass");
});

Deno.test("PassTally ignores protocols of which a pass ran only in part", () => {
  const { tally, found } = open();
  tally.begin("a", 100, false); // a resumed scan continues the first pass
  tally.add("a", 110);
  tally.begin("a", 200, false);
  tally.add("a", 210);
  tally.end();
  assertEquals(found(), [0, 0]);
});
