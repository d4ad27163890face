/**
 * How crowded targets are: what decides when a cap, and not the rate, governs.
 *
 * @module
 */
import type { Address } from "../core/address.ts";
import type { Segment } from "./space.ts";

/** The most endpoints in one place. */
export interface Density {
  /** On one address. */
  readonly host: number;
  /** In one /24, or /48 of IPv6. */
  readonly net: number;
}

/** A /24 counts 2^8 addresses, a /48 of IPv6 2^80. */
const NET_SIZE = { number: 256n, bigint: 1n << 80n } as const;

/** The densest host and network of some segments. */
export function densityOf(segments: readonly Segment[]): Density {
  const nets = new Map<Address, number>();
  let host = 0;
  let net = 0;
  const add = (key: Address, addresses: bigint, ports: number) => {
    const sum = (nets.get(key) ?? 0) + Number(addresses) * ports;
    nets.set(key, sum);
    net = Math.max(net, sum);
  };
  for (const { addresses, ports } of segments) {
    host = Math.max(host, ports.length);
    for (const { start, end } of addresses) {
      const size = typeof start === "number" ? NET_SIZE.number : NET_SIZE.bigint;
      const key = (index: bigint): Address => typeof start === "number" ? Number(index) : index;
      const [first, last] = [BigInt(start), BigInt(end)];
      const [firstNet, lastNet] = [first / size, (last - 1n) / size];
      // Networks between the two at the ends are covered as a whole, and no range touches them again.
      if (lastNet - firstNet > 1n) net = Math.max(net, Number(size) * ports.length);
      if (firstNet === lastNet) add(key(firstNet), last - first, ports.length);
      else {
        add(key(firstNet), (firstNet + 1n) * size - first, ports.length);
        add(key(lastNet), last - lastNet * size, ports.length);
      }
    }
  }
  return { host, net };
}
