/**
 * Networks and hosts whose ports accept connections and reply to no query: tarpits, and firewalls that
 * accept every connection (SYN proxies).
 *
 * @module
 */
import { type Address, formatAddress } from "../../../core/address.ts";
import { count } from "../../../sweep/mod.ts";
import { networkOf, networkStart } from "../../../targets/shards.ts";

/** Number of queries without a reply, and without a valid one between them, that make a network unresponsive. */
const LIMIT = 16;
/** Maximum size of each table. */
const MAX_COUNTED = 65_536;

/** Counts queries of open ports without a reply, by /24 of IPv4 or /48 of IPv6, and by host. */
export class UnresponsiveNetworks {
  readonly #ofNetwork = new Map<Address, number>();
  readonly #ofHost = new Map<Address, number>();

  /** @param ports The table to update: the number of ports without a reply of each, by the names. */
  constructor(private readonly ports: Map<string, number>) {}

  /** The name of the unresponsive network, or host, of an address; `undefined`: there is none. */
  of(address: Address): string | undefined {
    return this.ports.size === 0
      ? undefined
      : namesOf(address).find((name) => this.ports.has(name));
  }

  /**
   * Counts a query of an open port that ended without a byte.
   *
   * @returns The names of what has become unresponsive: the network and the host, or the host. Else none.
   */
  add(address: Address): string[] {
    const known = this.of(address);
    if (known !== undefined) {
      this.ports.set(known, this.ports.get(known)! + 1);
      return [];
    }
    const network = networkOf(address);
    const ofNetwork = count(this.#ofNetwork, network, 1, MAX_COUNTED);
    const ofHost = count(this.#ofHost, address, 1, MAX_COUNTED);
    const isHost = ofHost >= LIMIT;
    if (!isHost && ofNetwork < LIMIT || this.ports.size >= MAX_COUNTED) return [];
    // one such host does not make its network unresponsive, two do
    if (isHost) this.#ofNetwork.set(network, Math.max(0, ofNetwork - LIMIT / 2));
    const names = namesOf(address).slice(isHost ? 1 : 0);
    this.ports.set(names[0], isHost ? ofHost : ofNetwork);
    return names;
  }

  /** Counts from 0 again after a valid reply. Returns the names that are not unresponsive any more. */
  reset(address: Address): string[] {
    this.#ofNetwork.delete(networkOf(address));
    this.#ofHost.delete(address);
    return this.ports.size === 0 ? [] : namesOf(address).filter((name) => this.ports.delete(name));
  }
}

/** The names of the network and of the host of an address: `10.1.2.0/24`, `10.1.2.3`. */
function namesOf(address: Address): [network: string, host: string] {
  const bits = typeof address === "number" ? 24 : 48;
  return [`${formatAddress(networkStart(networkOf(address)))}/${bits}`, formatAddress(address)];
}
