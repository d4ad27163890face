/**
 * Who has answered: exact, and as large as the number of responders, not of targets.
 *
 * @module
 */
import { type Endpoint, endpointKey } from "../address.ts";

/** How many unproven responders are held at the most. */
const MOST_HELD = 4096;

/** The responders of a scan. */
export class Responders {
  readonly #answered = new Set<number | bigint>();
  readonly #held = new Set<number | bigint>();

  /** How many have answered. */
  get size(): number {
    return this.#answered.size;
  }

  /** Whether it has answered. */
  has(endpoint: Endpoint): boolean {
    return this.#answered.has(endpointKey(endpoint));
  }

  /** Notes an answer; false when it was noted before. */
  add(endpoint: Endpoint): boolean {
    const key = endpointKey(endpoint);
    if (this.#answered.has(key)) return false;
    this.#answered.add(key);
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
    if (this.#held.size >= MOST_HELD) return "full";
    this.#held.add(key);
    return "held";
  }
}
