/**
 * Servers that were not inspected for lack of descriptors. A later pass may sight them again; until
 * then the low-water mark stays before them.
 *
 * @module
 */
import { type Endpoint, endpointKey } from "../../core/address.ts";
import type { ScanState } from "../scan_state.ts";

/** Servers that wait for an inspection, counted in the state of the scan. */
export class Uninspected {
  /** For each endpoint, the functions that finish its sightings. */
  readonly #throughs = new Map<number | bigint, (() => void)[]>();

  /** Starts without servers. */
  constructor(private readonly state: Pick<ScanState, "uninspected">) {}

  /**
   * Adds a server.
   *
   * @param through Called when the sighting is finished; never if the scan ends first.
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
