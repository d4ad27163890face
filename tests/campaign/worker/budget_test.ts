import { assertEquals } from "@std/assert";
import { Budget } from "../../../src/campaign/worker/budget.ts";

const LIMITS = {
  rates: { rate: 7, netRate: undefined, hostRate: undefined },
  capLoopback: false,
};

/** Number of packets that a budget grants in the second after some time. */
function granted({ throttle }: Budget, now: number): number {
  let count = 0;
  while (throttle.reserve(count, now) < now + 1000) count++;
  return count;
}

Deno.test("a worker has the share of each part that it scans", () => {
  let now = 0;
  const budget = new Budget(LIMITS, 80, 8, { now: () => now });
  const [first, second] = [budget.hold(), budget.hold()];
  assertEquals(granted(budget, now), 20);
  now = 10_000;
  second[Symbol.dispose]();
  assertEquals(granted(budget, now), 10);
  now = 20_000;
  first[Symbol.dispose]();
  budget.hold();
  assertEquals(granted(budget, now), 10);
});

Deno.test("a campaign without a rate has no limit", () => {
  const budget = new Budget(LIMITS, null, 8, { now: () => 0 });
  budget.hold();
  for (let i = 0; i < 10_000; i++) assertEquals(budget.throttle.reserve(i, 0), 0);
});
