/** The worlds themselves, and the simpler ways to find their servers. */
import {
  type Case,
  decimals,
  defaultServers,
  mean,
  print,
  printYields,
  type Yields,
} from "./case.ts";
import type { Curve } from "./curve.ts";
import { defaultSweep, evenSweep, expansion, oracle, rateOracle, uniform } from "./rivals.ts";
import { createWorld, DEFAULT, PORTS, type World } from "./world.ts";
import { figuresOf, WORLD_FIGURES } from "./world_figures.ts";

/** A way to find the servers of a world. */
type Way = (world: World) => Curve;

const ALL_PORTS: Readonly<Record<string, Way>> = {
  "even sweep, then /24s with hits": evenSweep,
  "expansion of hits": (world) => expansion(world, true),
  "uniform": uniform,
  "oracle, /16 and port": (world) => oracle(world, PORTS),
};

const DEFAULT_PORT: Readonly<Record<string, Way>> = {
  "even sweep": defaultSweep,
  "expansion of hits": (world) => expansion(world, false),
  "oracle, /16": (world) => oracle(world, [DEFAULT]),
  "oracle, rates of /24s": rateOracle,
};

/** The yields of simpler ways on all ports. */
export function rivalsOnAllPorts(worlds: readonly World[]): Yields[] {
  const servers = worlds.map((world) => world.servers.length);
  return Object.entries(ALL_PORTS).map(([name, way]) => ({
    name,
    curves: worlds.map(way),
    servers,
  }));
}

/** The yields of simpler ways on the default port. */
export function rivalsOnDefaultPort(worlds: readonly World[]): Yields[] {
  const servers = worlds.map(defaultServers);
  return Object.entries(DEFAULT_PORT).map(([name, way]) => ({
    name,
    curves: worlds.map(way),
    servers,
  }));
}

/** Prints the figures of worlds. */
export const world: Case = {
  purpose: "how servers crowd in the worlds, beside a real list",
  run(seeds) {
    const figures = seeds.map((seed) => figuresOf(createWorld(seed)));
    const rows = Object.entries(WORLD_FIGURES).map(([name, [real, title]]) => {
      const made = mean(figures.map((one) => one[name as keyof typeof WORLD_FIGURES]));
      return [title, decimals(made), decimals(real)];
    });
    print("Worlds", ["figure", "made", "real"], rows);
    return [];
  },
};

/** Prints the yields of the simpler ways. */
export const rivals: Case = {
  purpose: "yields of an even sweep, of an expansion of hits and of oracles",
  run(seeds) {
    const worlds = seeds.map(createWorld);
    printYields("Share of the servers on all ports", rivalsOnAllPorts(worlds));
    printYields("Share of the servers on the default port", rivalsOnDefaultPort(worlds));
    return [];
  },
};
