/**
 * Who is not asked one protocol, because it speaks another: every endpoint that said something in
 * it, whether its answer was proven or not.
 *
 * @module
 */
import type { Endpoint } from "../address.ts";
import { EndpointSet } from "../endpoint_set.ts";
import type { Endpoints } from "../endpoints.ts";

/** Unproven speakers that are remembered: forgers end nothing, and fill no memory. */
const MOST_UNPROVEN = 65_536;

/** The endpoints that are spared. */
export class Spared {
  readonly #speakers: EndpointSet;
  #unproven = 0;

  /** @param seed 32 bits that nobody can guess. */
  constructor(seed: number) {
    this.#speakers = new EndpointSet(seed);
  }

  /** Notes a speaker. */
  add(endpoint: Endpoint, proven: boolean): void {
    if (!proven && this.#unproven >= MOST_UNPROVEN) return;
    if (this.#speakers.add(endpoint) && !proven) this.#unproven++;
  }

  /** Whether it is spared. */
  has(endpoint: Endpoint): boolean {
    return this.#speakers.has(endpoint);
  }

  /** Whether an endpoint of a row is spared. */
  hasAt(endpoints: Endpoints, i: number): boolean {
    return this.#speakers.hasAt(endpoints, i);
  }
}
