/**
 * Endpoints to which a protocol must not be sent: those from which some other datagram came back,
 * whether it was proven to be a reply or not.
 *
 * @module
 */
import type { Endpoint } from "../core/address.ts";
import { EndpointSet } from "../core/endpoint_set.ts";
import type { Endpoints } from "../core/endpoints.ts";

/** Unproven speakers that are remembered: forgers fill no memory. */
const MOST_UNPROVEN = 65_536;

/** The suppressed endpoints. */
export class SuppressedEndpoints {
  readonly #endpoints: EndpointSet;
  #unproven = 0;

  /** @param seed 32 unpredictable bits. */
  constructor(seed: number) {
    this.#endpoints = new EndpointSet(seed);
  }

  /** Adds an endpoint; a further unproven one only while there are few of them. */
  add(endpoint: Endpoint, proven: boolean): void {
    if (!proven && this.#unproven >= MOST_UNPROVEN) return;
    if (this.#endpoints.add(endpoint) && !proven) this.#unproven++;
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
