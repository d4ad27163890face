/** Covers src/sweep/rate/rate_level.ts. */
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { Random } from "../../../src/fleet/random.ts";
import { RateSearch } from "../../../src/sweep/rate/rate_search.ts";
import { longTest } from "../../long.ts";

interface Path {
  readonly seed: number;
  /** Rate and burst size of a policer: datagrams per second, datagrams. */
  readonly limit?: number;
  readonly bucket?: number;
  /** Loss of a round trip at any rate; then the time from which it applies. */
  readonly loss?: number;
  readonly lossFrom?: number;
  /** Number of servers for canary probes, one per second each. */
  readonly hosts?: number;
  /** Maximum rate of the machine, datagrams per second. */
  readonly machine?: number;
  /** Rate from which the system lacks buffer space, datagrams per second. */
  readonly room?: number;
  /** Returns the limit of the policer by time, seconds. */
  readonly later?: { readonly after: number; readonly limit: number };
  readonly most?: number;
  readonly seconds?: number;
}

const TICK_MS = 10;
const PATIENCE_MS = 250;

/** Runs a search on a simulated path; returns the rate in each second. */
function search(path: Path) {
  const { seed, loss = 0, lossFrom = 0, hosts = 2000, machine = Infinity, seconds = 31 } = path;
  const { most = 1e6, room = Infinity } = path;
  let limit = path.limit ?? Infinity;
  const bucket = path.bucket ?? Math.max(10, 0.02 * Math.max(limit, path.later?.limit ?? 0));
  const random = new Random(seed);
  const one = new RateSearch({ start: 1000, most }, 0);
  const queried: { at: number; lost: boolean }[] = [];
  const free = new Array<number>(hosts).fill(0);
  const rates: number[] = [];
  const reasons: string[] = [];
  let [tokens, credit, canaries, sum] = [bucket, 0, 0, 0];
  for (let now = 0; now < 1000 * seconds; now += TICK_MS) {
    if (now === 1000 * (path.later?.after ?? Infinity)) limit = path.later!.limit;
    credit += Math.min(one.rate, machine) * TICK_MS / 1000;
    const sent = Math.floor(credit);
    credit -= sent;
    sum += sent;
    tokens = Math.min(bucket, tokens + limit * TICK_MS / 1000);
    const dropped = Math.max(0, sent - tokens);
    tokens = Math.max(0, tokens - sent);
    const share = one.needsCanaries ? Math.min(0.1, Math.max(0.05, 200 / one.rate)) : 0.01;
    canaries = Math.min(8, canaries) + share * sent;
    for (; canaries >= 1 && free.length > 0 && free[0] <= now; canaries--) {
      free.shift();
      free.push(now + 1000);
      const usual = now >= 1000 * lossFrom && random.chance(loss);
      queried.push({ at: now, lost: random.chance(dropped / sent) || usual });
    }
    while (queried.length > 0 && queried[0].at <= now - PATIENCE_MS) {
      const { at, lost } = queried.shift()!;
      one.outcome(lost, at);
    }
    const full = one.rate > room ? sent / 10 : 0;
    one.step(now, sent, full, PATIENCE_MS);
    if (now % 1000 === 0) {
      rates.push(one.rate);
      reasons.push(one.report.reason);
    }
  }
  return { report: one.report, rates, reasons, sum };
}

for (const loss of [0, 0.03, 0.06]) {
  for (const limit of [1700, 5000, 20_000, 47_000, 90_000]) {
    longTest(`the limit of ${limit} is found in 30 s with a loss of ${loss} at any rate`, () => {
      let near = 0;
      for (let seed = 1; seed <= 20; seed++) {
        const { report: { rate } } = search({ seed, limit, loss });
        assert(rate > 0.7 * limit && rate < 1.25 * limit, `${rate}`);
        if (Math.abs(rate / limit - 1) <= 0.1) near++;
      }
      // A slower path, and a higher loss at any rate, leave less information in that time.
      const least = limit < 2000 && loss > 0.03 ? 15 : 18;
      assert(near >= least, `${near} of 20 within a tenth`);
    });
  }
}

Deno.test("a limit below the first rate is found", () => {
  for (let seed = 1; seed <= 10; seed++) {
    const { report: { rate } } = search({ seed, limit: 300, seconds: 61 });
    assert(rate > 200 && rate < 400, `${rate}`);
  }
});

Deno.test("loss at any rate does not limit the rate", () => {
  for (const loss of [0.03, 0.1, 0.3]) {
    for (let seed = 1; seed <= 10; seed++) {
      const { report } = search({ seed, loss, most: 50_000, seconds: 61 });
      assertEquals([report.rate, report.reason], [50_000, "limit"], `${loss}, seed ${seed}`);
      assertAlmostEquals(report.usualLoss!, loss, 0.05);
    }
  }
});

Deno.test("loss that begins at any rate is not taken for a limit", () => {
  for (let seed = 1; seed <= 10; seed++) {
    const { rates } = search({
      seed,
      limit: 20_000,
      loss: 0.08,
      lossFrom: 20,
      seconds: 121,
    });
    const mean = rates.slice(60).reduce((sum, rate) => sum + rate) / (rates.length - 60);
    assert(mean > 16_000 && mean < 22_000, `${mean}`);
  }
});

Deno.test("a limit that decreases or increases is found again", () => {
  for (let seed = 1; seed <= 10; seed++) {
    const lower = search({ seed, limit: 20_000, later: { after: 40, limit: 8000 }, seconds: 71 });
    assert(Math.abs(lower.report.rate / 8000 - 1) <= 0.15, `${lower.report.rate}`);
    const higher = search({ seed, limit: 8000, later: { after: 30, limit: 20_000 }, seconds: 111 });
    assert(Math.abs(higher.report.rate / 20_000 - 1) <= 0.15, `${higher.report.rate}`);
  }
});

Deno.test("the report has the reason `loss` and both losses", () => {
  const { report } = search({ seed: 3, limit: 20_000, loss: 0.03 });
  assertEquals(report.reason, "loss");
  assert(report.lossAt! > 20_000 && report.lossThere! > report.usualLoss! + 0.02);
});

Deno.test("a limit of the machine or of caps ends the search", () => {
  const { report, rates } = search({ seed: 3, machine: 9300 });
  assertEquals(report.reason, "sender");
  assert(Math.abs(report.rate / 9300 - 1) < 0.1 && Math.max(...rates) <= 16_000, `${report.rate}`);
});

Deno.test("a lack of buffer space lowers the rate, but not to zero", () => {
  const { report, rates } = search({ seed: 3, room: 12_000, seconds: 61 });
  assertEquals(report.reason, "buffers");
  assert(report.rate > 8000 && report.rate <= 12_000, `${report.rate}`);
  assert(Math.min(...rates.slice(15)) > 8000);
});

Deno.test("without canary probes no other rate is tried", () => {
  for (const hosts of [0, 1]) {
    const { report, rates } = search({ seed: 3, hosts });
    assertEquals([report.rate, report.reason, Math.max(...rates)], [1000, "unknown", 1000]);
  }
});

Deno.test("no rate above the highest allowed one is tried, not even at the start", () => {
  const { rates, report } = search({ seed: 3, most: 5300 });
  assertEquals([Math.max(...rates), report.reason], [5300, "limit"]);
  assertEquals(Math.max(...search({ seed: 3, most: 40 }).rates), 40);
});

Deno.test("the search itself causes little loss", () => {
  const { rates, sum } = search({ seed: 3, limit: 20_000, loss: 0.03, seconds: 300 });
  const over = rates.reduce((all, rate) => all + Math.max(0, rate - 20_000), 0);
  assert(over < 0.02 * sum, `${over} of ${sum}`);
});

Deno.test("the report has the reason `searching` from the first outcomes until a rate is found, and after a loss", () => {
  const { reasons } = search({
    seed: 3,
    limit: 20_000,
    later: { after: 40, limit: 5000 },
    seconds: 61,
  });
  const order = reasons.filter((reason, i) => reason !== reasons[i - 1]);
  assertEquals(order.slice(0, 5), ["unknown", "searching", "loss", "searching", "loss"]);
  assert(reasons.indexOf("searching") <= 2 && reasons[39] === "loss", reasons.join());
  assert(reasons.slice(40, 44).includes("searching"), reasons.join());
});
