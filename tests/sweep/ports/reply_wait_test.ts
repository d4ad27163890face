import { assertEquals } from "@std/assert";
import { ReplyWait } from "../../../src/sweep/ports/reply_wait.ts";

function waitAfter(trips: Iterable<number>, most = 900): number {
  const wait = new ReplyWait(most);
  for (const ms of trips) wait.add(ms);
  return wait.ms;
}

/** 1,000 round trips, of which some take longer. */
const trips = (usual: number, slow: number, count: number) =>
  Array.from({ length: 1000 }, (_, i) => i < count ? slow : usual);

Deno.test("the time for replies is three times the 99.9th percentile, within its limits", () => {
  assertEquals(waitAfter(trips(20, 20, 0).slice(1)), 900); // too few round trips
  assertEquals(waitAfter(trips(20, 20, 0)), 500);
  assertEquals(waitAfter(trips(20, 215, 2)), 660);
  assertEquals(waitAfter(trips(20, 215, 1)), 500);
  assertEquals(waitAfter(trips(20, 5000, 2)), 900);
  assertEquals(waitAfter(trips(20, 20, 0), 400), 400); // --timeout 400ms
});

Deno.test("the time for replies grows again with slower replies", () => {
  assertEquals(waitAfter([...trips(20, 20, 0), ...trips(20, 295, 900)]), 900);
});
