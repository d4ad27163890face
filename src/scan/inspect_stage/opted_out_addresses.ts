/**
 * Who asked to be left alone: whole addresses.
 *
 * @module
 */
import type { Address } from "../../core/address.ts";
import { EndpointSet } from "../../core/endpoint_set.ts";
import type { Endpoints } from "../../core/endpoints.ts";
import { AddressSet, type Range } from "../../targets/ranges.ts";

/** Stands for all ports of an address. */
const WHOLE_HOST = 0;

/** The addresses that opted out before a scan, and in it. */
export class OptedOutAddresses {
  readonly #before: AddressSet;
  readonly #since: EndpointSet;

  /**
   * Starts with those of before.
   *
   * @param seed 32 bits that nobody can guess.
   */
  constructor(before: Iterable<Range>, seed: number) {
    this.#before = new AddressSet(before);
    this.#since = new EndpointSet(seed);
  }

  /** Adds one. */
  add(address: Address): void {
    this.#since.add({ address, port: WHOLE_HOST });
  }

  /** Whether an address opted out. */
  has(address: Address): boolean {
    return this.#since.has({ address, port: WHOLE_HOST }) || this.#before.has(address);
  }

  /** The same of a target in a row. */
  hasAt(targets: Endpoints, i: number): boolean {
    return this.#since.hasAt(targets, i, WHOLE_HOST) || this.#before.hasAt(targets, i);
  }
}
