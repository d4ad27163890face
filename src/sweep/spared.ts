/**
 * Who is not asked one protocol, because it speaks another: every endpoint that said something in
 * it, whether its answer was proven or not.
 *
 * @module
 */
import { type Endpoint, endpointKey } from "../address.ts";

/** Unproven speakers that are remembered: forgers end nothing, and fill no memory. */
const MOST_UNPROVEN = 65_536;

/** The endpoints that are spared. */
export class Spared {
  readonly #speakers = new Set<number | bigint>();
  #unproven = 0;

  /** Notes a speaker. */
  add(endpoint: Endpoint, proven: boolean): void {
    const key = endpointKey(endpoint);
    if (this.#speakers.has(key) || !proven && this.#unproven >= MOST_UNPROVEN) return;
    if (!proven) this.#unproven++;
    this.#speakers.add(key);
  }

  /** Whether it is spared. */
  has(endpoint: Endpoint): boolean {
    return this.#speakers.has(endpointKey(endpoint));
  }
}
