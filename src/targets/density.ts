/**
 * The density of targets, which decides whether a cap limits the scan instead of the rate.
 *
 * @module
 */
import type { Address } from "../core/address.ts";
import type { Segment } from "./space.ts";

/** The maximum numbers of endpoints of one host and of one network. */
export interface Density {
  /** Maximum number of endpoints on one address. */
  readonly host: number;
  /** Maximum number of endpoints in one /24 (IPv6: /48). */
  readonly net: number;
}

/** Number of addresses in a /24 of IPv4 and in a /48 of IPv6. */
const NET_SIZE = { number: 256n, bigint: 1n << 80n } as const;

/** The maximum numbers of endpoints of one host and of one network in segments. */
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
      // The networks between the first and the last one lie wholly in this range. No other range has
      // addresses in them.
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
