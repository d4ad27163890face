/**
 * The end of a pass: its results are added to the counters of a protocol.
 *
 * @module
 */
import { bitCount } from "./counters/bit_sets.ts";
import type { IPv4Endpoint, PassResult } from "./contract.ts";
import { HostPortState } from "./counters/hosts.ts";
import { SLICES } from "./counters/hot_networks.ts";
import { networkClass, weightsOf } from "./counters/learned_rates.ts";
import { isPlanned } from "./pass/plan_space.ts";
import type { Planner } from "./planner.ts";

/** A server that was found, with the index of its port. */
interface Hit {
  readonly address: number;
  readonly port: number;
}

/** The servers that a planned pass found, by the unit that found them. */
interface FoundByUnit {
  /** For each /20, its cold /24s with servers, as bits. */
  readonly blocks: Map<number, number>;
  /** For each slice, its servers. */
  readonly slices: Map<number, number>;
  /** For each host, the servers on its planned ports. */
  readonly hosts: Map<number, number>;
}

/**
 * Ends the planned pass of a protocol. The order of the results has no effect: integers are added
 * in any order, and floats in the order of the units.
 *
 * @returns The number of new servers.
 */
export function foldPass(planner: Planner, result: PassResult): number {
  const before = planner.found;
  const ended = new Set(result.endedHosts);
  const hits = newHits(planner, result.hits, ended);
  const found = byUnit(planner, hits);
  foldCold(planner, found.blocks);
  foldSlices(planner, found.slices);
  foldHosts(planner, found.hosts, ended);
  planner.known.end((network) => planner.hot.spent[planner.hot.find(network)]++);
  planner.calibration.age();
  for (const hit of hits) addServer(planner, hit);
  for (const address of [...ended].sort((a, b) => a - b)) endHost(planner, address);
  for (const network of [...result.endedNetworks].sort((a, b) => a - b)) {
    endNetwork(planner, network);
  }
  return planner.found - before;
}

/** The hits on targets that were not found before, ascending; of an ended host at most one. */
function newHits(
  { universe, hosts, indexes }: Planner,
  endpoints: readonly IPv4Endpoint[],
  ended: ReadonlySet<number>,
): Hit[] {
  const hits: Hit[] = [];
  for (const { address, port } of endpoints) {
    const index = indexes.get(port);
    if (index !== undefined && universe.has(address)) hits.push({ address, port: index });
  }
  hits.sort((a, b) => a.address - b.address || a.port - b.port);
  return hits.filter(({ address, port }, i) => {
    const isRepeated = i > 0 && hits[i - 1].address === address &&
      (hits[i - 1].port === port || ended.has(address));
    if (isRepeated) return false;
    const host = hosts.find(address);
    if (host < 0) return true;
    if (hosts.state(host, port) === HostPortState.open) return false;
    const isEnded = ended.has(address) || hosts.ended[host] === 1;
    return !(isEnded && (hosts.others[host] > 0 || hosts.hasDefault(host)));
  });
}

/** Divides hits among the units of the pass. Late hits, of no unit, are left out. */
function byUnit(planner: Planner, hits: readonly Hit[]): FoundByUnit {
  const { universe, cold, hot, hosts, known, order, pass } = planner;
  const found: FoundByUnit = { blocks: new Map(), slices: new Map(), hosts: new Map() };
  const count = (counts: Map<number, number>, unit: number) =>
    counts.set(unit, 1 + (counts.get(unit) ?? 0));
  for (const { address, port } of hits) {
    if (!isPlanned(planner, address, port) || known.isPlanned(address, port)) continue;
    const network = Math.floor(address / 256);
    if (cold.isCold(network)) {
      const block = universe.indexOf(network >>> 4);
      found.blocks.set(block, (found.blocks.get(block) ?? 0) | 1 << (network & 15));
      continue;
    }
    const slice = pass.slices.find(
      hot.find(network),
      port,
      order.rank(network, port, address & 255),
    );
    if (slice >= 0) count(found.slices, slice);
    else count(found.hosts, hosts.find(address));
  }
  return found;
}

function foldCold({ cold, calibration }: Planner, found: ReadonlyMap<number, number>): void {
  for (let block = 0; block < cold.length; block++) {
    if (cold.ranks[block] === 0) continue;
    const probes = cold.probesOf(block, cold.ranks[block]);
    const score = cold.score(block);
    calibration.add(score, bitCount(found.get(block) ?? 0), score * probes);
    cold.advance(block, probes);
  }
}

function foldSlices(planner: Planner, found: ReadonlyMap<number, number>): void {
  const { hot, portRates, pass } = planner;
  let [before, rate, rateClass, many, unit] = [-1, 0, 0, 0, 0];
  pass.slices.forEach((row, port, length, probes) => {
    const servers = found.get(unit++) ?? 0;
    hot.spent[row] += probes;
    if (port === 0) {
      hot.tried[row] += length;
      return;
    }
    if (row !== before) {
      // as they were when the pass was planned
      before = row;
      rateClass = networkClass(hot.others[row], hot.finds[row]);
      rate = portRates.rate(hot.columnFinds[row], hot.exposure[row], rateClass);
      many = weightsOf(hot.others[row]);
    }
    if (hot.slices(row, port) < SLICES) {
      portRates.add(port, rate, rateClass, many, probes, servers);
      hot.columnFinds[row] += servers;
      hot.exposure[row] += probes * portRates.weights[many][port];
    }
    hot.addSlices(row, port, 1);
  });
  pass.slices.clear();
}

function foldHosts(
  { hot, hosts, hostRates, pass }: Planner,
  found: ReadonlyMap<number, number>,
  ended: ReadonlySet<number>,
): void {
  for (let i = 0; i < pass.hostCount; i++) {
    const host = pass.hosts[i];
    const probes = pass.endOf(i) - pass.starts[i];
    hot.spent[hot.find(Math.floor(hosts.addresses[host] / 256))] += probes;
    if (!ended.has(hosts.addresses[host])) {
      hostRates.add(pass.rateRows[i], probes, found.get(host) ?? 0);
    }
    for (let at = pass.starts[i]; at < pass.endOf(i); at++) {
      hosts.setState(host, pass.hostPorts[at], HostPortState.probed);
    }
  }
  pass.hostCount = pass.hostProbes = 0;
}

/** The row of a /24, which becomes hot if it is not. */
function rowOf(planner: Planner, network: number): number {
  const row = planner.hot.find(network);
  if (row >= 0) return row;
  const block = planner.cold.remove(network);
  return planner.addHot(network, planner.cold.tried[block]);
}

/** The index of a host, which is added if it is new. */
function hostOf({ hot, hosts }: Planner, row: number, address: number): number {
  const found = hosts.find(address);
  if (found >= 0) return found;
  const host = hosts.add(address, hot.firstHost[row]);
  hot.firstHost[row] = host + 1;
  return host;
}

function addServer(planner: Planner, { address, port }: Hit): void {
  const { hot, hosts, cold, universe } = planner;
  const network = Math.floor(address / 256);
  const isFirst = hot.find(network) < 0;
  const row = rowOf(planner, network);
  if (isFirst) cold.addFind(universe.indexOf(network >>> 4));
  const host = hostOf(planner, row, address);
  hosts.setState(host, port, HostPortState.open);
  if (port === 0) hot.finds[row]++;
  else {
    hot.others[row]++;
    hosts.others[host]++;
    hot.addCount(row, port);
  }
  planner.found++;
}

/**
 * Ends a host. Its probed ports are stored with the host, because slices that follow leave it out.
 * The servers on its ports are one, so that only the first of them remains.
 */
function endHost(planner: Planner, address: number): void {
  const { universe, hot, hosts, order, ports } = planner;
  if (!universe.has(address)) return;
  const network = Math.floor(address / 256);
  const row = rowOf(planner, network);
  const host = hostOf(planner, row, address);
  if (hosts.ended[host] === 1) return;
  let isFirst = true;
  for (let port = 0; port < ports.length; port++) {
    const state = hosts.state(host, port);
    const inSlice = order.rank(network, port, address & 255) < hot.probedRanks(row, port);
    if (state === HostPortState.unprobed && inSlice) {
      hosts.setState(host, port, HostPortState.probed);
    }
    if (state !== HostPortState.open) continue;
    if (!isFirst) removeServer(planner, row, host, port, inSlice);
    isFirst = false;
  }
  hosts.ended[host] = 1;
}

/** Removes a server on a port other than the default port from the counters. */
function removeServer(
  planner: Planner,
  row: number,
  host: number,
  port: number,
  inSlice: boolean,
): void {
  const { hot, hosts } = planner;
  hosts.setState(host, port, HostPortState.probed);
  hosts.others[host]--;
  hot.others[row]--;
  if (inSlice && hot.columnFinds[row] > 0) hot.columnFinds[row]--;
  let count = 0;
  for (let next = hot.firstHost[row]; next !== 0; next = hosts.next[next - 1]) {
    if (hosts.state(next - 1, port) === HostPortState.open) count++;
  }
  hot.setCount(row, port, count);
  planner.found--;
}

function endNetwork(planner: Planner, network: number): void {
  if (planner.universe.membersOf(network, new Uint32Array(8)) === 0) return;
  planner.hot.ended[rowOf(planner, network)] = 1;
}
