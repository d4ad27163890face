/** Discovery from an old list, in shards, and among hosts that reply on all ports. */
import { Random } from "../../src/fleet/random.ts";
import { compose } from "../../src/targets/compose.ts";
import { Shards } from "../../src/targets/shards.ts";
import type { RangeSet } from "../../src/targets/ranges.ts";
import { type Case, decimals, defaultServers, mean, print, printYields, shareAt } from "./case.ts";
import { Curve } from "./curve.ts";
import { Run } from "./explore.ts";
import { BASE, createWorld, monthOldList, partOf, SIZE, type World } from "./world.ts";

/** A list that is a month old. */
export const warm: Case = {
  purpose: "all ports, from a list that is a month old",
  seeds: [6, 7, 8],
  run(seeds) {
    const worlds = seeds.map(createWorld);
    const runs = worlds.map((world) =>
      Run.of({ world, budget: 0.25 * SIZE, known: monthOldList(world) })
    );
    const servers = worlds.map((world) => world.servers.length);
    const recheck = runs.map(({ passes }, i) => passes[0].result.hits.length / servers[i]);
    const all = { name: "all ports", curves: runs.map((run) => run.all), servers };
    const usual = {
      name: "default port",
      curves: runs.map((run) => run.usual),
      servers: worlds.map(defaultServers),
    };
    printYields(
      `Share of the servers from a list that is a month old; pass 0: ${decimals(mean(recheck))}`,
      [all, usual],
      [0.01, 0.05, 0.1, 0.25],
    );
    return [{ figure: "share from an old list at 0.1 A", value: shareAt(all, 0.1), least: 0.84 }];
  },
};

const SHARDS = 4;

/** The part of a world that a shard is. */
function shardsOf(world: World): World[] {
  const range = { start: BASE, end: BASE + SIZE };
  const targets = compose([{ range, port: undefined }], { never: [], private: [], chosen: [] });
  const parts = Shards.forDiscovery(targets, SHARDS, world.seed);
  return Array.from({ length: SHARDS }, (_, i) => {
    const [{ addresses }] = parts.cut(i + 1).groups;
    return partOf(world, addresses as RangeSet<number>);
  });
}

/** Shards. */
export const shards: Case = {
  purpose: "all ports in four shards that learn alone, beside one",
  run(seeds) {
    const worlds = seeds.map(createWorld);
    const servers = worlds.map((world) => world.servers.length);
    const explore = (world: World, budget: number) => Run.of({ world, budget }).all;
    const one = {
      name: "one",
      curves: worlds.map((world) => explore(world, 0.5 * SIZE)),
      servers,
    };
    const four = {
      name: "four shards",
      curves: worlds.map((world) =>
        Curve.sum(
          shardsOf(world).map((part) => explore(part, 0.5 * Number(part.addresses.size))),
          200,
        )
      ),
      servers,
    };
    printYields("Share of the servers on all ports", [one, four]);
    const difference = shareAt(one, 0.5) - shareAt(four, 0.5);
    return [{ figure: "shards below one at 0.5 A", value: difference, most: 0.04 }];
  },
};

/** 100 hosts and three /24s that reply on all ports. */
function aliasesOf({ seed }: World): Set<number> {
  const draws = new Random(seed);
  const hosts = Array.from({ length: 100 }, () => BASE + draws.below(SIZE));
  const networks = Array.from({ length: 3 }, () => BASE + 256 * draws.below(SIZE / 256));
  const members = networks.flatMap((start) => Array.from({ length: 256 }, (_, i) => start + i));
  return new Set([...hosts, ...members]);
}

/** Hosts that reply on all ports. */
export const aliases: Case = {
  purpose: "all ports, with 100 hosts and three /24s that reply on all ports",
  run(seeds) {
    const worlds = seeds.map(createWorld);
    const servers = worlds.map((world) => world.servers.length);
    const explore = (world: World, given?: Set<number>) =>
      Run.of({ world, budget: 0.3 * SIZE, isCapped: true, aliases: given });
    const plain = worlds.map((world) => explore(world));
    const among = worlds.map((world) => explore(world, aliasesOf(world)));
    const without = { name: "without them", curves: plain.map((run) => run.all), servers };
    const beside = { name: "with them", curves: among.map((run) => run.all), servers };
    printYields("Share of the servers on all ports", [without, beside], [0.05, 0.1, 0.3]);
    const rows = among.map(({ replies: { aliasPorts } }) => {
      const ports = [...aliasPorts.values()];
      return [ports.length, decimals(mean(ports)), Math.max(...ports)];
    });
    print("Ports probed of each such host", ["hosts", "mean", "most"], rows);
    const most = Math.max(...rows.map((row) => Number(row[2])));
    const difference = shareAt(without, 0.3) - shareAt(beside, 0.3);
    return [
      { figure: "most ports of a host that replies on all", value: most, most: 20 },
      { figure: "servers fewer among such hosts at 0.3 A", value: difference, most: 0.02 },
    ];
  },
};
