import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { DAY_MS } from "../../src/core/quantities.ts";
import {
  changeRate,
  jitterOf,
  type LastProbe,
  overdue,
  PRIOR_SCALE,
  RecentYield,
  reprobeMs,
  reprobeScale,
  unchangedChance,
} from "../../src/discovery/freshness.ts";

/** A server that was in its state for a number of half-days when it was probed at time 0. */
function aged(online: boolean, halfDays: number): LastProbe {
  return { online, since: -halfDays * DAY_MS / 2, probedAt: 0 };
}

Deno.test("rates of change fit the measured chances of a change within half a day", () => {
  const chance = (online: boolean, age: number) => changeRate(aged(online, age)) / 2;
  // Measured for up: 1, 2, 3–4, 5–8, 9–14 scans: .207 .096 .048 .037 .031; down the same way.
  const up = [[1, .207, .01], [2, .096, .03], [3.5, .048, .04], [6.5, .037, .02], [11, .031, .01]];
  const down = [[1, .377, .02], [2, .109, .04], [3.5, .058, .01], [6.5, .03, .01], [11, .012, .01]];
  for (const [age, measured, tolerance] of up) {
    assertAlmostEquals(chance(true, age), measured, tolerance);
  }
  for (const [age, measured, tolerance] of down) {
    assertAlmostEquals(chance(false, age), measured, tolerance);
  }
  assertEquals(changeRate(aged(true, 0)), changeRate(aged(true, 1)));
});

Deno.test("the chance of no change is the exponential of the integrated rate", () => {
  for (const online of [true, false]) {
    for (const [age, half] of [[0, .5], [0, 3], [.4, 8], [1, 1], [7, 20]]) {
      const state = aged(online, age);
      let integral = 0;
      const steps = 20_000;
      for (let i = 0; i < steps; i++) {
        const then = (i + .5) / steps * half * DAY_MS / 2;
        integral += changeRate({ ...state, probedAt: then }) / 2 * half / steps;
      }
      assertAlmostEquals(unchangedChance(state, half * DAY_MS / 2), Math.exp(-integral), 1e-6);
    }
  }
  assertEquals(unchangedChance(aged(true, 5), 0), 1);
});

Deno.test("the time between two probes makes one more probe worth as much as one for discovery", () => {
  const y = 1e-4;
  const scale = reprobeScale(0, 1e6, y);
  const c = changeRate(aged(true, 3));
  const days = reprobeMs(Math.sqrt(c), scale, 1) / DAY_MS;
  assertAlmostEquals(days, Math.sqrt(2 * y * 7 / c), 1e-9);
  // Error per day of a server that is probed n times a day: c/(2n). Its derivative is c·T²/2.
  assertAlmostEquals(c * days * days / 2, y * 7, 1e-12);
});

Deno.test("a budget that is too small goes to known servers only, and their probes add up to it", () => {
  const roots = Array.from({ length: 1000 }, (_, i) => Math.sqrt(changeRate(aged(i % 3 > 0, i))));
  const sum = roots.reduce((a, b) => a + b);
  const perDay = (scale: number) =>
    roots.reduce((all, root) => all + DAY_MS / reprobeMs(root, scale, 1), 0);
  const small = reprobeScale(sum, 2000, 1e-5);
  assertAlmostEquals(perDay(small), 2000, 1e-6);
  const large = reprobeScale(sum, 1e6, 1e-5);
  assertEquals(large, PRIOR_SCALE);
  assert(perDay(large) < 1e6);
});

Deno.test("the time between two probes is from 10 minutes to 30 days, and jitter spreads it", () => {
  assertEquals(reprobeMs(1, 0, 1), 600_000);
  assertEquals(reprobeMs(1e-6, 1, 1), 30 * DAY_MS);
  const factors = Array.from({ length: 2000 }, (_, i) => jitterOf(`10.0.0.${i}:25565`));
  assert(factors.every((one) => one >= 0.9 && one <= 1.1));
  assertAlmostEquals(factors.reduce((a, b) => a + b) / 2000, 1, 0.005);
  assert(Math.min(...factors) < 0.905 && Math.max(...factors) > 1.095);
  assertEquals(jitterOf("a:1"), jitterOf("a:1"));
});

Deno.test("servers that change more often are overdue earlier", () => {
  const at = (state: LastProbe) => overdue(state, { now: DAY_MS, scale: PRIOR_SCALE, jitter: 1 });
  assert(at(aged(true, 1)) > at(aged(true, 10)));
  assert(at(aged(true, 60)) > at(aged(false, 60)));
  assertAlmostEquals(at({ ...aged(true, 5), probedAt: DAY_MS }), 0);
});

Deno.test("the yield is that of the last million probes, with a prior of ten per million", () => {
  const recent = new RecentYield();
  assertAlmostEquals(recent.perProbe, 1e-5);
  recent.add(9000, 9);
  assertAlmostEquals(recent.perProbe, 9.01 / 10_000);
  assertEquals(recent.isSure, false);
  recent.add(91_000, 0);
  assertEquals(recent.isSure, true);
  assertAlmostEquals(recent.perProbe, 9.01 / 101_000);
  for (let i = 0; i < 10; i++) recent.add(100_000, 0);
  assertAlmostEquals(recent.perProbe, 0.01 / 1_001_000);
  assertAlmostEquals(new RecentYield(recent.batches).perProbe, recent.perProbe);
});
