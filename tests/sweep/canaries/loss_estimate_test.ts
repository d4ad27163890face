/** Covers src/sweep/canaries/confidence_interval.ts. */
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { Random } from "../../../src/fleet/random.ts";
import { clopperPearson } from "../../../src/sweep/canaries/confidence_interval.ts";
import {
  estimateLoss,
  LossTally,
  missedRange,
  missedServers,
  noCanaries,
} from "../../../src/sweep/canaries/loss_estimate.ts";

Deno.test("clopperPearson() agrees with published tables", () => {
  // hits, all, low, high: from the quantiles of the beta distribution
  for (
    const [hits, all, low, high] of [
      [0, 100, 0, 0.036217],
      [10, 100, 0.049005, 0.176223],
      [5, 10, 0.187086, 0.812914],
      [10, 10, 0.691503, 1],
      [8, 2000, 0.001728, 0.007866],
      [1, 1, 0.025, 1],
    ]
  ) {
    const interval = clopperPearson(hits, all);
    assertAlmostEquals(interval.low, low, 1e-6);
    assertAlmostEquals(interval.high, high, 1e-6);
  }
  const { low, high } = clopperPearson(300_000, 1_000_000);
  assertAlmostEquals(low, 0.3 - 1.96 * Math.sqrt(0.21 / 1e6), 1e-5);
  assertAlmostEquals(high, 0.3 + 1.96 * Math.sqrt(0.21 / 1e6), 1e-5);
});

Deno.test("LossTally counts outcomes, and the squared losses of complete batches of 50", () => {
  const tally = new LossTally(noCanaries());
  const losses = (count: number, lost: number) => {
    for (let i = 0; i < count; i++) tally.count(i < lost);
  };
  const none = { stopped: 0, firstFound: 0, secondFound: 0 };
  assertEquals(tally.counts, {
    sent: 0,
    lost: 0,
    batches: 0,
    batchLost: 0,
    batchSquares: 0,
    ...none,
  });
  losses(49, 3);
  assertEquals(tally.counts, { ...tally.counts, sent: 49, lost: 3, batches: 0 });
  losses(1, 1);
  const first = { sent: 50, lost: 4, batches: 1, batchLost: 4, batchSquares: 16 };
  assertEquals(tally.counts, { ...first, ...none });
  losses(99, 5);
  const second = { sent: 149, lost: 9, batches: 2, batchLost: 9, batchSquares: 41 };
  assertEquals(tally.counts, { ...second, ...none });
});

Deno.test("each kind of observation alone has an interval of 95 %, also if it is a single one", () => {
  const wide = { ...noCanaries(), sent: 100, lost: 10 };
  const { low, high } = estimateLoss(wide)!;
  assertAlmostEquals(low, 0.049005, 1e-6);
  assertAlmostEquals(high, 0.176223, 1e-6);
  // With both kinds, each interval has 97.5 %: it is wider, whatever the other one shows.
  const both = estimateLoss({ ...wide, firstFound: 1 })!;
  const more = estimateLoss({ ...wide, firstFound: 2 })!;
  const { low: least, high: most } = clopperPearson(10, 100, 0.975);
  for (const one of [both, more]) assertEquals([one.low, one.high], [least, most]);
  assert(least < low && most > high);
  const one = estimateLoss({ ...noCanaries(), sent: 1, firstFound: 400 })!;
  assertAlmostEquals(one.high, clopperPearson(0, 400, 0.975).high, 1e-3);
});

/** A random sequence of outcomes, with independent losses or with bursts. */
function tally(random: Random, queried: number, loss: number, burst = 1) {
  const counts = noCanaries();
  const tally = new LossTally(counts);
  let bad = false;
  for (let i = 0; i < queried; i++) {
    if (i % burst === 0) bad = random.chance(loss);
    tally.count(bad);
  }
  return counts;
}

/** The fraction of runs whose interval contains the true loss. */
function held(runs: number, queried: number, loss: number, burst?: number): number {
  let holds = 0;
  for (let seed = 1; seed <= runs; seed++) {
    const estimate = estimateLoss(tally(new Random(seed * 7919), queried, loss, burst));
    if (estimate === undefined || estimate.low <= loss && loss <= estimate.high) holds++;
  }
  return holds;
}

Deno.test("the interval contains the true loss in 19 of 20 runs, for any loss and number", () => {
  const all: number[] = [];
  for (const loss of [0, 0.001, 0.004, 0.01, 0.03, 0.1, 0.3, 0.5, 1]) {
    for (const queried of [1, 5, 20, 100, 500, 2000, 10_000]) {
      const share = held(100, queried, loss) / 100;
      assert(share >= 0.91, `${share} at ${loss} of ${queried}`); // 95 %, with random deviation
      all.push(share);
    }
  }
  const mean = all.reduce((sum, share) => sum + share) / all.length;
  assert(mean >= 0.95, `${mean}`);
});

Deno.test("losses in bursts widen the interval, which then contains the true loss", () => {
  for (const burst of [10, 25]) {
    for (const loss of [0.02, 0.1]) {
      const share = held(200, 5000, loss, burst) / 200;
      assert(share >= 0.91, `${share} at ${loss} in bursts of ${burst}`);
    }
  }
});

Deno.test("with 2,000 canary probes the estimate is within one percentage point", () => {
  for (const loss of [0.002, 0.01, 0.03]) {
    for (let seed = 1; seed <= 20; seed++) {
      const { share } = estimateLoss(tally(new Random(seed), 2000, loss))!;
      assert(Math.abs(share - loss) < 0.01, `${share} in place of ${loss}`);
    }
  }
});

/** A scan with some canary probes and two passes over servers. */
function scanned(random: Random, loss: number, canaries: number, servers: number) {
  const counts = tally(random, canaries, loss);
  let missed = 0;
  for (let i = 0; i < servers; i++) {
    const isFirstLost = random.chance(loss);
    if (!isFirstLost) counts.firstFound++;
    else if (random.chance(loss)) missed++;
    else counts.secondFound++;
  }
  return { counts, missed };
}

Deno.test("servers that only the second pass found show the loss, also with few canary probes", () => {
  for (const loss of [0, 0.02, 0.1, 0.36, 0.5]) {
    for (const [canaries, servers] of [[0, 400], [19, 400], [200, 40], [19, 5000]]) {
      let [loose, wrong, off] = [0, 0, 0];
      for (let seed = 1; seed <= 100; seed++) {
        const { counts, missed } = scanned(new Random(seed), loss, canaries, servers);
        const estimate = estimateLoss(counts);
        if (estimate === undefined) continue;
        const range = missedRange(counts.firstFound + counts.secondFound, estimate, 2);
        if (loss < estimate.low || loss > estimate.high) loose++;
        if (missed < range.low || missed > range.high) wrong++;
        off = Math.max(off, Math.abs(estimate.share - loss));
      }
      assert(loose <= 5 && wrong <= 5, `${loose} and ${wrong} of 100 at ${loss}, ${servers}`);
      if (servers >= 400) assert(off < 0.2, `${off} at ${loss} of ${servers}`);
    }
  }
  const { counts } = scanned(new Random(1), 0.36, 19, 400);
  const { low, high } = estimateLoss(counts)!;
  assert(high - low < 0.25, `${low} to ${high}`);
});

Deno.test("the estimate has the highest likelihood of all losses", () => {
  for (let seed = 1; seed <= 50; seed++) {
    const random = new Random(seed);
    const loss = random.below(60) / 100;
    const { counts } = scanned(random, loss, 50 + random.below(300), random.below(300));
    const { sent, lost, firstFound, secondFound } = counts;
    const likelihood = (p: number) =>
      (lost + secondFound) * Math.log(p) + (sent - lost) * Math.log1p(-p) -
      (firstFound + secondFound) * Math.log1p(p);
    const { share } = estimateLoss(counts)!;
    for (let p = 0.001; p < 1; p += 0.001) {
      if (share > 0) assert(likelihood(p) <= likelihood(share) + 1e-9, `${p} and ${share}`);
    }
  }
});

Deno.test("there is no estimate without observations, nor with so few that they show nothing", () => {
  assertEquals(estimateLoss(noCanaries()), undefined);
  assertEquals(estimateLoss({ ...noCanaries(), sent: 1 }), undefined);
  assertEquals(estimateLoss({ ...noCanaries(), firstFound: 8 }), undefined);
  const { share, low, high } = estimateLoss({ ...noCanaries(), firstFound: 30 })!;
  assertEquals([share, low], [0, 0]);
  assert(high > 0.1 && high < 0.2, `${high}`);
});

Deno.test("observations that exclude each other make the interval longer, not empty", () => {
  const counts = { ...noCanaries(), sent: 1000, lost: 10, firstFound: 1000, secondFound: 200 };
  const { share, low, high } = estimateLoss(counts)!;
  assert(low < 0.02 && high > 0.15 && low <= share && share <= high, `${low} to ${high}`);
});

Deno.test("observations that share hardly anything have an interval that contains both", () => {
  // The loss changed during the scan: 70 canary probes lost 1 to 3, the passes lost 9 to 20 %.
  for (const lost of [0, 1, 2, 3]) {
    for (let second = 20; second <= 60; second++) {
      const passes = estimateLoss({ ...noCanaries(), firstFound: 300, secondFound: second })!;
      const canaries = estimateLoss({ ...noCanaries(), sent: 70, lost })!;
      const counts = { ...noCanaries(), sent: 70, lost, firstFound: 300, secondFound: second };
      const { low, high } = estimateLoss(counts)!;
      const shorter = Math.min(passes.high - passes.low, canaries.high - canaries.low);
      const shown = `${lost} of 70, ${second} of ${300 + second}: ${low} to ${high}`;
      assert(high - low > shorter / 5, `${shown} is too short`);
      if (passes.low < canaries.high) continue;
      assert(low <= canaries.low && high >= passes.high, `${shown} lacks an observation`);
    }
  }
});

Deno.test("missedRange() has no negative numbers", () => {
  const { low, high } = missedRange(1, { low: 0.995, high: 0.999 }, 1);
  assert(low >= 0 && high > 999, `${low} to ${high}`);
});

Deno.test("missedServers() takes the number of passes into account", () => {
  assertAlmostEquals(missedServers(996, 0.004, 1), 4);
  assertAlmostEquals(missedServers(1000, 0.004, 2), 0.016, 1e-4);
  assertEquals(missedServers(1000, 0, 1), 0);
  assertEquals(missedServers(1000, 1, 4), Infinity);
  // By simulation: 100,000 servers, whose probes are lost at random in each of three passes.
  const random = new Random(4);
  let found = 0;
  for (let i = 0; i < 100_000; i++) {
    if (!random.chance(0.3) || !random.chance(0.3) || !random.chance(0.3)) found++;
  }
  const missed = missedServers(found, 0.3, 3);
  assert(Math.abs(missed - (100_000 - found)) < 0.05 * missed, `${missed} of ${100_000 - found}`);
});
