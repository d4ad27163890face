import { assertAlmostEquals } from "@std/assert";
import { ColdCosts } from "../../../src/discovery/pass/cold_costs.ts";
import { chance } from "../small_world.ts";

Deno.test("the sums by level are the costs of all networks, each at most its maximum", () => {
  const costs = new ColdCosts();
  const blocks = Array.from({ length: 3000 }, (_, i) => ({
    numerator: 0.25 + Math.floor(4 * chance(i, 1) ** 4),
    divisor: 500 + 20_000 * chance(i, 2),
    most: 16 * (1 + Math.floor(64 * chance(i, 3))),
  }));
  for (const { numerator, divisor, most } of blocks) costs.add(numerator, divisor, most);
  costs.accumulate();
  for (let score = 1e-6; score < 0.01; score *= 1.37) {
    const expected = blocks.reduce(
      (sum, { numerator, divisor, most }) =>
        sum + Math.max(0, Math.min(most, numerator / score - divisor)),
      0,
    );
    // levels are 0.4 % apart, and a network's cost starts at a level
    assertAlmostEquals(costs.at(score), expected, 0.01 * expected + 500);
  }
});
