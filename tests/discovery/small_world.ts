/** A small world of servers that crowd, and what a discovery finds there. */
import { mix } from "../../src/core/bits.ts";
import { Endpoints } from "../../src/core/endpoints.ts";
import type {
  DiscoveryOptions,
  DiscoveryPass,
  IPv4Endpoint,
  PassInput,
  PassResult,
} from "../../src/discovery/contract.ts";
import { AdaptiveDiscovery } from "../../src/discovery/discovery.ts";
import { RangeSet } from "../../src/targets/ranges.ts";

/** The first address. */
export const BASE = 0xf0000000;
/** Ports, the default port first. */
export const PORTS = [2000, 1995, 1996, 1997, 1998, 1999, 2001, 2002, 2003, 2010, 2100];

/** A number from 0 to 1 for a place. */
export function chance(a: number, b: number): number {
  return (mix(mix(a) + b | 0) >>> 0) / 2 ** 32;
}

/** Addresses from the base on. */
export function addressesOf(...ranges: readonly (readonly [from: number, to: number])[]) {
  return RangeSet.of(ranges.map(([from, to]) => ({ start: BASE + from, end: BASE + to })));
}

/** Servers that crowd in some /24s, most of them in a few /18s, on the default port and others. */
export function serversIn(addresses: RangeSet<number>, seed: number): IPv4Endpoint[] {
  const servers: IPv4Endpoint[] = [];
  for (const { start, end } of addresses) {
    for (let address = start; address < end; address++) {
      const isRich = chance(address >>> 14, seed) < 0.3;
      const crowd = chance(address >>> 8, seed + 1) < (isRich ? 0.04 : 0.002) ? 0.1 : 0;
      if (chance(address, seed + 2) >= crowd) continue;
      servers.push({ address, port: PORTS[0] });
      for (const port of PORTS.slice(1)) {
        if (chance(address ^ port, seed + 3) < 0.2) servers.push({ address, port });
      }
    }
  }
  return servers;
}

/** A discovery of one protocol. */
export function discoveryOf(
  addresses: RangeSet<number>,
  options: Partial<DiscoveryOptions> & { readonly known?: readonly IPv4Endpoint[] } = {},
): AdaptiveDiscovery {
  const { known = [], ...others } = options;
  const targets = [{ protocol: "test", addresses, ports: PORTS, known }];
  return new AdaptiveDiscovery({ targets, seed: 7, netBudget: Infinity, ...others });
}

/** What passes without caps are planned with. */
export const INPUT: PassInput = {
  probes: 20_000,
  perNetwork: Infinity,
  perHost: Infinity,
  lossPerMille: 24,
};

/** The endpoints of a pass for a protocol, in the order of the sweep. */
export function endpointsOf(pass: DiscoveryPass, index = 0): IPv4Endpoint[] {
  const space = pass.protocols[index].space();
  const list = new Endpoints(space.size);
  space.fill(0, space.size, list);
  return Array.from({ length: space.size }, (_, i) => ({
    address: list.ipv4[i],
    port: list.ports[i],
  }));
}

/** A number for an endpoint. */
export function keyOf({ address, port }: IPv4Endpoint): number {
  return address * 65536 + port;
}

/** The servers among the endpoints of a pass that were not found before, which are added to them. */
export function resultOf(
  endpoints: readonly IPv4Endpoint[],
  servers: ReadonlySet<number>,
  found: Set<number>,
): PassResult {
  const hits = endpoints.filter((one) => servers.has(keyOf(one)) && !found.has(keyOf(one)));
  for (const hit of hits) found.add(keyOf(hit));
  return { hits, endedHosts: [], endedNetworks: [] };
}
