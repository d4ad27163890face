// deno-lint-ignore-file no-console
/**
 * Compares a crawl with polls at fixed intervals, over a simulated month in which servers go up and
 * down, without sockets. All have the same budget, and give to discovery what polls leave.
 *
 *     deno run -A bench/crawl.ts [--living 1000] [--seeds 3] [--budgets 0.6,1.1,7]
 *
 * The score is the share of the living servers that are listed as up, less the share of the listed
 * servers that are down. In the last rows the network of the crawl is down on day 15. Exits with 1
 * if the score of the crawl is more than half a point below the best interval, or not above it with
 * a budget of at most 1.1, or if an outage makes servers offline.
 */
import { drawMortals } from "./crawl/churn.ts";
import { type MonthResult, type Policy, runMonth } from "./crawl/policies.ts";
import { readOptions } from "./shared/options.ts";
import { table } from "./shared/table.ts";

const options = readOptions("a crawl beside fixed intervals, over a simulated month", {
  living: "1000",
  seeds: "3",
  budgets: "0.6,1.1,7",
});
const living = Number(options.living);
const seeds = Array.from({ length: Number(options.seeds) }, (_, i) => i + 1);
const HOUR = 3_600_000;
const POLICIES: readonly (readonly [name: string, policy: Policy])[] = [
  ["crawl", "law"],
  ["12 h", 12 * HOUR],
  ["1 d", 24 * HOUR],
  ["4 d", 96 * HOUR],
];
const worlds = seeds.map((seed) => drawMortals(living, seed));

const meanOf = (values: readonly number[]) => values.reduce((a, b) => a + b) / values.length;
const rows: (string | number)[][] = [];
const failures: string[] = [];

async function run(name: string, policy: Policy, budget: number, outage?: [number, number]) {
  const results: MonthResult[] = [];
  for (const mortals of worlds) {
    results.push(await runMonth({ mortals, living, policy, budget, outage }));
  }
  const mean = (value: (one: MonthResult) => number) => meanOf(results.map(value));
  const [listed, wrong] = [mean((one) => one.listed), mean((one) => one.wrong)];
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
  rows.push([
    String(budget),
    name,
    percent(listed),
    percent(wrong),
    percent(listed - wrong),
    mean((one) => one.polls).toFixed(2),
    mean((one) => one.discovery).toFixed(2),
    String(Math.round(mean((one) => one.found))),
  ]);
  return { score: listed - wrong, results };
}

for (const budget of options.budgets.split(",").map(Number)) {
  const scores: number[] = [];
  for (const [name, policy] of POLICIES) scores.push((await run(name, policy, budget)).score);
  const ahead = scores[0] - Math.max(...scores.slice(1));
  if (ahead < -0.005 || budget <= 1.1 && ahead <= 0) {
    failures.push(`budget ${budget}: the crawl is ${(100 * ahead).toFixed(2)} points ahead`);
  }
}
const { results } = await run("crawl, outage", "law", 1.1, [15, 16]);
const lost = results.flatMap(({ offline }) => offline.filter((at) => at >= 15 && at < 16)).length;
if (lost > 0) failures.push(`${lost} servers went offline during the outage`);

const head = ["BUDGET", "POLICY", "LISTED", "WRONG", "SCORE", "POLLS", "DISCOVERY", "FOUND"];
console.log(table(head, rows));
for (const failure of failures) console.log(failure);
Deno.exit(failures.length === 0 ? 0 : 1);
