/**
 * The networks of this machine, from its interfaces.
 *
 * @module
 */
import { isLinkLocal, parseAddress, parseIpv4 } from "../../core/address.ts";
import {
  chooseSweptNetworks,
  type LocalInterface,
  type LocalLink,
  type LocalNetwork,
  type SweptNetworks,
} from "../../scan/lan/mod.ts";

/** The IPv4 networks of this machine, without loopback, and its IPv6 links. */
export function localNetworks(
  interfaces: readonly Deno.NetworkInterfaceInfo[],
): (LocalNetwork | LocalLink)[] {
  return [
    ...withIpv4(interfaces).map(({ address, netmask }) => ({ address, netmask })),
    ...withIpv6(interfaces)
      .filter(({ address }) => isLinkLocal(address))
      .map(({ address, name, scopeid }) => ({
        address,
        zone: Deno.build.os === "windows" ? String(scopeid) : name,
        index: scopeid,
        networks: withIpv6(interfaces)
          .filter((other) => other.name === name && !isLinkLocal(other.address))
          .map(({ address, netmask }) => ({
            start: address & netmask,
            end: (address | ~netmask & ALL_ONES) + 1n,
          })),
      })),
  ];
}

const ALL_ONES = (1n << 128n) - 1n;

function withIpv6(interfaces: readonly Deno.NetworkInterfaceInfo[]) {
  return interfaces.filter(({ family }) => family === "IPv6")
    .map(({ name, address, netmask, scopeid }) => ({
      name,
      address: parseAddress(address.split("%")[0]) as bigint,
      netmask: parseAddress(netmask) as bigint,
      scopeid: scopeid ?? 0,
    }));
}

/** The IPv4 networks that are swept for dedicated servers, and why others are not. */
export function sweptNetworks(interfaces: readonly Deno.NetworkInterfaceInfo[]): SweptNetworks {
  return chooseSweptNetworks(withIpv4(interfaces));
}

function withIpv4(interfaces: readonly Deno.NetworkInterfaceInfo[]): LocalInterface[] {
  return interfaces
    .filter(({ family, address }) => family === "IPv4" && !address.startsWith("127."))
    .map(({ name, mac, address, netmask }) => ({
      name,
      mac,
      address: parseIpv4(address),
      netmask: parseIpv4(netmask),
    }));
}
