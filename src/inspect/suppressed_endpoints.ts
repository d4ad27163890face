/**
 * Endpoints that must not be queried in suppressible protocols: endpoints that sent a datagram in
 * another protocol, whether it was proved to be a reply or not.
 *
 * @module
 */
import type { Endpoint } from "../core/address.ts";
import { type AddedAddresses, EndpointSet } from "../core/endpoint_set.ts";
import type { Endpoints } from "../core/endpoints.ts";

/**
 * Maximum number of stored unproved endpoints. Without it, forged datagrams could exhaust memory.
 */
const MAX_UNPROVED = 65_536;

/** The endpoints that are not queried in suppressible protocols. */
export class SuppressedEndpoints {
  readonly #endpoints: EndpointSet;
  #unproved = 0;

  /**
   * @param seed 32 unpredictable bits.
   * @param added Gets the address of each endpoint that is added. Default: nothing does.
   */
  constructor(seed: number, added?: AddedAddresses) {
    this.#endpoints = new EndpointSet(seed, added);
  }

  /** Adds an endpoint. An unproved endpoint is dropped if the maximum is reached. */
  add(endpoint: Endpoint, proved: boolean): void {
    if (!proved && this.#unproved >= MAX_UNPROVED) return;
    if (this.#endpoints.add(endpoint) && !proved) this.#unproved++;
  }

  /** Whether suppressible protocols are suppressed for an endpoint. */
  has(endpoint: Endpoint): boolean {
    return this.#endpoints.has(endpoint);
  }

  /** Whether suppressible protocols are suppressed for a target in a batch. */
  hasAt(endpoints: Endpoints, i: number): boolean {
    return this.#endpoints.hasAt(endpoints, i);
  }
}
