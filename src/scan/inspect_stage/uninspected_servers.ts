/**
 * Servers that could not be inspected, for no descriptor could be had: a later pass may sight them
 * again, and until then the marks stay before them.
 *
 * @module
 */
import { type Endpoint, endpointKey } from "../../core/address.ts";
import type { ScanState } from "../scan_state.ts";

/** Servers that wait for an inspection, counted in the state of the scan. */
export class Uninspected {
  /** What their sightings call once they are through, by endpoint. */
  readonly #throughs = new Map<number | bigint, (() => void)[]>();

  /** Starts with none. */
  constructor(private readonly state: Pick<ScanState, "uninspected">) {}

  /**
   * Adds a server.
   *
   * @param through Called when the sighting is through, if it is ever.
   */
  add(endpoint: Endpoint, through: () => void): void {
    const key = endpointKey(endpoint);
    this.#throughs.set(key, [...this.#throughs.get(key) ?? [], through]);
    this.state.uninspected = this.#throughs.size;
  }

  /** Removes a server after its inspection. Returns a function that finishes its sightings. */
  remove(endpoint: Endpoint): () => void {
    const key = endpointKey(endpoint);
    const throughs = this.#throughs.get(key) ?? [];
    this.#throughs.delete(key);
    this.state.uninspected = this.#throughs.size;
    return () => throughs.forEach((through) => through());
  }
}
