/**
 * The networks of this machine, from its interfaces.
 *
 * @module
 */
import { parseAddress, parseIpv4 } from "../../core/address.ts";
import {
  chooseJavaNetworks,
  type JavaNetworks,
  type LocalInterface,
  type LocalLink,
  type LocalNetwork,
} from "../../scan/lan/mod.ts";

/** The IPv4 networks of this machine, without loopback, and its IPv6 links. */
export function localNetworks(
  interfaces: readonly Deno.NetworkInterfaceInfo[],
): (LocalNetwork | LocalLink)[] {
  return [
    ...withIpv4(interfaces).map(({ address, netmask }) => ({ address, netmask })),
    ...interfaces
      .filter(({ family, address }) => family === "IPv6" && /^fe80:/i.test(address))
      .map(({ address, name, scopeid }) => ({
        address: parseAddress(address) as bigint,
        zone: Deno.build.os === "windows" ? String(scopeid) : name,
      })),
  ];
}

/** The IPv4 networks that are swept for Java servers, and why others are not. */
export function javaNetworks(interfaces: readonly Deno.NetworkInterfaceInfo[]): JavaNetworks {
  return chooseJavaNetworks(withIpv4(interfaces));
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
