/**
 * Chooses the networks of this machine that `lan` sweeps for dedicated servers. Java servers neither
 * announce themselves nor reply to broadcasts, and Bedrock servers need not.
 *
 * @module
 */
import { formatAddress } from "../../core/address.ts";
import type { LocalNetwork } from "./discovery_setup.ts";

/** An interface with an IPv4 address. */
export interface LocalInterface extends LocalNetwork {
  /** Name of the interface, such as `eth0`. */
  readonly name: string;
  /** MAC address of the interface, with colons; only zeros for an interface without one. */
  readonly mac: string;
}

/** The networks that are swept, and those that are not. */
export interface SweptNetworks {
  /** The networks that `lan` sweeps. */
  readonly swept: readonly LocalNetwork[];
  /** A line for each network that is not swept: interface, network and reason. */
  readonly skipped: readonly string[];
}

/** The largest network that is swept: /22, 1,022 hosts. */
const MIN_BITS = 22;
/** The smallest network that is swept: /30, two hosts beside the network and broadcast addresses. */
const MAX_BITS = 30;

/** The private networks of RFC 1918. */
const PRIVATE = [
  { address: 0x0a000000, netmask: 0xff000000 },
  { address: 0xac100000, netmask: 0xfff00000 },
  { address: 0xc0a80000, netmask: 0xffff0000 },
];

/**
 * A tunnel has no MAC address, or the name of a TAP device, of ZeroTier, of Tailscale or of a VPN
 * client.
 */
const NO_MAC = /^[0:]*$/;
const TUNNEL = /^(tun|tap|utun|wg|ppp|ipsec|gre|gif|sit|zt|tailscale|nordlynx|feth)/i;
/**
 * Names of container networks. Ports that containers publish are open on the machine's own address.
 */
const CONTAINERS = /^(docker|br-[0-9a-f]{12}$|podman|cni|flannel|cali|veth|lxc|lxd)/i;

/**
 * Chooses the networks.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 *
 * const lan = { name: "eth0", mac: "02:00:00:00:00:01", address: 0xc0a80105, netmask: 0xffffff00 };
 * const vpn = { name: "wg0", mac: "00:00:00:00:00:00", address: 0x0a080002, netmask: 0xffffff00 };
 * assertEquals(chooseSweptNetworks([lan, vpn]), {
 *   swept: [{ address: 0xc0a80105, netmask: 0xffffff00 }],
 *   skipped: ["wg0 10.8.0.0/24: a tunnel"],
 * });
 * ```
 */
export function chooseSweptNetworks(interfaces: readonly LocalInterface[]): SweptNetworks {
  const swept: LocalNetwork[] = [];
  const skipped: string[] = [];
  for (const one of interfaces) {
    const { name, address, netmask } = one;
    const reason = skipReason(one);
    if (reason === undefined) swept.push({ address, netmask });
    else {
      skipped.push(
        `${name} ${formatAddress((address & netmask) >>> 0)}/${bitsOf(netmask)}: ${reason}`,
      );
    }
  }
  return { swept, skipped };
}

function skipReason({ name, mac, address, netmask }: LocalInterface): string | undefined {
  if (NO_MAC.test(mac) || TUNNEL.test(name)) return "a tunnel";
  if (CONTAINERS.test(name)) return "a network of containers";
  const isPrivate = PRIVATE.some((block) => ((address ^ block.address) & block.netmask) === 0);
  if (!isPrivate) return "not a private network (RFC 1918)";
  const bits = bitsOf(netmask);
  if (bits < MIN_BITS) return `larger than /${MIN_BITS}`;
  return bits > MAX_BITS ? "no host addresses" : undefined;
}

function bitsOf(netmask: number): number {
  return Math.clz32(~netmask);
}
