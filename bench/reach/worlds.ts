/** The worlds themselves, and the simpler ways to find their servers. */
import { type Case, decimals, inA, mean, print } from "./case.ts";
import type { Curve } from "./curve.ts";
import { defaultSweep, evenSweep, expansion, oracle, rateOracle, uniform } from "./rivals.ts";
import { createWorld, DEFAULT, PORTS, SIZE, type World } from "./world.ts";
import { figuresOf, WORLD_FIGURES } from "./world_figures.ts";

/** Budgets of the tables, in A. */
export const BUDGETS = [0.01, 0.05, 0.1, 0.25, 0.5];
/** The heads of a table of yields. */
export const YIELD_HEAD = [...BUDGETS.map((budget) => `${budget} A`), "90 % at (A)"];

/** A way to find the servers of a world. */
export type Way = (world: World) => Curve;

/** Ways to find the servers on all ports. */
export const ALL_PORTS: Readonly<Record<string, Way>> = {
  "even sweep, then /24s with hits": evenSweep,
  "expansion of hits": (world) => expansion(world, true),
  "uniform": uniform,
  "oracle, /16 and port": (world) => oracle(world, PORTS),
};

/** Ways to find the servers on the default port. */
export const DEFAULT_PORT: Readonly<Record<string, Way>> = {
  "even sweep": defaultSweep,
  "expansion of hits": (world) => expansion(world, false),
  "oracle, /16": (world) => oracle(world, [DEFAULT]),
  "oracle, rates of /24s": rateOracle,
};

/** The shares of servers at the budgets, and the budget for 90 %, in A. */
export function yieldsOf(curve: Curve, servers: number): number[] {
  const shares = BUDGETS.map((budget) => curve.at(budget * SIZE) / servers);
  return [...shares, curve.reach(0.9 * servers) / SIZE];
}

/** Formats the mean of yields of several worlds. */
export function yieldRow(name: string, yields: readonly (readonly number[])[]): string[] {
  const means = yields[0].map((_, i) => mean(yields.map((one) => one[i])));
  return [name, ...decimals(means.slice(0, -1)), inA(means.at(-1)! * SIZE)];
}

/** Number of servers on the default port. */
export function defaultServers({ servers }: World): number {
  return servers.filter(({ port }) => port === DEFAULT).length;
}

/** Prints the figures of worlds. */
export const world: Case = {
  purpose: "how servers crowd in the worlds, beside a real list",
  run(seeds) {
    const figures = seeds.map((seed) => figuresOf(createWorld(seed)));
    const rows = Object.entries(WORLD_FIGURES).map(([name, [real, title]]) => [
      title,
      ...decimals([mean(figures.map((one) => one[name as keyof typeof WORLD_FIGURES])), real]),
    ]);
    print("Worlds", ["figure", "made", "real"], rows);
    return true;
  },
};

/** Prints the yields of the simpler ways. */
export const rivals: Case = {
  purpose: "yields of an even sweep, of an expansion of hits and of oracles",
  run(seeds) {
    const worlds = seeds.map(createWorld);
    const rows = (ways: Readonly<Record<string, Way>>, count: (world: World) => number) =>
      Object.entries(ways).map(([name, way]) =>
        yieldRow(name, worlds.map((one) => yieldsOf(way(one), count(one))))
      );
    const all = rows(ALL_PORTS, ({ servers }) => servers.length);
    print("Share of the servers on all ports", ["way", ...YIELD_HEAD], all);
    const usual = rows(DEFAULT_PORT, defaultServers);
    print("Share of the servers on the default port", ["way", ...YIELD_HEAD], usual);
    return true;
  },
};
