/**
 * Addresses of servers in clusters. On the Internet most servers are alone in their /24, and few
 * networks of hosting companies contain many servers.
 *
 * @module
 */
import type { Range } from "../../targets/ranges.ts";
import type { Random } from "../random.ts";

/**
 * Prefix lengths at which a network's servers are divided among its parts, and the concentration of
 * the symmetric Dirichlet distribution that draws the shares: the smaller, the more unequal. The
 * values are fitted to a public list of Minecraft servers of 2026.
 */
const LEVELS: readonly (readonly [length: number, concentration: number])[] = [
  [8, 0.6],
  [12, 0.5],
  [14, 0.8],
  [16, 0.25],
  [20, 0.6],
  [22, 1.5],
  [24, 1.5],
];
/** Share of occupied /24s that are spread evenly. */
const EVENLY = 0.04;
/** Share of occupied /24s with one server. */
const ALONE = 0.82;
/** Maximum number of servers in a /24. */
const MAX_SERVERS = 180;
const NET_SIZE = 256;

/**
 * All addresses of a range, in random order: servers at the first ones are crowded. The order takes
 * the /24s by chance in proportion to their shares. It first has the cluster of each /24, and then
 * all other addresses.
 */
export function* crowdedAddresses(range: Range<number>, random: Random): Generator<number> {
  const nets = netsByChance(range, random).map((net) => ({
    addresses: shuffledAddresses(net, range, random),
    servers: clusterSize(random),
  }));
  for (const { addresses, servers } of nets) yield* addresses.slice(0, servers);
  for (const { addresses, servers } of nets) yield* addresses.slice(servers);
}

/** The /24s of a range by their first address, drawn without replacement by their shares. */
function netsByChance(range: Range<number>, random: Random): number[] {
  const { base, shares } = netShares(range, random);
  // The least of the waiting times with rates w1, w2, ... is the i-th with probability wi / sum.
  return shares.map((share, i) => ({ net: base + NET_SIZE * i, wait: exponential(random) / share }))
    .filter(({ net }) => net + NET_SIZE > range.start && net < range.end)
    .sort((a, b) => a.wait - b.wait).map(({ net }) => net);
}

/** Shares of occupied /24s in the smallest network of at most 24 bits that contains a range. */
function netShares(
  { start, end }: Range<number>,
  random: Random,
): { readonly base: number; readonly shares: readonly number[] } {
  let length = Math.min(24, Math.clz32(start ^ (end - 1)));
  const base = start - start % 2 ** (32 - length);
  let shares = [1];
  for (const [below, concentration] of LEVELS.filter(([level]) => level > length)) {
    const parts = 2 ** (below - length);
    shares = shares.flatMap((share) =>
      dirichlet(parts, concentration, random).map((part) => share * part)
    );
    length = below;
  }
  return { base, shares: shares.map((share) => (1 - EVENLY) * share + EVENLY / shares.length) };
}

/** A draw of a symmetric Dirichlet distribution: shares with the sum 1. */
function dirichlet(parts: number, concentration: number, random: Random): number[] {
  const draws = Array.from({ length: parts }, () => gamma(concentration, random));
  const sum = draws.reduce((all, one) => all + one);
  return draws.map((one) => one / sum);
}

/**
 * A draw of the gamma distribution with scale 1, by the method of Marsaglia and Tsang (2000): for
 * shape + 1, and then multiplied by a power of a uniform number.
 */
function gamma(shape: number, random: Random): number {
  const d = shape + 2 / 3;
  const c = 1 / Math.sqrt(9 * d);
  while (true) {
    const x = normal(random);
    const v = (1 + c * x) ** 3;
    if (v > 0 && exponential(random) > d * (v - 1 - Math.log(v)) - x * x / 2) {
      return d * v * uniform(random) ** (1 / shape);
    }
  }
}

/** Number of servers of an occupied /24: one, or two and more with a tail of a Lomax distribution. */
function clusterSize(random: Random): number {
  if (random.chance(ALONE)) return 1;
  const lomax = uniform(random) ** (-1 / 1.25) - 1;
  return Math.min(MAX_SERVERS, 2 + Math.floor(1.2 * lomax));
}

function shuffledAddresses(net: number, { start, end }: Range<number>, random: Random): number[] {
  const addresses: number[] = [];
  const last = Math.min(end, net + NET_SIZE);
  for (let address = Math.max(start, net); address < last; address++) {
    const at = random.below(addresses.length + 1);
    addresses.push(addresses[at]);
    addresses[at] = address;
  }
  return addresses;
}

/** A random number above 0 and below 1. */
function uniform(random: Random): number {
  return (random.u32() + 0.5) / 2 ** 32;
}

function exponential(random: Random): number {
  return -Math.log(uniform(random));
}

/** A draw of the standard normal distribution, by Box and Muller. */
function normal(random: Random): number {
  return Math.sqrt(2 * exponential(random)) * Math.cos(2 * Math.PI * uniform(random));
}
