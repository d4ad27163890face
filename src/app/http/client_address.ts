/**
 * The address of a client behind reverse proxies.
 *
 * @module
 */
import { type Address, parseHost, unmappedAddress } from "../../core/address.ts";
import type { AddressSet } from "../../targets/ranges.ts";

/**
 * The address of the client of a request: that of the connection, or if that is a trusted proxy, the last
 * address in the header `X-Forwarded-For` that is not one. Each proxy appends the address of its own client;
 * what comes before the entry of the first trusted proxy may be invented.
 *
 * @param peer The address of the connection.
 * @param forwardedFor The header `X-Forwarded-For`.
 */
export function clientAddress(
  peer: string,
  forwardedFor: string | undefined,
  trusted: Pick<AddressSet, "has">,
): Address {
  let client = addressIn(peer) ?? 0;
  const hops = forwardedFor?.split(",") ?? [];
  while (hops.length > 0 && trusted.has(client)) {
    const next = addressIn(hops.pop()!.trim());
    if (next === undefined) return client; // not an address: the proxy that has written it counts
    client = next;
  }
  return client;
}

/** An address, perhaps with a port or a zone, which some proxies write. */
function addressIn(text: string): Address | undefined {
  const bare = text.replace(/^\[(.*)\](?::\d+)?$/, "$1").replace(/^([\d.]+):\d+$/, "$1");
  const host = parseHost(bare);
  return host && unmappedAddress(host.address);
}
