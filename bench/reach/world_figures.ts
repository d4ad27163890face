/** Figures that describe how the servers of a world crowd, for comparison with real ones. */
import { DEFAULT, SIZE, type World } from "./world.ts";

/** The figures, each with that of a real list of July 2026 (181,071 endpoints on 201 ports). */
export const WORLD_FIGURES = {
  defaultShare: [0.663, "share of servers on the default port"],
  perNetwork: [1.74, "of them, servers in each occupied /24"],
  single: [0.82, "share of occupied /24s that have one"],
  crowded: [0.26, "share in /24s with 10 or more"],
  occupied16: [0.264, "share of /16s that are occupied"],
  densest05: [0.46, "share in the densest 0.5 % of /16s"],
  densest1: [0.55, "share in the densest 1 %"],
  densest5: [0.76, "share in the densest 5 %"],
  densest10: [0.87, "share in the densest 10 %"],
  densest25: [0.99, "share in the densest 25 %"],
  sibling23: [0.21, "chance that a /24 is occupied if the other half of its /23 is"],
  sibling20: [0.15, "the same for a /24 in the other half of the /20"],
  sibling16: [0.08, "the same for the /16"],
  sibling14: [0.017, "the same for the /14"],
  onDefaultHosts: [0.41, "share of other ports on hosts that use the default port too"],
  perOtherHost: [3.4, "servers on each host without the default port"],
  inLarge: [0.58, "share of other ports in /24s with 50 or more of them"],
  inFour: [0.9, "share of other ports in /24s with 4 or more servers"],
} as const satisfies Readonly<Record<string, readonly [number, string]>>;

/** Numbers of servers by number of a network or host. */
type Counts = ReadonlyMap<number, number>;

/** Counts numbers. */
function countsOf(numbers: readonly number[]): Counts {
  const counts = new Map<number, number>();
  for (const one of numbers) counts.set(one, (counts.get(one) ?? 0) + 1);
  return counts;
}

const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);

/** The chance that a /24 is occupied if one in the other half of its network is. */
function sibling(occupied: readonly number[], prefix: number): number {
  const [whole, half] = [2 ** (24 - prefix), 2 ** (23 - prefix)];
  const networks = countsOf(occupied.map((one) => Math.floor(one / whole)));
  const halves = countsOf(occupied.map((one) => Math.floor(one / half)));
  const pairs = occupied.map((one) =>
    networks.get(Math.floor(one / whole))! - halves.get(Math.floor(one / half))!
  );
  return sum(pairs) / (occupied.length * half);
}

/** The figures of a world. */
export function figuresOf({ servers }: World): Record<keyof typeof WORLD_FIGURES, number> {
  const usual = servers.filter(({ port }) => port === DEFAULT).map(({ address }) => address);
  const others = servers.filter(({ port }) => port !== DEFAULT).map(({ address }) => address);
  const networkOf = (address: number) => Math.floor(address / 256);
  const networks = countsOf(usual.map(networkOf));
  const sizes = [...networks.values()];
  const ranked = [...countsOf(usual.map((one) => Math.floor(one / 65536))).values()]
    .sort((a, b) => b - a);
  const densest = (share: number) =>
    sum(ranked.slice(0, Math.round(share * SIZE / 65536))) / usual.length;
  const hosts = new Set(usual);
  const onOthers = others.filter((one) => !hosts.has(one));
  const otherCounts = countsOf(others.map(networkOf));
  const allCounts = countsOf([...usual, ...others].map(networkOf));
  const otherShare = (counts: Counts, least: number) =>
    others.filter((one) => counts.get(networkOf(one))! >= least).length / others.length;
  const occupied = [...networks.keys()];
  return {
    defaultShare: usual.length / servers.length,
    perNetwork: usual.length / networks.size,
    single: sizes.filter((size) => size === 1).length / networks.size,
    crowded: sum(sizes.filter((size) => size >= 10)) / usual.length,
    occupied16: ranked.length / (SIZE / 65536),
    densest05: densest(0.005),
    densest1: densest(0.01),
    densest5: densest(0.05),
    densest10: densest(0.1),
    densest25: densest(0.25),
    sibling23: sibling(occupied, 23),
    sibling20: sibling(occupied, 20),
    sibling16: sibling(occupied, 16),
    sibling14: sibling(occupied, 14),
    onDefaultHosts: 1 - onOthers.length / others.length,
    perOtherHost: onOthers.length / new Set(onOthers).size,
    inLarge: otherShare(otherCounts, 50),
    inFour: otherShare(allCounts, 4),
  };
}
