/** Covers src/campaign/views.ts and src/campaign/part_counters.ts. */
import { assertEquals, assertThrows } from "@std/assert";
import { FieldError } from "../../src/core/checked_values.ts";
import { formatLeaseValue, parseLeaseValue, UNTAKEN } from "../../src/campaign/lease_value.ts";
import { NO_COUNTERS, partCounters } from "../../src/campaign/part_counters.ts";
import { beginView, countersWith, endView, partViews } from "../../src/campaign/views.ts";

const CLEAN = {
  ...{ flooding: [], disturbed: [], interviewsDisturbed: false, omitted: false, excluded: [] },
};
const counted = { sent: 100, replies: 20, found: 9, position: 50, total: 100 };

Deno.test("a view is continued by its own vantage, and given up by another one", () => {
  const first = beginView({ marks: null, counters: NO_COUNTERS }, "a");
  const views = { vantage: "a", done: [], found: 0, before: NO_COUNTERS };
  assertEquals(first, { marks: null, counters: NO_COUNTERS, views });
  const halfway = { marks: { at: 50 }, counters: countersWith(views, counted, 2), views };
  assertEquals(halfway.counters, { ...counted, total: 200 });
  assertEquals(beginView(halfway, "a"), {});
  const other = beginView(halfway, "b");
  // What was sent counts, the position does not.
  const before = { ...halfway.counters, position: 0 };
  assertEquals(other, {
    marks: null,
    counters: before,
    views: { vantage: "b", done: [], found: 0, before },
  });
});

Deno.test("a server is in doubt if its reply may be lost in any view", () => {
  const views = { vantage: "a", done: [], found: 9, before: NO_COUNTERS };
  const whole = { ...counted, position: 100 };
  const all = countersWith(views, whole, 3);
  const one = endView(views, all, { ...CLEAN, flooding: ["10.0.0.1"], excluded: ["10.0.0.0/28"] });
  assertEquals([one.done, one.found, one.before], [["a"], 0, all]);
  const second = { ...one, ...beginView({ marks: null, counters: all, views: one }, "b").views! };
  assertEquals([second.vantage, second.done, second.before.position], ["b", ["a"], 100]);
  // The view that found most counts, and the packets of all.
  const both = countersWith(second, { ...whole, found: 4 }, 3);
  assertEquals(both, { sent: 200, replies: 40, found: 9, position: 200, total: 300 });
  const two = endView(second, both, {
    ...CLEAN,
    ...{ flooding: ["10.0.0.1", "10.0.0.2"], disturbed: ["query"], omitted: true },
  });
  assertEquals([two.done, two.coverage], [["a", "b"], {
    flooding: ["10.0.0.1", "10.0.0.2"],
    disturbed: ["query"],
    interviewsDisturbed: false,
    omitted: true,
    excluded: ["10.0.0.0/28"],
  }]);
});

Deno.test("views are read back from a lease, and wrong ones are refused", () => {
  const views = { vantage: "fra-1", done: ["lon"], found: 3, before: counted, coverage: CLEAN };
  const value = { ...UNTAKEN, worker: "w1", at: 1, views };
  assertEquals(parseLeaseValue(formatLeaseValue(value)), value);
  assertEquals(partCounters(counted, ""), counted);
  for (
    const wrong of [
      { ...views, vantage: "FRA" },
      { ...views, done: ["a.b"] },
      { ...views, found: -1 },
      { ...views, before: { ...counted, sent: "1" } },
      { ...views, coverage: {} },
    ]
  ) assertThrows(() => partViews(wrong, "views"), FieldError);
});

Deno.test("the lease of a campaign with one view has no views", () => {
  assertEquals(Object.keys(JSON.parse(formatLeaseValue({ ...UNTAKEN, worker: "w1", at: 1 }))), [
    ...["state", "tries", "marks", "counters", "rate", "worker", "at"],
  ]);
});
