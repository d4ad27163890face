/**
 * Sets of endpoints with fast lookup for every probe. A set is exact, takes a few bytes per
 * endpoint, and a lookup allocates nothing.
 *
 * @module
 */
import { type Address, type Endpoint, endpointKey } from "./address.ts";
import { mix } from "./bits.ts";
import type { Endpoints } from "./endpoints.ts";

/** Gets the address of each endpoint that is added to a set. */
export interface AddedAddresses {
  add(address: Address): void;
}

const MIN_SLOTS = 64;
/** Highest load factor of the table; above it lookups become slow. */
const LOAD = 1 / 2;

/**
 * A set of endpoints. IPv4 endpoints are in a hash table with open addressing and linear probing,
 * IPv6 endpoints in a `Set`.
 *
 * @example
 * ```ts
 * import { Endpoints } from "blocksweep/targets";
 * import { assertEquals } from "@std/assert";
 *
 * const set = new EndpointSet(crypto.getRandomValues(new Uint32Array(1))[0]);
 * set.add({ address: 0x7f000001, port: 19132 });
 * const list = Endpoints.of(
 *   { address: 0x7f000001, port: 19132 },
 *   { address: 0x7f000001, port: 1 },
 * );
 * assertEquals([set.hasAt(list, 0), set.hasAt(list, 1)], [true, false]);
 * ```
 */
export class EndpointSet {
  #addresses = new Uint32Array(MIN_SLOTS);
  /** Ports plus one; 0: the slot is free. */
  #ports = new Uint32Array(MIN_SLOTS);
  #ipv4 = 0;
  readonly #ipv6 = new Set<number | bigint>();

  /**
   * Creates an empty set.
   *
   * @param seed 32 unpredictable bits. With a known seed, endpoints could be chosen that all
   * collide.
   * @param added Gets the address of each endpoint that is added. Default: nothing does.
   */
  constructor(private readonly seed: number, private readonly added?: AddedAddresses) {}

  /** Number of endpoints in the set. */
  get size(): number {
    return this.#ipv4 + this.#ipv6.size;
  }

  /** Memory of the table, bytes; it grows only with the number of endpoints. */
  get bytes(): number {
    return this.#addresses.byteLength + this.#ports.byteLength;
  }

  has(endpoint: Endpoint): boolean {
    const { address, port } = endpoint;
    if (typeof address !== "number") return this.#ipv6.has(endpointKey(endpoint));
    return this.#ports[this.#find(address | 0, port)] !== 0;
  }

  /** Whether the set contains the address of `endpoints[i]` with a port. Default: its own port. */
  hasAt(endpoints: Endpoints, i: number, port: number = endpoints.ports[i]): boolean {
    if (this.size === 0) return false;
    const address = endpoints.ipv6[i];
    if (address !== undefined) return this.#ipv6.has(endpointKey({ address, port }));
    return this.#ports[this.#find(endpoints.ipv4[i] | 0, port)] !== 0;
  }

  /** Adds an endpoint; false when the set already contains it. */
  add(endpoint: Endpoint): boolean {
    const { address, port } = endpoint;
    this.added?.add(address);
    if (typeof address !== "number") {
      const before = this.#ipv6.size;
      return this.#ipv6.add(endpointKey(endpoint)).size > before;
    }
    const slot = this.#find(address | 0, port);
    if (this.#ports[slot] !== 0) return false;
    this.#put(slot, address, port);
    if (++this.#ipv4 > LOAD * this.#ports.length) this.#grow();
    return true;
  }

  /** Removes an endpoint; false when the set does not contain it. */
  delete(endpoint: Endpoint): boolean {
    const { address, port } = endpoint;
    if (typeof address !== "number") return this.#ipv6.delete(endpointKey(endpoint));
    let hole = this.#find(address | 0, port);
    if (this.#ports[hole] === 0) return false;
    this.#ipv4--;
    const mask = this.#ports.length - 1;
    for (let next = hole + 1 & mask; this.#ports[next] !== 0; next = next + 1 & mask) {
      // The hole is the slot that becomes free. A lookup stops at a free slot, so it would miss
      // endpoints that were placed behind the hole. Such an endpoint is moved into the hole, and
      // its old slot becomes the new hole.
      const home = this.#home(this.#addresses[next] | 0, this.#ports[next] - 1);
      if ((next - home & mask) < (next - hole & mask)) continue;
      this.#put(hole, this.#addresses[next], this.#ports[next] - 1);
      hole = next;
    }
    this.#ports[hole] = 0;
    return true;
  }

  #put(slot: number, address: number, port: number): void {
    this.#addresses[slot] = address;
    this.#ports[slot] = port + 1;
  }

  /**
   * First slot of a lookup. The address is signed: V8 would allocate an unsigned one above 2^31.
   */
  #home(address: number, port: number): number {
    return mix(mix(address ^ this.seed) ^ port) & this.#ports.length - 1;
  }

  /** The slot of an endpoint, or the free slot for it. */
  #find(address: number, port: number): number {
    const addresses = this.#addresses;
    const ports = this.#ports;
    const mask = ports.length - 1;
    let slot = this.#home(address, port);
    while (
      ports[slot] !== 0 && ((addresses[slot] | 0) !== address || ports[slot] !== port + 1)
    ) {
      slot = slot + 1 & mask;
    }
    return slot;
  }

  #grow(): void {
    const [addresses, ports] = [this.#addresses, this.#ports];
    this.#addresses = new Uint32Array(2 * addresses.length);
    this.#ports = new Uint32Array(2 * ports.length);
    for (let i = 0; i < ports.length; i++) {
      if (ports[i] === 0) continue;
      this.#put(this.#find(addresses[i] | 0, ports[i] - 1), addresses[i], ports[i] - 1);
    }
  }
}
