/**
 * The addresses that opted out. An opt-out applies to all ports of an address.
 *
 * @module
 */
import type { Address } from "../../core/address.ts";
import { EndpointSet } from "../../core/endpoint_set.ts";
import type { Endpoints } from "../../core/endpoints.ts";
import type { HostFilter } from "../../targets/host_filter.ts";
import { AddressSet, distance, later, type Range } from "../../targets/ranges.ts";

/** The port number that stands for all ports of an address. */
const WHOLE_HOST = 0;
/** Maximum number of addresses that are added to a filter one by one. */
const MAX_ADDED = 65_536;

/** The addresses that opted out before or during a scan. */
export class OptedOutAddresses {
  #ranges: readonly Range[];
  #inRanges: AddressSet;
  readonly #since: EndpointSet;
  readonly #listeners: ((address: Address) => void)[] = [];

  /**
   * Creates the set of the addresses that opted out before the scan.
   *
   * @param seed 32 unpredictable bits.
   * @param filter The filter to which all addresses are added. Default: none.
   */
  constructor(before: Iterable<Range>, seed: number, private readonly filter?: HostFilter) {
    this.#ranges = [...before];
    this.#inRanges = new AddressSet(this.#ranges);
    this.#since = new EndpointSet(seed, filter);
    this.#addToFilter(this.#ranges);
  }

  #addToFilter(ranges: readonly Range[]): void {
    const { filter } = this;
    if (filter === undefined) return;
    const size = ranges.reduce((sum, { start, end }) => sum + distance(start, end), 0);
    if (size > MAX_ADDED) filter.addAll();
    for (const { start, end } of size > MAX_ADDED ? [] : ranges) {
      for (let i = 0; i < distance(start, end); i++) filter.add(later(start, i));
    }
  }

  /** Adds an address that opted out. */
  add(address: Address): void {
    this.#since.add({ address, port: WHOLE_HOST });
    for (const listener of this.#listeners) listener(address);
  }

  /**
   * Adds ranges that opted out.
   *
   * @param active The addresses with exchanges. The listeners are called for those in new ranges.
   */
  addRanges(ranges: readonly Range[], active: Iterable<Address>): void {
    const added = ranges.filter((range) => !this.#inRanges.covers(range));
    if (added.length === 0) return;
    this.#ranges = [...this.#ranges, ...added];
    this.#inRanges = new AddressSet(this.#ranges);
    this.#addToFilter(added);
    for (const address of new Set(active)) {
      if (!this.#inRanges.has(address)) continue;
      for (const listener of this.#listeners) listener(address);
    }
  }

  /** Calls a function for each address that is added, and for active ones in added ranges. */
  onAdd(listener: (address: Address) => void): void {
    this.#listeners.push(listener);
  }

  /** Whether an address opted out. */
  has(address: Address): boolean {
    return this.#since.has({ address, port: WHOLE_HOST }) || this.#inRanges.has(address);
  }

  /** Whether the address of a target in a batch opted out. */
  hasAt(targets: Endpoints, i: number): boolean {
    return this.#since.hasAt(targets, i, WHOLE_HOST) || this.#inRanges.hasAt(targets, i);
  }
}
