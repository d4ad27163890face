/**
 * A network as a program sees it: where its sockets, connections, names and time come from.
 *
 * @module
 */
import type { Address, Endpoint } from "../core/address.ts";
import type { Range } from "../targets/ranges.ts";
import type { ServiceFinder } from "../targets/srv.ts";
import type { Clock } from "./clock.ts";
import type { MulticastGroup } from "./deno/udp_socket.ts";
import type { DatagramSocket, Dialer } from "./socket.ts";

/** The network of this machine, or a simulated one in its place. */
export interface Network {
  /** The clock that times everything on it. */
  readonly clock: Clock;
  /** Opens a UDP socket on an address of ours, 0 for any, and a port, 0 for any. */
  readonly openSocket: (local: Endpoint) => DatagramSocket;
  /** Opens TCP connections. */
  readonly dialer: Dialer;
  /**
   * Resolves a name to its addresses, of both families.
   *
   * @throws InputError when it has none.
   */
  readonly resolve: (name: string) => Promise<readonly Address[]>;
  /** Looks up the SRV record of a name. */
  readonly findService: ServiceFinder;
  /** Who opted out. */
  readonly optOuts: OptOutList;
  /** The local networks. */
  readonly local: LocalSockets;
}

/** The interfaces of a machine, and sockets that discovery on local networks needs. */
export interface LocalSockets {
  /** Lists the interfaces. */
  readonly interfaces: () => readonly Deno.NetworkInterfaceInfo[];
  /** Opens a UDP socket on a link-local IPv6 address of an interface. */
  readonly openLink: (address: bigint, zone: string) => DatagramSocket;
  /** Opens a UDP socket that receives what is sent to a multicast group. */
  readonly openGroup: (group: MulticastGroup) => Promise<DatagramSocket>;
}

/** A list of addresses that opted out of scans. */
export interface OptOutList {
  /** Reads the list. */
  readonly read: () => Promise<readonly Range[]>;
  /** Adds an address to it. */
  readonly note: (address: Address) => void;
}

/** The address that stands for any of ours. */
export function anyAddress(family: 4 | 6): Address {
  return family === 4 ? 0 : 0n;
}
