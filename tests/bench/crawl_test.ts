/** The simulated month of bench/crawl.ts, with few servers. */
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { drawMortals, isUp, lastChange } from "../../bench/crawl/churn.ts";
import { runMonth } from "../../bench/crawl/policies.ts";
import { longTest } from "../long.ts";

Deno.test("simulated servers change within half a day as often as the measured ones", () => {
  const mortals = drawMortals(4000, 1);
  const changed = { up: [0, 0], down: [0, 0] };
  for (const mortal of mortals) {
    for (let at = 0; at < 40; at++) {
      const since = lastChange(mortal, at);
      if (since === undefined || at - since < 3 || at - since > 4) continue;
      const counts = changed[isUp(mortal, at) ? "up" : "down"];
      counts[1]++;
      if (lastChange(mortal, at + 1) !== since) counts[0]++;
    }
  }
  // Of servers that were in their state for 3 to 4 half-days: the formulas at 4, to be changed within one more.
  assertAlmostEquals(changed.up[0] / changed.up[1], 0.2 * 4 ** -0.85 + 0.012, 0.01);
  assertAlmostEquals(changed.down[0] / changed.down[1], 0.36 * 4 ** -1.4, 0.01);
});

longTest(
  "a crawl scores higher than polls every four days with the same budget, and an outage lists no server as down",
  async () => {
    const living = 200;
    const mortals = drawMortals(living, 3);
    const month = { mortals, living, budget: 1.1 };
    const crawl = await runMonth({ ...month, policy: "law" });
    const fixed = await runMonth({ ...month, policy: 4 * 86_400_000 });
    const [score, other] = [crawl, fixed].map(({ listed, wrong }) => listed - wrong);
    assert(score > other + 0.02, `${score} and ${other}`);
    assert(crawl.polls + crawl.discovery <= 1.11);
    assert(crawl.offline.some((at) => at >= 15 && at < 16));
    const { offline } = await runMonth({ ...month, policy: "law", outage: [15, 16] });
    assertEquals(offline.filter((at) => at >= 15 && at < 16), []);
  },
);
