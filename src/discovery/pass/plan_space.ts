/**
 * The endpoints of a planned pass in shuffled order, as the sweep visits them.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import { Endpoints } from "../../core/endpoints.ts";
import { Permutation } from "../../targets/permutation.ts";
import type { ProbeSpace } from "../../targets/space.ts";
import { bitAt } from "../counters/bit_sets.ts";
import type { ColdCells } from "../counters/cold_cells.ts";
import type { HotPass } from "./hot_pass.ts";
import type { Hosts } from "../counters/hosts.ts";
import type { HotNetworks } from "../counters/hot_networks.ts";
import type { KnownTargets } from "./known_targets.ts";
import type { RankOrder } from "../counters/rank_order.ts";
import { type SliceEntry, SliceList } from "./slice_list.ts";
import type { Universe } from "../counters/universe.ts";

/** Number of /20s for which one sum is stored. */
const GROUP = 16;

/** A planned pass of one protocol. It may be used until the pass is folded. */
export interface PlannedUnits {
  /** The target addresses. */
  readonly universe: Universe;
  /** The ranks of cold /24s. */
  readonly cold: ColdCells;
  /** Slices and hosts. */
  readonly pass: HotPass;
  /** The hot /24s that the slices belong to. */
  readonly hot: HotNetworks;
  readonly hosts: Hosts;
  readonly known: KnownTargets;
  /** The order of addresses. */
  readonly order: RankOrder;
  /** The ports, the default port first. */
  readonly ports: readonly number[];
}

/** Where the parts of a pass begin. */
interface Starts {
  readonly partial: number;
  readonly slices: number;
  readonly hosts: number;
  readonly known: number;
}

/**
 * The endpoints of a pass. The permutation of the pass maps a position to a number. Numbers belong,
 * in this order, to /20s whose cold /24s are whole targets, cold /24s that are targets in part,
 * slices of hot /24s, ports of hosts, and known servers. Sums of their sizes before each group of 16
 * give the unit of a number.
 */
export class PlanSpace implements ProbeSpace {
  /** Number of endpoints. */
  readonly size: number;
  /** Cold /24s of which a part are targets, by their network. */
  readonly #partial = new SliceList();
  /** For each /20 whose cold /24s are whole targets, the endpoints of the pass in them. */
  readonly #probes: Uint16Array;
  /** The sums of these before each group. */
  readonly #sums: Uint32Array;
  readonly #starts: Starts;
  readonly #permutation: Permutation;
  readonly #entry: SliceEntry = { key: 0, port: 0, rank: 0 };
  readonly #one = new Endpoints(1);
  #numbers = new Float64Array(1);

  /**
   * Creates the space.
   *
   * @param seed Selects the order, with the number of the pass.
   */
  constructor(private readonly units: PlannedUnits, seed: number, pass: number) {
    const { cold, pass: { slices, hostProbes }, known } = units;
    this.#probes = new Uint16Array(cold.length);
    this.#sums = new Uint32Array(Math.ceil(cold.length / GROUP));
    let sum = 0;
    for (let block = 0; block < cold.length; block++) {
      if (block % GROUP === 0) this.#sums[block / GROUP] = sum;
      if (cold.ranks[block] === 0) continue;
      if (cold.isPartial(block)) this.#addPartial(block);
      else sum += this.#probes[block] = cold.probesOf(block, cold.ranks[block]);
    }
    const partial = sum;
    const first = partial + this.#partial.size;
    const hosts = first + slices.size;
    this.#starts = { partial, slices: first, hosts, known: hosts + hostProbes };
    this.size = this.#starts.known + known.planned;
    this.#permutation = new Permutation(this.size, seed, pass);
  }

  /**
   * The endpoint at a position.
   *
   * @param position 0 to `size` - 1.
   * @param target The object to write the endpoint into.
   */
  at(position: number, target: Endpoint): void {
    this.fill(position, 1, this.#one);
    target.address = this.#one.ipv4[0];
    target.port = this.#one.ports[0];
  }

  /**
   * Writes the endpoints at consecutive positions into the start of a list.
   *
   * @param from The first position.
   * @param count Number of positions, at most the list's capacity and `size` - `from`.
   */
  fill(from: number, count: number, targets: Endpoints): void {
    if (this.#numbers.length < count) this.#numbers = new Float64Array(count);
    const numbers = this.#numbers;
    for (let i = 0; i < count; i++) numbers[i] = from + i;
    this.#permutation.map(numbers, 0, count);
    const { partial, slices, hosts, known } = this.#starts;
    for (let i = 0; i < count; i++) {
      const number = numbers[i];
      if (number < partial) this.#writeWhole(number, i, targets);
      else if (number < slices) this.#writePartial(number - partial, i, targets);
      else if (number < hosts) this.#writeSlice(number - slices, i, targets);
      else if (number < known) this.#writeHost(number - hosts, i, targets);
      else this.units.known.write(number - known, i, targets);
    }
    targets.ipv6.fill(undefined, 0, count);
  }

  /** Whether the pass contains an endpoint. */
  has({ address, port }: Endpoint): boolean {
    if (typeof address !== "number") return false;
    const { units } = this;
    const index = units.ports.indexOf(port);
    if (index < 0 || !units.universe.has(address)) return false;
    return isPlanned(units, address, index);
  }

  /** Adds the targets in the planned ranks of each cold /24 of a /20. */
  #addPartial(block: number): void {
    const { universe, cold, order } = this.units;
    const bits = new Uint32Array(8);
    for (let rest = cold.networks[block]; rest !== 0; rest &= rest - 1) {
      const network = universe.blocks[block] * 16 + bitAt(rest, 0);
      universe.membersOf(network, bits);
      let [low, high] = [0, 0];
      for (let i = 0; i < cold.ranks[block]; i++) {
        const octet = order.octet(network, 0, cold.tried[block] + i);
        const isMember = bits[octet >> 5] >>> (octet & 31) & 1;
        if (i < 32) low |= isMember << i;
        else high |= isMember << i - 32;
      }
      this.#partial.add(network, 0, cold.tried[block], cold.ranks[block], low >>> 0, high >>> 0);
    }
  }

  #writeWhole(number: number, i: number, targets: Endpoints): void {
    const { universe, cold, order, ports } = this.units;
    let low = 0;
    for (let high = this.#sums.length; high - low > 1;) {
      const middle = low + high >>> 1;
      if (this.#sums[middle] <= number) low = middle;
      else high = middle;
    }
    let block = low * GROUP;
    let rest = number - this.#sums[low];
    while (rest >= this.#probes[block]) rest -= this.#probes[block++];
    // the /24s of the /20 in turn, all ranks of each
    const ranks = cold.ranks[block];
    const at = Math.floor(rest / ranks);
    const network = universe.blocks[block] * 16 + bitAt(cold.networks[block], at);
    const octet = order.octet(network, 0, cold.tried[block] + rest - at * ranks);
    targets.ipv4[i] = network * 256 + octet;
    targets.ports[i] = ports[0];
  }

  #writePartial(number: number, i: number, targets: Endpoints): void {
    this.#partial.locate(number, this.#entry);
    this.#write(this.#entry.key, i, targets);
  }

  #writeSlice(number: number, i: number, targets: Endpoints): void {
    this.units.pass.slices.locate(number, this.#entry);
    this.#write(this.units.hot.networks[this.#entry.key], i, targets);
  }

  #write(network: number, i: number, targets: Endpoints): void {
    const { port, rank } = this.#entry;
    targets.ipv4[i] = network * 256 + this.units.order.octet(network, port, rank);
    targets.ports[i] = this.units.ports[port];
  }

  #writeHost(number: number, i: number, targets: Endpoints): void {
    const { pass, hosts, ports } = this.units;
    let low = 0;
    for (let high = pass.hostCount; high - low > 1;) {
      const middle = low + high >>> 1;
      if (pass.starts[middle] <= number) low = middle;
      else high = middle;
    }
    targets.ipv4[i] = hosts.addresses[pass.hosts[low]];
    targets.ports[i] = ports[pass.hostPorts[number]];
  }
}

/** Whether a pass contains a target address on the port with an index. */
export function isPlanned(units: PlannedUnits, address: number, port: number): boolean {
  const { universe, cold, pass, hot, hosts, known, order } = units;
  if (known.isPlanned(address, port)) return true;
  const network = Math.floor(address / 256);
  const rank = order.rank(network, port, address & 255);
  if (port === 0 && cold.isCold(network)) {
    const block = universe.indexOf(network >>> 4);
    const at = rank - cold.tried[block];
    return at >= 0 && at < cold.ranks[block];
  }
  const row = hot.find(network);
  if (row < 0) return false;
  if (pass.slices.find(row, port, rank) >= 0) return true;
  const host = hosts.find(address);
  return host >= 0 && hosts.isPlanned(host, port);
}
