/**
 * Who has answered: exact, and as large as the number of responders, not of targets.
 *
 * @module
 */
import { type Address, type Endpoint, endpointKey } from "../address.ts";

/** How many unproven responders are held at the most, and how many of one address. */
const MOST_HELD = 4096;
const MOST_HELD_OF_ADDRESS = 64;

/** The responders of a scan. */
export class Responders {
  readonly #answered = new Set<number | bigint>();
  readonly #held = new Set<number | bigint>();
  readonly #heldOf = new Map<Address, number>();

  /** Whether it has answered. */
  has(endpoint: Endpoint): boolean {
    return this.#answered.has(endpointKey(endpoint));
  }

  /** Notes an answer; false when it was noted before. What was held is proven, and makes room. */
  add(endpoint: Endpoint): boolean {
    const key = endpointKey(endpoint);
    if (this.#answered.has(key)) return false;
    this.#answered.add(key);
    if (this.#held.delete(key)) this.#count(endpoint.address, -1);
    return true;
  }

  /**
   * Holds an endpoint until it is confirmed: each one once, and not too many.
   *
   * @returns Whether it is worth a second question; `"full"` when there are too many.
   */
  hold(endpoint: Endpoint): "held" | "known" | "full" {
    const key = endpointKey(endpoint);
    if (this.#answered.has(key) || this.#held.has(key)) return "known";
    const ofAddress = this.#heldOf.get(endpoint.address) ?? 0;
    if (this.#held.size >= MOST_HELD || ofAddress >= MOST_HELD_OF_ADDRESS) return "full";
    this.#held.add(key);
    this.#count(endpoint.address, 1);
    return "held";
  }

  #count(address: Address, change: number): void {
    const count = (this.#heldOf.get(address) ?? 0) + change;
    if (count === 0) this.#heldOf.delete(address);
    else this.#heldOf.set(address, count);
  }
}
