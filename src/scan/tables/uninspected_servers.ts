/**
 * Servers that were not inspected because no descriptor was free. A later pass may sight these
 * servers again. Until then the low-water mark stays before them.
 *
 * @module
 */
import { type Address, type Endpoint, endpointKey } from "../../core/address.ts";
import type { ScanState } from "../setup/scan_state.ts";

interface Waiting {
  readonly endpoint: Endpoint;
  readonly callbacks: readonly (() => void)[];
}

/** The servers that wait for an inspection. The state of the scan contains their number. */
export class Uninspected {
  /** By endpoint: the functions that finish the sightings of the endpoint. */
  readonly #waiting = new Map<number | bigint, Waiting>();

  constructor(private readonly state: Pick<ScanState, "uninspected">) {}

  /**
   * Adds a server.
   *
   * @param onFinished Called when the sighting is finished. It is never called if the scan ends
   * first.
   */
  add(endpoint: Endpoint, onFinished: () => void): void {
    const key = endpointKey(endpoint);
    const { callbacks = [] } = this.#waiting.get(key) ?? {};
    this.#waiting.set(key, { endpoint, callbacks: [...callbacks, onFinished] });
    this.state.uninspected = this.#waiting.size;
  }

  /** Removes a server after its inspection. Returns a function that finishes its sightings. */
  remove(endpoint: Endpoint): () => void {
    const key = endpointKey(endpoint);
    const { callbacks = [] } = this.#waiting.get(key) ?? {};
    this.#waiting.delete(key);
    this.state.uninspected = this.#waiting.size;
    return () => callbacks.forEach((onFinished) => onFinished());
  }

  /** The addresses of the servers. */
  get addresses(): Iterable<Address> {
    return Array.from(this.#waiting.values(), ({ endpoint }) => endpoint.address);
  }

  /** Removes the servers of an address that opted out, and finishes their sightings. */
  removeHost(address: Address): void {
    for (const { endpoint } of this.#waiting.values()) {
      if (endpoint.address === address) this.remove(endpoint)();
    }
  }
}
