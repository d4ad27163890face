/**
 * What a look around the local networks is told, and how it ends.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import type { RetryLimits } from "../../inspect/retry.ts";
import type { DatagramSocket, Dialer, Link } from "../../net/socket.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { ServerRecord } from "../../core/record.ts";
import type { Range } from "../../targets/ranges.ts";
import type { FoundServers } from "./found_servers.ts";

/** An IPv4 network that we are part of. */
export interface LocalNetwork {
  /** Our address in it. */
  readonly address: number;
  /** Its network mask. */
  readonly netmask: number;
}

/** A link on which we speak IPv6. */
export interface LocalLink {
  /** Our link-local address. */
  readonly address: bigint;
  /** Its interface. */
  readonly zone: string;
}

/** How to look for dedicated Java servers, which neither announce themselves nor answer broadcasts. */
export interface JavaSweepOptions {
  /** The networks to sweep, of at most /22 and at least /30. */
  readonly networks: readonly LocalNetwork[];
  /** How long the sweep may take, milliseconds. */
  readonly mostMs: number;
  /** Seed of the order; `undefined`: no shuffling. */
  readonly seed: number | undefined;
  /** Opens connections. */
  readonly dialer: Dialer;
}

/** How to look around. */
export interface DiscoverySetup extends RetryLimits {
  /** The networks, and the links: these are asked as well as the system lets us. */
  readonly networks: readonly (LocalNetwork | LocalLink)[];
  /** The protocol that is asked for, which must have a probe. */
  readonly protocol: Protocol;
  /** All protocols that each server is asked. */
  readonly protocols: readonly Protocol[];
  /** Every protocol of the program, in order of rank. Default: PROTOCOLS. */
  readonly allProtocols?: readonly Protocol[];
  /** The ports to ask, by family. */
  readonly ports: Readonly<Record<4 | 6, readonly number[]>>;
  /** How long to listen, milliseconds; `Infinity`: until told to end. */
  readonly listenMs: number;
  /** Whether servers that were found are asked again and again. */
  readonly watch: boolean;
  /** How long to wait for an answer in a conversation, milliseconds. */
  readonly timeoutMs: number;
  /** Opens a socket that may send to everybody in a network. */
  readonly open: (network: LocalNetwork | LocalLink) => DatagramSocket;
  /** Opens a socket that hears what Java worlds announce, where that is wanted. */
  readonly openGroup?: () => Promise<DatagramSocket>;
  /** Talks over TCP with a Java server; where it is missing, none is asked. */
  readonly dial?: (endpoint: Endpoint) => Link;
  /** How to look for dedicated Java servers. Default: not at all. */
  readonly sweep?: JavaSweepOptions;
  /** Addresses that opted out: no row comes of them, and nothing but broadcasts goes to them. */
  readonly optedOut?: readonly Range[];
  /** 31 random bits that prove that an answer is to our ping. */
  readonly token: number;
  /** Whether a MOTD asks scanners to stay away. */
  readonly optsOut: (motd: string) => boolean;
  /** Whether rows name players. */
  readonly players: boolean;
  /** The name for the rows. */
  readonly scanId: string;
  /** Where servers are kept. */
  readonly neighbours: FoundServers;
  /** Gets each server when it is found. */
  readonly onServer: (record: ServerRecord) => void;
}

/** A protocol with a discovery form. */
export type BroadcastProtocol = Protocol & Required<Pick<Protocol, "broadcastPorts">>;

/** The protocol whose probe is broadcast: the first one with a discovery form. */
export function broadcastProtocol(
  allProtocols: readonly Protocol[],
): BroadcastProtocol {
  const isBroadcast = (one: Protocol): one is BroadcastProtocol => one.broadcastPorts !== undefined;
  const found = allProtocols.find(isBroadcast);
  if (found !== undefined) return found;
  throw new InputError("Cannot look around: no protocol has a probe that can be broadcast");
}

/** What became of the questions. */
export interface LanEnd {
  /** How many left. */
  readonly sent: number;
  /** Addresses that the sweep for dedicated Java servers did not reach in time. */
  readonly unswept: number;
  /** Addresses that this sweep left out for lack of descriptors. */
  readonly short: number;
  /** Why the system refused to send others, or to listen: error codes. */
  readonly refusals: readonly string[];
}

/**
 * Everybody's address in a network; `undefined` where a network has none.
 *
 * @example
 * ```ts
 * import { broadcastOf } from "blocksweep/scan";
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
  if ("zone" in network) return typeof address === "bigint" && address >> 118n === 0x3fan; // fe80::/10
  return typeof address === "number" && ((address ^ network.address) & network.netmask) === 0;
}
