/**
 * Addresses of both families in one set.
 *
 * @module
 */
import { type Address, family } from "../core/address.ts";
import type { Endpoints } from "../core/endpoints.ts";
import { type Range, RangeSet } from "./ranges.ts";

/** A set of addresses, IPv4 and IPv6. */
export class AddressSet {
  readonly #families: Readonly<Record<4 | 6, RangeSet<Address>>>;

  /** The union of ranges. */
  constructor(ranges: Iterable<Range>) {
    const all = [...ranges];
    const of = (bits: 4 | 6) => RangeSet.of(all.filter(({ start }) => family(start) === bits));
    this.#families = { 4: of(4), 6: of(6) };
  }

  /** Whether the address is in it. */
  has(address: Address): boolean {
    return this.#families[family(address)].has(address);
  }

  /** Whether the address of an endpoint of a row is in it. */
  hasAt(endpoints: Endpoints, i: number): boolean {
    const set = this.#families[endpoints.family(i)];
    return set.length > 0 && set.has(endpoints.address(i));
  }
}
