/**
 * The endpoints that a scan probes, by protocol. Datagrams from any other endpoint are unsolicited.
 *
 * @module
 */
import { type Address, type Endpoint, family } from "../../core/address.ts";
import { segmentsOf, type Targets } from "../../targets/compose.ts";
import { lastNotAbove } from "../../targets/ranges.ts";
import { isWhole, type Segment, TargetSpace } from "../../targets/space.ts";
import type { ScanLimits, ScanSelection } from "../setup/scan_setup.ts";
import { planSuppression } from "../plan/suppression_plan.ts";

/** The options of a scan that decide which endpoints it probes. */
export interface Probing extends ScanSelection {
  /** The number of times that unresponsive targets are probed again. */
  readonly limits: Pick<ScanLimits, "retries">;
}

/** The targets of one protocol. */
interface Probes {
  /** The ports of each target group, ascending. */
  readonly ports: readonly (readonly number[])[];
  /** The positions of the pass, if a limit omits some; otherwise `undefined`. */
  readonly space: TargetSpace | undefined;
}

/**
 * The endpoints that a scan probes, by protocol. A lookup is at most two binary searches and the
 * lookup of an opt-out, and allocates nothing for IPv4. It is fast enough for every datagram that
 * arrives.
 */
export class ProbedEndpoints {
  readonly #groups: Readonly<Record<4 | 6, Groups>>;
  readonly #probes = new Map<string, Probes[]>();

  /**
   * Collects the targets of all passes, including detecting passes.
   *
   * @param withholds Returns whether all passes of a protocol skip an endpoint. Default: they skip
   * none.
   * @param optedOut The addresses that opted out, including later ones. Default: none.
   */
  constructor(
    private readonly options: Probing,
    private readonly withholds?: (endpoint: Endpoint, protocol: string) => boolean,
    private readonly optedOut?: { has(address: Address): boolean },
  ) {
    const { addresses, protocols, ports } = options.targets;
    this.#groups = { 4: new Groups(addresses, 4), 6: new Groups(addresses, 6) };
    for (const { name } of protocols) {
      this.#add(name, segmentsOf(addresses, (bits) => ports(name, bits)));
    }
    for (const { protocol, segments } of planSuppression(options)) {
      this.#add(protocol.name, segments);
    }
  }

  #add(protocol: string, segments: readonly Segment[]): void {
    const { order } = this.options;
    const space = isWhole(order) ? undefined : new TargetSpace(segments, order);
    const all = this.#probes.get(protocol) ?? [];
    this.#probes.set(protocol, all);
    all.push({ ports: segments.map(({ ports }) => ports.toSorted((a, b) => a - b)), space });
  }

  /** Whether endpoints of an address are probed. */
  hasHost(address: Address): boolean {
    return this.#groups[family(address)].of(address) >= 0 && !this.optedOut?.has(address);
  }

  /** Maximum number of probes that all passes together send to one host. */
  get maxProbes(): number {
    let most = 0;
    for (const all of this.#probes.values()) {
      for (const { ports } of all) {
        most += ports.reduce((sum, { length }) => Math.max(sum, length), 0);
      }
    }
    return most * (this.options.limits.retries + 1);
  }

  /** Whether an endpoint is probed in a protocol, or in any protocol if none is given. */
  has(endpoint: Endpoint, protocol?: string): boolean {
    const group = this.#groups[family(endpoint.address)].of(endpoint.address);
    if (group < 0 || this.optedOut?.has(endpoint.address)) return false;
    if (protocol !== undefined) {
      return isIn(this.#probes.get(protocol), group, endpoint) &&
        !this.withholds?.(endpoint, protocol);
    }
    for (const probes of this.#probes.values()) if (isIn(probes, group, endpoint)) return true;
    return false;
  }
}

function isIn(probes: readonly Probes[] | undefined, group: number, endpoint: Endpoint): boolean {
  if (probes === undefined) return false;
  for (const { ports: { [group]: ports }, space } of probes) {
    const at = lastNotAbove(ports, endpoint.port);
    if (at >= 0 && ports[at] === endpoint.port && (space?.has(endpoint) ?? true)) return true;
  }
  return false;
}

/** A lookup of the target group of an address, for one family. */
class Groups {
  readonly #starts: Address[];
  readonly #ends: Address[];
  readonly #numbers: Uint32Array;

  constructor({ groups }: Targets, bits: 4 | 6) {
    const starts: Address[] = [];
    const ends: Address[] = [];
    const numbers: number[] = [];
    for (const [number, { addresses }] of groups.entries()) {
      if (addresses.index.family !== bits) continue;
      for (const { start, end } of addresses) {
        starts.push(start);
        ends.push(end);
        numbers.push(number);
      }
    }
    const order = Array.from(starts.keys()).sort((a, b) => starts[a] < starts[b] ? -1 : 1);
    this.#starts = order.map((i) => starts[i]);
    this.#ends = order.map((i) => ends[i]);
    this.#numbers = Uint32Array.from(order, (i) => numbers[i]);
  }

  /** The index of an address's target group; -1: the address is not a target. */
  of(address: Address): number {
    const at = lastNotAbove(this.#starts, address);
    return at >= 0 && address < this.#ends[at] ? this.#numbers[at] : -1;
  }
}
