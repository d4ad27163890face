/** Covers src/web/browser/counters.ts. */
import { assertEquals } from "@std/assert";
import { lossCounters, scanStatus } from "../../../src/app/scan/scan_status.ts";
import { newState } from "../../../src/scan/setup/scan_state.ts";
import { countersIn } from "../../../src/web/browser/counters.ts";

Deno.test("a database has the counters of a status file, losses first", () => {
  const state = newState("id", 0);
  Object.assign(state, { lost: 1, dropped: 2, refused: 3, noStatus: 4, uninspected: 5 });
  Object.assign(state.replies, { valid: 6, forged: 7, omitted: 8 });
  Object.assign(state.tcp, { refused: 9, sent: 10 });
  state.floods.datagrams = 11;
  const stored = countersIn(JSON.parse(JSON.stringify(lossCounters(state))));
  assertEquals(stored, countersIn(scanStatus(state)));
  assertEquals(stored.slice(0, 7).map(([, value]) => value), [1, 2, 3, 9, 5, 4, 8]);
  assertEquals(stored.map(([, value]) => value).filter((value) => value > 0).length, 11);
  assertEquals(new Set(stored.map(([title]) => title)).size, stored.length);
});

Deno.test("counters of another form are left out", () => {
  for (const other of [null, undefined, 1, "x", [], { lost: "1", tcp: 5, replies: null }]) {
    assertEquals(countersIn(other), []);
  }
  assertEquals(countersIn({ lost: 2, tcp: { unanswered: 3 } }).map(([, value]) => value), [2, 3]);
});
