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
  readonly #callbacks = new Map<number | bigint, (() => void)[]>();

  /** Starts with no uninspected server. */
  constructor(private readonly state: Pick<ScanState, "uninspected">) {}

  /**
   * Adds a server.
   *
   * @param onFinished Called when the sighting is finished; never if the scan ends first.
   */
  add(endpoint: Endpoint, onFinished: () => void): void {
    const key = endpointKey(endpoint);
    this.#callbacks.set(key, [...this.#callbacks.get(key) ?? [], onFinished]);
    this.state.uninspected = this.#callbacks.size;
  }

  /** Removes a server after its inspection. Returns a function that finishes its sightings. */
  remove(endpoint: Endpoint): () => void {
    const key = endpointKey(endpoint);
    const callbacks = this.#callbacks.get(key) ?? [];
    this.#callbacks.delete(key);
    this.state.uninspected = this.#callbacks.size;
    return () => callbacks.forEach((onFinished) => onFinished());
  }
}
