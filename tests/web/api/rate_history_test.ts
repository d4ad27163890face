import { assertEquals } from "@std/assert";
import { RateHistory } from "../../../src/web/api/rate_history.ts";
import { NOW, SCAN, SCAN_ID } from "../fake_data.ts";

/** A reading some seconds after the start of the scan. */
function reading(seconds: number, sent: number, more = {}) {
  return { ...SCAN, heartbeat_at: NOW + 1000 * seconds, probes_sent: sent, replies: 0, ...more };
}

Deno.test("the history of a scan begins with the mean since its start", () => {
  const history = new RateHistory();
  assertEquals(history.add(reading(100, 1000), NOW).probes_per_second, null);
  assertEquals(history.add(reading(100, 1000), NOW).rates_since, null);
  assertEquals(history.add(reading(110, 1500), NOW), {
    ...{ probes_per_second: 50, replies_per_second: 0, rates_since: NOW + 100_000 },
  });
  assertEquals(history.of(SCAN_ID), [
    [NOW, NOW + 100_000, 10, 0],
    [NOW + 100_000, NOW + 110_000, 50, 0],
  ]);
});

Deno.test("counters of earlier runs of a resumed scan give no rate", () => {
  const history = new RateHistory();
  history.add(reading(100, 1000, { runs: 2 }), NOW);
  assertEquals(history.of(SCAN_ID), []);
});

Deno.test("a long history keeps its whole period in at most 600 times", () => {
  const history = new RateHistory();
  for (let i = 1; i <= 5000; i++) history.add(reading(10 * i, 100 * i), NOW);
  const pieces = history.of(SCAN_ID);
  assertEquals([pieces[0][0], pieces.at(-1)![1]], [NOW, NOW + 50_000_000]);
  assertEquals(pieces.length <= 600, true);
  for (const [i, [at, , rate]] of pieces.entries()) {
    assertEquals([at, rate], [i === 0 ? NOW : pieces[i - 1][1], 10]);
  }
});

Deno.test("the histories of 100 scans are kept", () => {
  const history = new RateHistory();
  for (let i = 0; i < 101; i++) history.add(reading(100, 1, { scan_id: `${i}` }), NOW);
  assertEquals([history.of("0").length, history.of("1").length], [0, 1]);
});
