/**
 * The network of a program: its sockets, connections, name resolution, interfaces and clock.
 *
 * @module
 */
import type { Address, Endpoint } from "../core/address.ts";
import type { Range } from "../targets/ranges.ts";
import type { ServiceFinder } from "../targets/srv.ts";
import type { Clock } from "./clock.ts";
import type { MulticastGroup } from "./deno/udp_socket.ts";
import type { SendGate } from "./send_gate.ts";
import type { DatagramSocket, Dialer } from "./socket.ts";

/** The network of this machine, or a simulated one in its place. */
export interface Network {
  /** The clock of the network. */
  readonly clock: Clock;
  /**
   * Opens a UDP socket on a local address and port; 0 stands for any.
   *
   * @param gate The gate of its datagrams. Default: none.
   */
  readonly openSocket: (local: Endpoint, gate?: SendGate) => DatagramSocket;
  /** The dialer that opens TCP connections. */
  readonly dialer: Dialer;
  /**
   * Resolves a name to its addresses of both families.
   *
   * @throws InputError when the name has no address.
   */
  readonly resolve: (name: string) => Promise<readonly Address[]>;
  /** Looks up the SRV record of a name. */
  readonly findService: ServiceFinder;
  /** The list of addresses that opted out of scans. */
  readonly optOuts: OptOutList;
  /** The interfaces and sockets for discovery on local networks. */
  readonly local: LocalSockets;
}

/** The interfaces of a machine, and sockets that discovery on local networks needs. */
export interface LocalSockets {
  /** Lists the network interfaces of the machine. */
  readonly interfaces: () => readonly Deno.NetworkInterfaceInfo[];
  /** Opens a UDP socket on a link-local IPv6 address of an interface. */
  readonly openLink: (address: bigint, zone: string) => DatagramSocket;
  /** Opens a UDP socket that receives the datagrams of a multicast group. */
  readonly openGroup: (group: MulticastGroup) => Promise<DatagramSocket>;
}

/** Who added an opt-out, and why. */
export interface OptOutSource {
  /** Who asked for it, or shared it. */
  readonly from: string;
  /** The reason. */
  readonly why: string;
}

/** A list of addresses that opted out of scans. */
export interface OptOutList {
  /** Reads the addresses of the list. */
  readonly read: () => Promise<readonly Range[]>;
  /** Adds an address to the list. Default of `source`: the server's own marker. */
  readonly note: (address: Address, source?: OptOutSource) => void;
  /**
   * A text that differs after the list has changed. Scans and watches that run compare it each second.
   * Default: the list is read when a scan or watch begins.
   */
  readonly version?: () => Promise<string>;
}

/** The wildcard address of a family, which stands for any local address. */
export function anyAddress(family: 4 | 6): Address {
  return family === 4 ? 0 : 0n;
}
