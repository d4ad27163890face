/**
 * The exact set of endpoints that have replied. Its size grows with the number of responders, not
 * with the number of targets.
 *
 * @module
 */
import type { Endpoint } from "../core/address.ts";
import { type AddedAddresses, EndpointSet } from "../core/endpoint_set.ts";
import type { Endpoints } from "../core/endpoints.ts";
import { Holds, type Waiting } from "./holds.ts";

/** The responders of a scan, and the holds of unproved endpoints. */
export class Responders {
  readonly #replied: EndpointSet;
  readonly #holds: Holds;

  /**
   * @param seed 32 random bits.
   * @param added Gets the address of each endpoint that the sweep skips. Default: nothing does.
   */
  constructor(seed: number, added?: AddedAddresses) {
    this.#replied = new EndpointSet(seed, added);
    this.#holds = new Holds(seed, added);
  }

  /** Whether an endpoint has sent a valid reply. */
  has(endpoint: Endpoint): boolean {
    return this.#replied.has(endpoint);
  }

  /** Whether endpoint `i` of a batch has sent a valid reply. */
  hasAt(endpoints: Endpoints, i: number): boolean {
    return this.#replied.hasAt(endpoints, i);
  }

  /** Whether an endpoint of a batch has replied, and waits for a hold or was omitted. */
  isQueuedAt(endpoints: Endpoints, i: number): boolean {
    return this.#holds.isQueuedAt(endpoints, i);
  }

  /**
   * Records a valid reply; false when one was recorded before. The hold of the endpoint becomes
   * free.
   */
  add(endpoint: Endpoint): boolean {
    if (!this.#replied.add(endpoint)) return false;
    this.#holds.proved(endpoint);
    return true;
  }

  /**
   * Gives a hold to an endpoint until it is confirmed.
   *
   * @returns Whether the endpoint got a hold now; `"full"` when no hold is free.
   */
  hold(endpoint: Endpoint): "held" | "known" | "full" {
    if (this.#replied.has(endpoint) || this.#holds.has(endpoint)) return "known";
    return this.#holds.take(endpoint) ? "held" : "full";
  }

  /** Queues an endpoint that got no hold. */
  wait(waiting: Waiting): void {
    this.#holds.wait(waiting);
  }

  /** Records that the interview of an endpoint has ended, with any result. */
  ended(endpoint: Endpoint): void {
    this.#holds.ended(endpoint);
  }

  /**
   * Frees the hold of an endpoint whose second query could not be sent. The next reply of the
   * endpoint may get a hold again.
   */
  release(endpoint: Endpoint): void {
    this.#holds.release(endpoint);
  }
}
