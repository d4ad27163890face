/**
 * Synthetic worlds of game servers in 240.0.0.0/4, which nobody uses. Servers crowd in them as they
 * do on the Internet: docs/reach.md compares the figures.
 */
import { mix } from "../../src/core/bits.ts";
import { Random } from "../../src/fleet/random.ts";
import { RangeSet } from "../../src/targets/ranges.ts";

/** The first address of all worlds. */
export const BASE = 0xf0000000;
/** Number of addresses of a world: one probe for each is the unit A. */
export const SIZE = 2 ** 28;
const NETWORKS = SIZE / 256;
/** The default port. */
export const DEFAULT = 25565;
/** The probed ports, the default port first: 100 on either side of it. */
export const PORTS: readonly number[] = [
  DEFAULT,
  ...Array.from({ length: 201 }, (_, i) => DEFAULT - 100 + i).filter((port) => port !== DEFAULT),
];
/** Share of the probes to a server that are lost. */
export const LOSS = 0.024;

/** Expected number of /24s with a server on the default port. */
const OCCUPIED = 6300;
/** Share of that number that is spread evenly. */
const EVEN = 0.04;
/** Dirichlet weights, from the /4 down: number of parts of each network, and the parameter. */
const TREE = [[16, 0.6], [16, 0.5], [4, 0.8], [4, 0.25], [16, 0.6], [4, 1.5], [4, 1.5]] as const;

/** A server: address and port. */
export interface Server {
  /** The address. */
  readonly address: number;
  /** The port. */
  readonly port: number;
}

/** A world. */
export interface World {
  /** Selects the world, the replies that are lost, and the order of probes. */
  readonly seed: number;
  /** Its addresses. */
  readonly addresses: RangeSet<number>;
  /** The expected number of occupied addresses of each /24, as it was drawn. */
  readonly rates: Float64Array;
  /** The servers, in the order in which they were drawn. */
  readonly servers: readonly Server[];
}

/** A number that is unique among the endpoints of a world. */
export function keyOf(address: number, port: number): number {
  return (address - BASE) * 65536 + port;
}

/**
 * Whether the reply of a server to a probe is lost, by a hash of the endpoint.
 *
 * @param before How many probes of the endpoint came before.
 */
export function isLost({ seed }: World, { address, port }: Server, before: number): boolean {
  return (mix(mix(mix(address ^ seed) ^ port) + before) >>> 0) / 2 ** 32 < LOSS;
}

/** Numbers of distributions. */
class Draws extends Random {
  /** A number in (0, 1]. */
  share(): number {
    return (this.u32() + 1) / 2 ** 32;
  }

  /** A Lomax (shifted Pareto) number from 0, with a shape. */
  lomax(shape: number): number {
    return this.share() ** (-1 / shape) - 1;
  }

  /** A gamma number with a shape and the scale 1 (Marsaglia and Tsang, 2000). */
  gamma(shape: number): number {
    if (shape < 1) return this.gamma(shape + 1) * this.share() ** (1 / shape);
    const d = shape - 1 / 3;
    for (;;) {
      const normal = Math.sqrt(-2 * Math.log(this.share())) * Math.cos(2 * Math.PI * this.share());
      const v = (1 + normal / Math.sqrt(9 * d)) ** 3;
      if (v > 0 && Math.log(this.share()) < normal * normal / 2 + d * (1 - v + Math.log(v))) {
        return d * v;
      }
    }
  }
}

/**
 * The expected number of servers of each /24. A network's number is split among its parts by
 * weights of a Dirichlet distribution, which are gamma numbers divided by their sum.
 */
function drawRates(draws: Draws): Float64Array {
  let rates = Float64Array.of((1 - EVEN) * OCCUPIED);
  for (const [parts, shape] of TREE) {
    const finer = new Float64Array(rates.length * parts);
    for (let i = 0; i < rates.length; i++) {
      const weights = Array.from({ length: parts }, () => draws.gamma(shape));
      const sum = weights.reduce((a, b) => a + b);
      for (let part = 0; part < parts; part++) {
        finer[i * parts + part] = rates[i] * weights[part] / sum;
      }
    }
    rates = finer;
  }
  return rates.map((rate) => rate + EVEN * OCCUPIED / NETWORKS);
}

/** The servers of one /24. */
function drawNetwork(draws: Draws, start: number): Server[] {
  const size = draws.chance(0.82) ? 1 : Math.min(180, 2 + Math.floor(1.2 * draws.lomax(1.25)));
  const keys = new Set<number>();
  const hosts = new Set<number>();
  while (hosts.size < size) hosts.add(start + draws.below(256));
  const add = (address: number, port: number) => keys.add(keyOf(address, port));
  for (const host of hosts) {
    add(host, DEFAULT);
    for (let port = DEFAULT + 1; port <= 25570; port++) {
      if (!draws.chance(port === DEFAULT + 1 ? 0.028 : 0.45)) break;
      add(host, port);
    }
  }
  if (draws.chance(size === 1 ? 0.022 : size < 10 ? 0.12 : 0.5)) {
    const others = Math.min(500, 1 + Math.floor(2.3 * draws.lomax(0.85)));
    for (let left = others; left > 0;) {
      const host = draws.chance(0.38) ? draws.pick([...hosts]) : start + draws.below(256);
      const ports = Math.min(left, 120, 1 + Math.floor(1.3 * draws.lomax(1.1)));
      for (const port of drawPorts(draws, ports)) add(host, port);
      left -= ports;
    }
  }
  return [...keys].map((key) => ({ address: BASE + Math.floor(key / 65536), port: key % 65536 }));
}

/** The other ports of a host: from the one after the default port or from anywhere, in a row or not. */
function drawPorts(draws: Draws, count: number): Set<number> {
  const ports = new Set<number>();
  const others = PORTS.slice(1).sort((a, b) => a - b);
  const first = draws.chance(0.55) ? others.indexOf(DEFAULT + 1) : draws.below(others.length);
  const isRow = draws.chance(0.6);
  ports.add(others[first]);
  for (let i = 1; ports.size < count; i++) {
    ports.add(others[isRow ? (first + i) % others.length : draws.below(others.length)]);
  }
  return ports;
}

/** The servers of a world with given rates. */
function drawServers(draws: Draws, rates: Float64Array): Server[] {
  const servers: Server[] = [];
  for (let i = 0; i < rates.length; i++) {
    if (draws.share() > 1 - Math.exp(-rates[i])) continue;
    for (const one of drawNetwork(draws, BASE + i * 256)) servers.push(one);
  }
  return servers;
}

/** Creates the world of a seed. */
export function createWorld(seed: number): World {
  const draws = new Draws(seed);
  const rates = drawRates(draws);
  const servers = drawServers(draws, rates);
  return { seed, addresses: RangeSet.of([{ start: BASE, end: BASE + SIZE }]), rates, servers };
}

/** The part of a world that certain addresses are. */
export function partOf(world: World, addresses: RangeSet<number>): World {
  const servers = world.servers.filter(({ address }) => addresses.has(address));
  return { ...world, addresses, servers };
}

/** Half days in a month. */
const MONTH = 60;

/** Whether a server that has been up for at most a month is up a month later. */
function outlasts(draws: Draws): boolean {
  let [isUp, age] = [true, 1 + draws.below(MONTH)];
  for (let i = 0; i < MONTH; i++) {
    const change = isUp ? 0.2 * age ** -0.85 + 0.012 : 0.36 * age ** -1.4;
    [isUp, age] = draws.chance(change) ? [!isUp, 1] : [isUp, age + 1];
  }
  return isUp;
}

/**
 * A list of a world's servers that is a month old. It contains the servers that lasted, and instead
 * of the others those that are gone: from a world with the same rates and other servers.
 */
export function monthOldList({ seed, rates, servers }: World): Server[] {
  const draws = new Draws(mix(seed ^ 0x6d6f6e));
  const lasted = servers.filter(() => outlasts(draws));
  const gone = drawServers(draws, rates).filter(() => !outlasts(draws));
  const known = new Set(servers.map(({ address, port }) => keyOf(address, port)));
  return [...lasted, ...gone.filter(({ address, port }) => !known.has(keyOf(address, port)))];
}
