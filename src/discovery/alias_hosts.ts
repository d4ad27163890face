/**
 * Hosts that show one server on many ports, and networks of such hosts. An adaptive scan would
 * otherwise take each port for a server, and probe there more and more.
 *
 * @module
 */
import type { PassResult } from "./contract.ts";

/** A host that shows the same reply on this many ports is one server. */
const PORTS_OF_ALIAS = 8;
/** A /24 with this many such hosts is not probed any more. */
const HOSTS_OF_NETWORK = 16;
/** Bits of a fingerprint that are kept: a key of address and fingerprint is an exact number. */
const FINGERPRINT_BITS = 20;

/**
 * The hosts and networks that are not probed any more.
 *
 * @example
 * ```ts
 * import { AliasHosts } from "../../src/discovery/alias_hosts.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const aliases = new AliasHosts();
 * for (let port = 1; port <= 8; port++) aliases.note(0xc0000201, 0x1234);
 * assertEquals(aliases.has(0xc0000201), true);
 * ```
 */
export class AliasHosts {
  /** Number of ports with the same reply, by host and fingerprint. */
  readonly #ports = new Map<number, number>();
  readonly #hosts = new Set<number>();
  /** Number of ended hosts, by /24. */
  readonly #hostsOf = new Map<number, number>();
  readonly #networks = new Set<number>();
  #ended: { endedHosts: number[]; endedNetworks: number[] } = { endedHosts: [], endedNetworks: [] };

  /**
   * Notes a server: call it once for each endpoint.
   *
   * @param address The IPv4 address.
   * @param fingerprint A hash of the parts of its reply that do not change, 32 bits.
   * @returns What ended by it: the host, the host with its /24, or nothing.
   */
  note(address: number, fingerprint: number): "host" | "network" | undefined {
    if (this.#hosts.has(address)) return undefined;
    const kept = fingerprint >>> 32 - FINGERPRINT_BITS;
    const key = address * 2 ** FINGERPRINT_BITS + kept;
    const ports = (this.#ports.get(key) ?? 0) + 1;
    this.#ports.set(key, ports);
    if (ports < PORTS_OF_ALIAS) return undefined;
    return this.endHost(address);
  }

  /** Ends a host, for example one that an earlier run of a scan ended. */
  endHost(address: number): "host" | "network" {
    this.#hosts.add(address);
    this.#ended.endedHosts.push(address);
    const network = Math.floor(address / 256);
    const hosts = (this.#hostsOf.get(network) ?? 0) + 1;
    this.#hostsOf.set(network, hosts);
    if (hosts !== HOSTS_OF_NETWORK) return "host";
    this.#networks.add(network);
    this.#ended.endedNetworks.push(network);
    return "network";
  }

  /** The hosts and networks that ended since the last call. */
  take(): Pick<PassResult, "endedHosts" | "endedNetworks"> {
    const ended = this.#ended;
    this.#ended = { endedHosts: [], endedNetworks: [] };
    return ended;
  }

  get ended(): { readonly hosts: number; readonly networks: number } {
    return { hosts: this.#hosts.size, networks: this.#networks.size };
  }

  /** Whether an address is not probed any more. */
  has(address: number): boolean {
    return this.#hosts.has(address) ||
      this.#networks.size > 0 && this.#networks.has(Math.floor(address / 256));
  }
}
