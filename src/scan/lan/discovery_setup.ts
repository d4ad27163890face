/**
 * The options of a discovery on the local networks, and its result.
 *
 * @module
 */
import type { ProtocolSelection } from "../../protocols/list.ts";
import { type Endpoint, isLinkLocal } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import type { RetryLimits } from "../../inspect/mod.ts";
import type { DatagramSocket, Dialer, Link } from "../../net/mod.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { RecordWithAttachments } from "../../core/record.ts";
import type { Range } from "../../targets/ranges.ts";
import type { FoundServers } from "./found_servers.ts";

/** An IPv4 network of this machine. */
export interface LocalNetwork {
  /** This machine's address in the network. */
  readonly address: number;
  /** The network mask, as a 32-bit number. */
  readonly netmask: number;
}

/** A link of this machine with IPv6. */
export interface LocalLink {
  /** This machine's link-local address. */
  readonly address: bigint;
  /** Name of the interface. */
  readonly zone: string;
  /** Index of the interface. */
  readonly index: number;
  /** The networks on the link in which this machine has other addresses. */
  readonly networks: readonly Range[];
}

/** Options of the sweep for dedicated servers over TCP. Broadcasts do not find these servers. */
export interface LanSweepOptions {
  /** The networks to sweep: /22 or smaller, but not smaller than /30. */
  readonly networks: readonly LocalNetwork[];
  /** How long the sweep may take, milliseconds. */
  readonly maxMs: number;
  /** Seed of the order; `undefined`: no shuffling. */
  readonly seed: number | undefined;
  /** Opens the TCP connections of the sweep. */
  readonly dialer: Dialer;
}

export interface DiscoverySetup extends RetryLimits, ProtocolSelection {
  /** The IPv4 networks and the IPv6 links. A link that the system refuses is skipped. */
  readonly networks: readonly (LocalNetwork | LocalLink)[];
  /** The protocol whose probe is broadcast. */
  readonly protocol: Protocol;
  /** The destination ports of the broadcasts, by address family. */
  readonly ports: Readonly<Record<4 | 6, readonly number[]>>;
  /** How long to listen, milliseconds; `Infinity`: until `signal` is aborted. */
  readonly listenMs: number;
  /** Whether servers that were found are queried at regular intervals. */
  readonly continuous: boolean;
  /** Timeout for each reply in an interview, milliseconds. */
  readonly timeoutMs: number;
  /** Opens a socket that may send broadcasts. */
  readonly open: (network: LocalNetwork | LocalLink) => DatagramSocket;
  /**
   * Opens a socket that receives the announcements of Java worlds in an address family. Default: they
   * are not received.
   */
  readonly openGroup?: (bits: 4 | 6) => Promise<DatagramSocket>;
  /** Opens a TCP connection to a server. Default: servers are not queried over TCP. */
  readonly dial?: (endpoint: Endpoint, signal: AbortSignal) => Link;
  /** Options of the sweep for dedicated servers. Default: no sweep. */
  readonly sweep?: LanSweepOptions;
  /** Addresses that opted out. They get no row, and no datagrams except broadcasts. */
  readonly optedOut?: readonly Range[];
  /** 31 random bits. A pong that repeats these bits is a reply to a ping of this discovery. */
  readonly token: number;
  /** Returns whether a MOTD contains an opt-out. */
  readonly optsOut: (motd: string) => boolean;
  /** Whether rows contain names of players. */
  readonly players: boolean;
  /** The value of the column `scan_id`. */
  readonly scanId: string;
  /** The list that receives the servers. */
  readonly servers: FoundServers;
  /** Called once for each server, when its first record is complete. */
  readonly onServer: (record: RecordWithAttachments) => void;
  /**
   * Called with later records of a server that differ from the record before, and with an equal one once a
   * minute. Default: later records are only listed.
   */
  readonly onChange?: (record: RecordWithAttachments) => void;
  /** Whether `onServer` and `onChange` get records with attachments. Default: no. */
  readonly attach?: boolean;
  /** Counts what the discovery sends and receives. */
  readonly counts: LanCounts;
}

/** What a discovery has sent and received so far. */
export interface LanCounts {
  /** Number of broadcast datagrams, and of started connections of the sweep. */
  sent: number;
  /** Number of interviews in which a server replied, and of announcements that led to one. */
  replies: number;
}

/** A protocol whose probe may be broadcast. */
export type BroadcastProtocol = Protocol & Required<Pick<Protocol, "broadcastPorts">>;

/** The protocol whose probe is broadcast: the first one that declares broadcast ports. */
export function broadcastProtocol(
  allProtocols: readonly Protocol[],
): BroadcastProtocol {
  const isBroadcast = (one: Protocol): one is BroadcastProtocol => one.broadcastPorts !== undefined;
  const found = allProtocols.find(isBroadcast);
  if (found !== undefined) return found;
  throw new InputError("Cannot search the LAN: no protocol has a probe that can be broadcast");
}

/** The result of a discovery. */
export interface LanEnd {
  /** Number of probes sent. */
  readonly sent: number;
  /** Number of connections of the sweep for dedicated servers that were not made within the time limit. */
  readonly unswept: number;
  /** Number of connections of the sweep that were not tried because no descriptor was free. */
  readonly short: number;
  /** Error codes of sends and sockets that the system refused. */
  readonly refusals: readonly string[];
}

/**
 * The directed broadcast address of a network; `undefined` if a network has none.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(broadcastOf({ address: 0xc0a80105, netmask: 0xffffff00 }), 0xc0a801ff);
 * ```
 */
export function broadcastOf({ address, netmask }: LocalNetwork): number | undefined {
  const hosts = ~netmask >>> 0;
  return hosts < 3 ? undefined : (address | hosts) >>> 0;
}

/** Whether an endpoint is in the network, or on the link. */
export function isInsideNetwork({ address }: Endpoint, network: LocalNetwork | LocalLink): boolean {
  if ("zone" in network) {
    if (typeof address !== "bigint") return false;
    return isLinkLocal(address) ||
      network.networks.some(({ start, end }) => start <= address && address < end);
  }
  return typeof address === "number" && ((address ^ network.address) & network.netmask) === 0;
}
