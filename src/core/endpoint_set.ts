/**
 * Sets of endpoints that are looked up for every probe: exact, in a few bytes each, and looking one
 * up allocates nothing.
 *
 * @module
 */
import { type Endpoint, endpointKey } from "./address.ts";
import { mix } from "./bits.ts";
import type { Endpoints } from "./endpoints.ts";

const LEAST_PLACES = 64;
/** The part of the places that may be taken: above it, searches grow long. */
const LOAD = 1 / 2;

/**
 * A set of endpoints. IPv4 ones lie in a table of addresses and ports, each at the first free place
 * from where its hash points to; IPv6 ones in a set of the language.
 *
 * @example
 * ```ts
 * import { EndpointSet, Endpoints } from "blocksweep/targets";
 * import { assertEquals } from "@std/assert";
 *
 * const set = new EndpointSet(crypto.getRandomValues(new Uint32Array(1))[0]);
 * set.add({ address: 0x7f000001, port: 19132 });
 * const row = Endpoints.of({ address: 0x7f000001, port: 19132 }, { address: 0x7f000001, port: 1 });
 * assertEquals([set.hasAt(row, 0), set.hasAt(row, 1)], [true, false]);
 * ```
 */
export class EndpointSet {
  #addresses = new Uint32Array(LEAST_PLACES);
  /** Ports plus one; 0: the place is free. */
  #ports = new Uint32Array(LEAST_PLACES);
  #ipv4 = 0;
  readonly #ipv6 = new Set<number | bigint>();

  /**
   * Starts empty.
   *
   * @param seed 32 bits that nobody can guess: who can choose endpoints could else choose such that
   * all lie in one place.
   */
  constructor(private readonly seed: number) {}

  /** How many are in it. */
  get size(): number {
    return this.#ipv4 + this.#ipv6.size;
  }

  /** What the table takes up, bytes: it grows with those that are in it, and with nothing else. */
  get bytes(): number {
    return this.#addresses.byteLength + this.#ports.byteLength;
  }

  /** Whether it is in it. */
  has(endpoint: Endpoint): boolean {
    const { address, port } = endpoint;
    if (typeof address !== "number") return this.#ipv6.has(endpointKey(endpoint));
    return this.#ports[this.#find(address | 0, port)] !== 0;
  }

  /** Whether an endpoint of a row is in it, or its address with another port. */
  hasAt(endpoints: Endpoints, i: number, port: number = endpoints.ports[i]): boolean {
    if (this.size === 0) return false;
    const address = endpoints.ipv6[i];
    if (address !== undefined) return this.#ipv6.has(endpointKey({ address, port }));
    return this.#ports[this.#find(endpoints.ipv4[i] | 0, port)] !== 0;
  }

  /** Puts one in; false when it was in it before. */
  add(endpoint: Endpoint): boolean {
    const { address, port } = endpoint;
    if (typeof address !== "number") {
      const before = this.#ipv6.size;
      return this.#ipv6.add(endpointKey(endpoint)).size > before;
    }
    const place = this.#find(address | 0, port);
    if (this.#ports[place] !== 0) return false;
    this.#put(place, address, port);
    if (++this.#ipv4 > LOAD * this.#ports.length) this.#grow();
    return true;
  }

  /** Takes one out; false when it was not in it. */
  delete(endpoint: Endpoint): boolean {
    const { address, port } = endpoint;
    if (typeof address !== "number") return this.#ipv6.delete(endpointKey(endpoint));
    let hole = this.#find(address | 0, port);
    if (this.#ports[hole] === 0) return false;
    this.#ipv4--;
    const mask = this.#ports.length - 1;
    for (let next = hole + 1 & mask; this.#ports[next] !== 0; next = next + 1 & mask) {
      // One that a search would not find behind the hole moves into it, and leaves another.
      const home = this.#home(this.#addresses[next] | 0, this.#ports[next] - 1);
      if ((next - home & mask) < (next - hole & mask)) continue;
      this.#put(hole, this.#addresses[next], this.#ports[next] - 1);
      hole = next;
    }
    this.#ports[hole] = 0;
    return true;
  }

  #put(place: number, address: number, port: number): void {
    this.#addresses[place] = address;
    this.#ports[place] = port + 1;
  }

  /** Where a search begins. The address is signed: as such it is never allocated. */
  #home(address: number, port: number): number {
    return mix(mix(address ^ this.seed) ^ port) & this.#ports.length - 1;
  }

  /** The place of one, or the free one where it belongs. */
  #find(address: number, port: number): number {
    const addresses = this.#addresses;
    const ports = this.#ports;
    const mask = ports.length - 1;
    let place = this.#home(address, port);
    while (
      ports[place] !== 0 && ((addresses[place] | 0) !== address || ports[place] !== port + 1)
    ) {
      place = place + 1 & mask;
    }
    return place;
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
