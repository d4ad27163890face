/**
 * The open ports that a sweep has found, by protocol: each is queried once in each protocol.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import { type AddedAddresses, EndpointSet } from "../../core/endpoint_set.ts";
import type { Endpoints } from "../../core/endpoints.ts";

/** Open ports that no pass of a protocol probes again. */
export class FoundPorts {
  readonly #byProtocol: ReadonlyMap<string, EndpointSet>;
  /** Those that were removed. */
  readonly #removed: ReadonlyMap<string, EndpointSet>;

  /**
   * @param protocols Names of the protocols.
   * @param seed 32 random bits.
   * @param added Gets the address of each endpoint. Default: nothing does.
   */
  constructor(protocols: readonly string[], seed: number, added?: AddedAddresses) {
    this.#byProtocol = new Map(protocols.map((name) => [name, new EndpointSet(seed, added)]));
    this.#removed = new Map(protocols.map((name) => [name, new EndpointSet(seed)]));
  }

  /** Whether endpoint `i` of a batch is in the table. */
  hasAt(endpoints: Endpoints, i: number, protocol: string): boolean {
    return this.#byProtocol.get(protocol)!.hasAt(endpoints, i);
  }

  /**
   * Adds an endpoint.
   *
   * @returns Whether it is new, or was removed; `undefined` when it is in the table already.
   */
  add(endpoint: Endpoint, protocol: string): "new" | "again" | undefined {
    if (!this.#byProtocol.get(protocol)!.add(endpoint)) return undefined;
    return this.#removed.get(protocol)!.has(endpoint) ? "again" : "new";
  }

  /** Removes an endpoint: the next pass of the protocol probes it again. */
  delete(endpoint: Endpoint, protocol: string): void {
    this.#byProtocol.get(protocol)!.delete(endpoint);
    this.#removed.get(protocol)!.add(endpoint);
  }
}
