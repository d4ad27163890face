import { assertEquals } from "@std/assert";
import {
  type Health,
  healthResponse,
  scanHealth,
  watchHealth,
} from "../../../src/app/metrics/health.ts";
import { newState } from "../../../src/scan/setup/scan_state.ts";
import { newWatchCounts } from "../../../src/watch/watch.ts";

/** The status and the body of a state's response. */
function shown(health: Health): [number, unknown] {
  const { status, body } = healthResponse(health);
  const text = new TextDecoder().decode(body);
  assertEquals(text.split("\n").length, 2, "it is one line");
  return [status, JSON.parse(text)];
}

const WORKING = { waiting: 0, failing: false };
const FAILING = { waiting: 7, failing: true };

Deno.test("a watch is healthy while its loop runs and its databases can be written", () => {
  const counts = { ...newWatchCounts(), loopAt: 5000, polls: 3, replied: 2, events: 1 };
  const parts = { counts, sockets: { failing: false }, databases: [WORKING] };
  const numbers = { polls: 3, polls_replied: 2, events: 1 };
  assertEquals(shown(watchHealth(parts, 15_000)), [200, { status: "ok", ...numbers }]);
  const failing = { ...parts, sockets: { failing: true }, databases: [WORKING, FAILING] };
  assertEquals(shown(watchHealth(failing, 16_000)), [503, {
    status: "failing",
    failures: [
      "1 of 2 databases cannot be written",
      "no socket is open",
      "the poll loop has not run for 11 s",
    ],
    ...numbers,
  }]);
  const fresh = { ...parts, counts: newWatchCounts() };
  assertEquals(watchHealth(fresh, 0).failures, ["polling has not begun"]);
});

Deno.test("a scan is unhealthy while rows wait for a database", () => {
  const state = newState("s", 0);
  const numbers = { probes_sent: 0, rows_written: 0, rows_lost: 0 };
  assertEquals(shown(scanHealth(state, [])), [200, { status: "ok", ...numbers }]);
  assertEquals(scanHealth(state, [FAILING]).failures, ["1 of 1 database cannot be written"]);
});
