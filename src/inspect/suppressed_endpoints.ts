/**
 * Endpoints to which suppressible protocols must not be sent: those that sent any other datagram,
 * proved to be a reply or not.
 *
 * @module
 */
import type { Endpoint } from "../core/address.ts";
import { EndpointSet } from "../core/endpoint_set.ts";
import type { Endpoints } from "../core/endpoints.ts";

/** Maximum number of stored unproved endpoints, so that forged datagrams do not exhaust memory. */
const MOST_UNPROVED = 65_536;

/** The endpoints at which suppressible protocols are not sent. */
export class SuppressedEndpoints {
  readonly #endpoints: EndpointSet;
  #unproved = 0;

  /** @param seed 32 unpredictable bits. */
  constructor(seed: number) {
    this.#endpoints = new EndpointSet(seed);
  }

  /** Adds an endpoint. An unproved one is dropped if the maximum is reached. */
  add(endpoint: Endpoint, proved: boolean): void {
    if (!proved && this.#unproved >= MOST_UNPROVED) return;
    if (this.#endpoints.add(endpoint) && !proved) this.#unproved++;
  }

  /** Whether an endpoint is suppressed. */
  has(endpoint: Endpoint): boolean {
    return this.#endpoints.has(endpoint);
  }

  /** Whether a target in a batch is suppressed. */
  hasAt(endpoints: Endpoints, i: number): boolean {
    return this.#endpoints.hasAt(endpoints, i);
  }
}
