/** How good the estimates of the number of servers are. */
import type { Estimate } from "../../src/discovery/contract.ts";
import { type Case, decimals, mean, print } from "./case.ts";
import { Run } from "./explore.ts";
import { createWorld, DEFAULT, SIZE, type World } from "./world.ts";

const BUDGETS = [0.05, 0.1, 0.25];

/** An estimate beside the true number. */
interface Judged extends Estimate {
  readonly truth: number;
}

/** The first estimate of a world, and those at the budgets. */
function estimatesOf(world: World): Judged[] {
  const run = new Run({ world, budget: BUDGETS.at(-1)! * SIZE });
  const judged: Judged[] = [];
  while (run.step()) {
    const estimate = run.discovery.estimate(0);
    if (estimate === undefined) continue;
    const wanted = judged.length === 0 ? 0 : BUDGETS[judged.length - 1] * SIZE;
    if (run.discovery.spent >= wanted) {
      judged.push({ ...estimate, truth: truthOf(world, estimate) });
    }
  }
  return judged;
}

/** The number of servers on the default port, except in skipped /12s. */
function truthOf({ servers }: World, { skipped }: Estimate): number {
  const leftOut = new Set(skipped);
  const isCounted = (address: number) => !leftOut.has(address - address % 2 ** 20);
  return servers.filter(({ address, port }) => port === DEFAULT && isCounted(address)).length;
}

/** Estimates. */
export const estimates: Case = {
  purpose: "the estimated number of servers on the default port, beside the truth",
  seeds: Array.from({ length: 100 }, (_, i) => i + 1),
  run(seeds) {
    const all = seeds.map((seed) => estimatesOf(createWorld(seed)));
    const moments = ["first", ...BUDGETS.map((budget) => `${budget} A`)];
    const goals = moments.map((moment, i) => {
      const judged = all.map((one) => one[i]);
      const inside = judged.filter(({ low, high, truth }) => low <= truth && truth <= high).length;
      const ratios = judged.map(({ total, truth }) => total / truth);
      const widths = judged.map(({ low, high, truth }) => (high - low) / truth);
      const skipped = judged.map((one) => one.skipped.length);
      const row = [moment, decimals(mean(ratios)), decimals(mean(widths)), mean(skipped), inside];
      return { row, figure: `of ${seeds.length} estimates inside, ${moment}`, value: inside };
    });
    print(
      `Estimates of ${seeds.length} worlds`,
      ["moment", "estimate ÷ truth", "width ÷ truth", "skipped /12s", "inside"],
      goals.map(({ row }) => row),
    );
    return goals.map(({ figure, value }) => ({ figure, value, least: 0.9 * seeds.length }));
  },
};
