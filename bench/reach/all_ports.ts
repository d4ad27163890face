/** How many servers are found on all ports and on the default port, cold. */
import {
  BUDGETS,
  budgetsFor90,
  type Case,
  decimals,
  defaultServers,
  type Goal,
  mean,
  print,
  printYields,
  shareAt,
  type Yields,
} from "./case.ts";
import { type Exploration, Run } from "./explore.ts";
import { rivalsOnAllPorts, rivalsOnDefaultPort } from "./rivals.ts";
import { createWorld, DEFAULT, SIZE } from "./world.ts";

/** The usual maximum number of probes to a /24. */
export const NET_BUDGET = 16_384;
/** Minimum shares of the servers on all ports at the budgets. */
const LEAST = [0.09, 0.36, 0.54, 0.75, 0.85];

/** Prints times of plans. */
function printPlans(runs: readonly Run[]): Goal {
  const means = runs.map(({ passes }) => mean(passes.map(({ planMs }) => planMs)));
  const rows = runs.map(({ passes, discovery, replies }, i) => [
    decimals(means[i]),
    decimals(Math.max(...passes.map(({ planMs }) => planMs))),
    passes.length,
    discovery.bytes,
    replies.repeated,
  ]);
  print("Plans", ["CPU ms a pass", "most", "passes", "bytes", "probes of found servers"], rows);
  return { figure: "plan, CPU ms a pass", value: Math.max(...means), most: 50 };
}

/** The lowest ratio of the servers of one way to those of another after 0.01 A, in any world. */
function lowestRatio(one: Yields, other: Yields): number {
  const points = Array.from({ length: 50 }, (_, i) => 0.01 * (i + 1));
  return Math.min(
    ...one.curves.flatMap((curve, i) =>
      points.map((budget) => curve.at(budget * SIZE) / other.curves[i].at(budget * SIZE))
    ),
  );
}

/** All ports. */
export const all: Case = {
  purpose: "all ports, without caps and with them, beside simpler ways",
  run(seeds) {
    const worlds = seeds.map(createWorld);
    const servers = worlds.map((world) => world.servers.length);
    const until = { share: 0.9, budget: 1.2 * SIZE };
    const explore = (options: Partial<Exploration>) =>
      worlds.map((world) => Run.of({ world, budget: 0.5 * SIZE, until, ...options }));
    const yields = (name: string, runs: readonly Run[]): Yields => ({
      name,
      curves: runs.map((run) => run.all),
      servers,
    });
    const runs = explore({});
    const adaptive = yields("adaptive, no caps", runs);
    const netBudget = NET_BUDGET;
    const others = rivalsOnAllPorts(worlds);
    printYields("Share of the servers on all ports", [
      adaptive,
      yields("adaptive, 16,384 probes to a /24", explore({ netBudget })),
      yields("the same, and rate caps", explore({ netBudget, isCapped: true })),
      ...others,
    ]);
    const ends = budgetsFor90(adaptive);
    return [
      { figure: "90 % of all ports, A", value: mean(ends), most: 0.8 },
      ...BUDGETS.map((budget, i) => ({
        figure: `share of all ports at ${budget} A`,
        value: shareAt(adaptive, budget),
        least: LEAST[i],
      })),
      {
        figure: "least ratio to the even sweep",
        value: lowestRatio(adaptive, others[0]),
        least: 1,
      },
      printPlans(runs),
    ];
  },
};

/** The default port alone. */
export const usual: Case = {
  purpose: "the default port alone, beside simpler ways",
  run(seeds) {
    const worlds = seeds.map(createWorld);
    const servers = worlds.map(defaultServers);
    const runs = worlds.map((world) => Run.of({ world, budget: 0.5 * SIZE, ports: [DEFAULT] }));
    const adaptive = { name: "adaptive", curves: runs.map((run) => run.usual), servers };
    const others = rivalsOnDefaultPort(worlds);
    printYields("Share of the servers on the default port", [adaptive, ...others]);
    return [
      ...[[0.1, 0.62], [0.25, 0.8], [0.5, 0.91]].map(([budget, least]) => ({
        figure: `share of the default port at ${budget} A`,
        value: shareAt(adaptive, budget),
        least,
      })),
      {
        figure: "least ratio to the even sweep",
        value: lowestRatio(adaptive, others[0]),
        least: 1,
      },
    ];
  },
};
