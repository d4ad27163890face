/**
 * Lists of endpoints in reused memory. V8 allocates memory for each number above 2^31 that is
 * passed to a function or stored in an object. These lists keep IPv4 addresses and ports in typed
 * arrays, so a sweep of millions of IPv4 targets allocates nothing per target.
 *
 * @module
 */
import type { Address, Endpoint } from "./address.ts";

/**
 * A list of endpoints of both families, of fixed capacity.
 *
 * @example
 * ```ts
 * import { Endpoints } from "blocksweep/targets";
 * import { assertEquals } from "@std/assert";
 *
 * const endpoints = Endpoints.of(
 *   { address: 0xc0000201, port: 19132 },
 *   { address: 1n, port: 19133 },
 * );
 * assertEquals([endpoints.family(0), endpoints.family(1)], [4, 6]);
 * assertEquals(endpoints.get(1), { address: 1n, port: 19133 });
 * ```
 */
export class Endpoints {
  /** The IPv4 addresses. The value for an IPv6 endpoint has no meaning. */
  readonly ipv4: Uint32Array;
  /** The IPv6 addresses; `undefined` for an IPv4 endpoint. */
  readonly ipv6: (bigint | undefined)[];
  /** The ports, 1 to 65535. */
  readonly ports: Uint16Array;

  /**
   * Allocates the memory.
   *
   * @param capacity Maximum number of endpoints in the list.
   */
  constructor(readonly capacity: number) {
    this.ipv4 = new Uint32Array(capacity);
    this.ipv6 = new Array(capacity).fill(undefined);
    this.ports = new Uint16Array(capacity);
  }

  /** Creates a list of the given endpoints. */
  static of(...endpoints: readonly Endpoint[]): Endpoints {
    const list = new Endpoints(endpoints.length);
    endpoints.forEach((endpoint, i) => list.set(i, endpoint));
    return list;
  }

  /** Writes the endpoint at an index. */
  set(i: number, { address, port }: Endpoint): void {
    if (typeof address === "number") this.ipv4[i] = address;
    this.ipv6[i] = typeof address === "number" ? undefined : address;
    this.ports[i] = port;
  }

  /** The address family of the endpoint at an index. */
  family(i: number): 4 | 6 {
    return this.ipv6[i] === undefined ? 4 : 6;
  }

  /** The address of the endpoint at an index. */
  address(i: number): Address {
    return this.ipv6[i] ?? this.ipv4[i];
  }

  /** A copy of the endpoint at an index. */
  get(i: number): Endpoint {
    return { address: this.address(i), port: this.ports[i] };
  }
}
