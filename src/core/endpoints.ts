/**
 * Endpoints in memory that is written over and over, so that nothing is allocated for each of
 * millions: numbers above 2^31 that are passed on, or kept in an object, are allocated one by one.
 *
 * @module
 */
import type { Address, Endpoint } from "./address.ts";

/**
 * A row of endpoints of both families.
 *
 * @example
 * ```ts
 * import { Endpoints } from "blocksweep/targets";
 * import { assertEquals } from "@std/assert";
 *
 * const endpoints = Endpoints.of({ address: 0xc0000201, port: 19132 }, { address: 1n, port: 19133 });
 * assertEquals([endpoints.family(0), endpoints.family(1)], [4, 6]);
 * assertEquals(endpoints.get(1), { address: 1n, port: 19133 });
 * ```
 */
export class Endpoints {
  /** The IPv4 addresses. */
  readonly ipv4: Uint32Array;
  /** The IPv6 addresses; `undefined` where the endpoint is one of IPv4. */
  readonly ipv6: (bigint | undefined)[];
  /** The ports. */
  readonly ports: Uint16Array;

  /**
   * Reserves the memory.
   *
   * @param capacity How many there is room for.
   */
  constructor(readonly capacity: number) {
    this.ipv4 = new Uint32Array(capacity);
    this.ipv6 = new Array(capacity).fill(undefined);
    this.ports = new Uint16Array(capacity);
  }

  /** A row of these. */
  static of(...endpoints: readonly Endpoint[]): Endpoints {
    const row = new Endpoints(endpoints.length);
    endpoints.forEach((endpoint, i) => row.set(i, endpoint));
    return row;
  }

  /** Writes one. */
  set(i: number, { address, port }: Endpoint): void {
    if (typeof address === "number") this.ipv4[i] = address;
    this.ipv6[i] = typeof address === "number" ? undefined : address;
    this.ports[i] = port;
  }

  /** The family of one. */
  family(i: number): 4 | 6 {
    return this.ipv6[i] === undefined ? 4 : 6;
  }

  /** The address of one. */
  address(i: number): Address {
    return this.ipv6[i] ?? this.ipv4[i];
  }

  /** A copy of one. */
  get(i: number): Endpoint {
    return { address: this.address(i), port: this.ports[i] };
  }
}
