/**
 * The density of targets, which decides whether a cap limits the scan instead of the rate.
 *
 * @module
 */
import type { Address } from "../core/address.ts";
import { networkOf, networkStart } from "./shards.ts";
import { distance, later } from "./ranges.ts";
import type { Segment } from "./space.ts";

/** The maximum numbers of endpoints of one host and of one network. */
export interface Density {
  /** Maximum number of endpoints on one address. */
  readonly host: number;
  /** Maximum number of endpoints in one /24 (IPv6: /48). */
  readonly net: number;
}

/** The maximum numbers of endpoints of one host and of one network in segments. */
export function densityOf(segments: readonly Segment[]): Density {
  /** Endpoints in networks that ranges contain in part. */
  const nets = new Map<Address, number>();
  let host = 0;
  let net = 0;
  for (const { addresses, ports } of segments) {
    host = Math.max(host, ports.length);
    const size = addresses.index.family === 4 ? 2 ** 8 : 2 ** 80;
    const add = (network: Address, addresses: number) => {
      const isPartial = addresses > 0 && addresses < size;
      const sum = (isPartial ? nets.get(network) ?? 0 : 0) + addresses * ports.length;
      if (isPartial) nets.set(network, sum);
      net = Math.max(net, sum);
    };
    for (const { start, end } of addresses) {
      const [first, last] = [networkOf(start), networkOf(end)];
      if (first === last) add(first, distance(start, end));
      else {
        add(first, distance(start, networkStart(later(first, 1))));
        if (distance(first, last) > 1) net = Math.max(net, size * ports.length);
        add(last, distance(networkStart(last), end));
      }
    }
  }
  return { host, net };
}
