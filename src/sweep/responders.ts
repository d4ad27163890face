/**
 * Who has answered: exact, and as large as the number of responders, not of targets.
 *
 * @module
 */
import type { Address, Endpoint } from "../address.ts";
import { EndpointSet } from "../endpoint_set.ts";
import type { Endpoints } from "../endpoints.ts";

/** How many unproven responders are held at the most, and how many of one address. */
const MOST_HELD = 4096;
const MOST_HELD_OF_ADDRESS = 64;

/** The responders of a scan. */
export class Responders {
  readonly #answered: EndpointSet;
  readonly #held: EndpointSet;
  readonly #heldOf = new Map<Address, number>();

  /** @param seed 32 bits that nobody can guess. */
  constructor(seed: number) {
    this.#answered = new EndpointSet(seed);
    this.#held = new EndpointSet(seed);
  }

  /** Whether it has answered. */
  has(endpoint: Endpoint): boolean {
    return this.#answered.has(endpoint);
  }

  /** Whether an endpoint of a row has answered. */
  hasAt(endpoints: Endpoints, i: number): boolean {
    return this.#answered.hasAt(endpoints, i);
  }

  /** Notes an answer; false when it was noted before. What was held is proven, and makes room. */
  add(endpoint: Endpoint): boolean {
    if (!this.#answered.add(endpoint)) return false;
    this.release(endpoint);
    return true;
  }

  /**
   * Holds an endpoint until it is confirmed: each one once, and not too many.
   *
   * @returns Whether it is worth a second question; `"full"` when there are too many.
   */
  hold(endpoint: Endpoint): "held" | "known" | "full" {
    if (this.#answered.has(endpoint) || this.#held.has(endpoint)) return "known";
    const ofAddress = this.#heldOf.get(endpoint.address) ?? 0;
    if (this.#held.size >= MOST_HELD || ofAddress >= MOST_HELD_OF_ADDRESS) return "full";
    this.#held.add(endpoint);
    this.#count(endpoint.address, 1);
    return "held";
  }

  /** Forgets an endpoint that could not be confirmed: its next reply is worth a second question. */
  release(endpoint: Endpoint): void {
    if (this.#held.delete(endpoint)) this.#count(endpoint.address, -1);
  }

  #count(address: Address, change: number): void {
    const count = (this.#heldOf.get(address) ?? 0) + change;
    if (count === 0) this.#heldOf.delete(address);
    else this.#heldOf.set(address, count);
  }
}
