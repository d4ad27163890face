/** Simpler ways to find the servers of a world, for comparison: the yield curve of each. */
import { mix } from "../../src/core/bits.ts";
import { defaultServers, type Yields } from "./case.ts";
import { Curve } from "./curve.ts";
import { DEFAULT, isLost, keyOf, PORTS, type Server, SIZE, type World } from "./world.ts";

/** A number from 0 to 1 for the place of an endpoint in a shuffled order. */
function placeOf({ seed }: World, { address, port }: Server): number {
  return (mix(mix(address ^ mix(seed + 1)) ^ port) >>> 0) / 2 ** 32;
}

/** The servers that reply to the first probe. */
function replying(world: World): readonly Server[] {
  return world.servers.filter((one) => !isLost(world, one, 0));
}

/** Puts endpoints into lists by a number. */
function groupsOf(servers: readonly Server[], of: (one: Server) => number): Map<number, Server[]> {
  return Map.groupBy(servers, of);
}

const networkOf = ({ address }: Server) => Math.floor(address / 256);
const isDefault = ({ port }: Server) => port === DEFAULT;

/** All ports of all addresses, in a shuffled order. */
export function uniform(world: World): Curve {
  const all = PORTS.length * SIZE;
  return Curve.of(replying(world).map((one) => placeOf(world, one) * all));
}

/** An even sweep of the default port: all addresses in a shuffled order. */
export function defaultSweep(world: World): Curve {
  return Curve.of(replying(world).filter(isDefault).map((one) => placeOf(world, one) * SIZE));
}

/**
 * An even sweep of the default port, then the other ports of the /24s that have servers, those with
 * the most servers first.
 */
export function evenSweep(world: World): Curve {
  const hits = replying(world);
  const usual = hits.filter(isDefault);
  const networks = [...groupsOf(usual, networkOf)].sort(([, a], [, b]) => b.length - a.length);
  const order = new Map(networks.map(([network], i) => [network, i]));
  const visit = 256 * (PORTS.length - 1);
  const times = hits.flatMap((one) => {
    if (isDefault(one)) return [placeOf(world, one) * SIZE];
    const at = order.get(networkOf(one));
    return at === undefined ? [] : [SIZE + (at + placeOf(world, one)) * visit];
  });
  return Curve.of(times);
}

/**
 * The expansion of hits: an even sweep of the default port, where a hit is followed at once by the
 * rest of its /24. With `ports`, the other ports of each host that was found follow too.
 */
export function expansion(world: World, ports: boolean): Curve {
  const hits = replying(world);
  const networks = groupsOf(hits.filter(isDefault), networkOf);
  const others = groupsOf(hits.filter((one) => !isDefault(one)), ({ address }) => address);
  const order = hits.filter(isDefault).map((one) => ({ one, place: placeOf(world, one) }))
    .sort((a, b) => a.place - b.place);
  const expanded = new Set<number>();
  const times: number[] = [];
  let [probes, last] = [0, 0];
  for (const { one, place } of order) {
    if (expanded.has(networkOf(one))) continue;
    probes += (place - last) * (SIZE - 256 * expanded.size);
    last = place;
    expanded.add(networkOf(one));
    const found = networks.get(networkOf(one))!;
    times.push(...found.map(() => probes));
    probes += 256 * (1 - place);
    for (const { address } of ports ? found : []) {
      times.push(...(others.get(address) ?? []).map(() => probes));
      probes += PORTS.length - 1;
    }
  }
  return Curve.of(times);
}

/**
 * An oracle that was told the number of servers in each /16 on each port: it probes the densest
 * first.
 */
export function oracle(world: World, ports: readonly number[]): Curve {
  const hits = replying(world).filter(({ port }) => ports.includes(port));
  const units = [
    ...groupsOf(hits, ({ address, port }) => keyOf(address - address % 65536, port)).values(),
  ]
    .sort((a, b) => b.length - a.length);
  return Curve.of(
    units.flatMap((unit, i) => unit.map((one) => (i + placeOf(world, one)) * 65536)),
  );
}

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
