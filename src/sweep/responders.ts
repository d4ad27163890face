/**
 * Who has answered: exact, and as large as the number of responders, not of targets.
 *
 * @module
 */
import type { Endpoint } from "../core/address.ts";
import { EndpointSet } from "../core/endpoint_set.ts";
import type { Endpoints } from "../core/endpoints.ts";
import { Holds, type Waiting } from "./holds.ts";

/** The responders of a scan. */
export class Responders {
  readonly #answered: EndpointSet;
  readonly #holds: Holds;

  /** @param seed 32 bits that nobody can guess. */
  constructor(seed: number) {
    this.#answered = new EndpointSet(seed);
    this.#holds = new Holds(seed);
  }

  /** Whether it has answered. */
  has(endpoint: Endpoint): boolean {
    return this.#answered.has(endpoint);
  }

  /** Whether an endpoint of a row has answered. */
  hasAt(endpoints: Endpoints, i: number): boolean {
    return this.#answered.hasAt(endpoints, i);
  }

  /** Whether an endpoint of a batch has replied, and waits for a hold or was omitted. */
  isQueuedAt(endpoints: Endpoints, i: number): boolean {
    return this.#holds.isQueuedAt(endpoints, i);
  }

  /** Notes a valid reply; false when one was noted before. The hold of the endpoint becomes free. */
  add(endpoint: Endpoint): boolean {
    if (!this.#answered.add(endpoint)) return false;
    this.#holds.proved(endpoint);
    return true;
  }

  /**
   * Holds an endpoint until it is confirmed: each one once, and not too many.
   *
   * @returns Whether it is worth a second question; `"full"` when there are too many.
   */
  hold(endpoint: Endpoint): "held" | "known" | "full" {
    if (this.#answered.has(endpoint) || this.#holds.has(endpoint)) return "known";
    return this.#holds.take(endpoint) ? "held" : "full";
  }

  /** Lets an endpoint wait for which there was no hold. */
  wait(waiting: Waiting): void {
    this.#holds.wait(waiting);
  }

  /** Notes that the interview of an endpoint has ended, whatever came of it. */
  ended(endpoint: Endpoint): void {
    this.#holds.ended(endpoint);
  }

  /** Forgets an endpoint that could not be confirmed: its next reply is worth a second question. */
  release(endpoint: Endpoint): void {
    this.#holds.release(endpoint);
  }
}
