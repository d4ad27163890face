/**
 * The contract of sockets that probe TCP ports: by raw SYN packets, or by connections.
 *
 * @module
 */
import type { Endpoint } from "../core/address.ts";
import type { Clock } from "./clock.ts";
import type { Shortage } from "./file_descriptors.ts";
import type { SendGate } from "./send_gate.ts";
import type { Batch, ProbeSocket, ReceiverCapacity, SocketErrors } from "./socket.ts";
import type { Stream } from "./stream.ts";

/** What a reply shows about a port: a SYN-ACK, a RST, or an ICMP error. */
export type PortState = "open" | "refused" | "unreachable";

/** A reply to a SYN packet. The object is valid until the receiver returns. */
export interface PortReply {
  /** What it shows about the port. */
  readonly state: PortState;
  /** The token that the reply repeats, or that the socket kept with the connection: 32 bits, unsigned. */
  readonly token: number;
  /** The stamp of the probe, microseconds modulo 2^32; `undefined`: the reply does not repeat it. */
  readonly clock: number | undefined;
  /** The open connection, if the socket has made one. The receiver has to dispose of it. */
  readonly stream: Stream | undefined;
  /** Whether the same refusal or ICMP error arrived within the last second. Default: false. */
  readonly isRepeated?: boolean;
}

/**
 * Called for each reply. A reply may be forged: the receiver compares the token, and returns true if it is
 * that of a probe. A socket of raw SYN packets resets a connection at the peer only then.
 */
export type PortReplyReceiver = (reply: PortReply, from: Endpoint) => boolean | void;

/**
 * A socket whose probes are SYN packets. A probe without a reply within `PortWait.ms` is forgotten without a
 * further packet, if the socket keeps any state of it.
 */
export interface PortSocket<B extends Batch = Batch> extends ProbeSocket<B> {
  /**
   * Number of probes that wait for a reply; `undefined`: the socket keeps no state of probes, and late
   * replies may arrive at any time.
   */
  readonly pending: number | undefined;
  /** Whether a probe of an endpoint waits for a reply. Default: the socket does not know. */
  hasPending?(endpoint: Endpoint): boolean;
  /**
   * Delivers every reply to the receiver.
   *
   * @param capacity While it returns a promise, no reply is delivered until the promise settles.
   * Default: the receiver accepts every reply.
   * @returns Resolves when the socket is disposed of; rejects when the socket or the receiver
   * fails.
   */
  listen(receiver: PortReplyReceiver, capacity?: ReceiverCapacity): Promise<void>;
}

/**
 * The longest time for a reply to a SYN packet of a sweep, milliseconds. A system repeats the packet of a
 * connection after a second: a target without a reply gets one packet.
 */
export const SWEEP_WAIT_MS = 900;

/** The time for a reply to a SYN packet. It follows the round trips that are measured. */
export interface PortWait {
  /** Milliseconds, below the second after which systems repeat a SYN packet. */
  readonly ms: number;
}

/**
 * The window of probes in flight uses a quarter of a receive buffer, in datagrams of 832 bytes: see
 * sweep/probe_window.ts.
 */
const BUFFER_PER_PROBE = 4 * 832;

/**
 * The receive buffer, in bytes, whose window is a number of connections. A socket of connections drops
 * nothing, so as many may wait at once.
 */
export function bufferFor(connections: number): number {
  return BUFFER_PER_PROBE * connections;
}

/** What a {@linkcode PortSocket} uses. */
export interface PortSocketOptions {
  /** The clock of timeouts and stamps. */
  readonly clock: Clock;
  /** The time for replies. */
  readonly wait: PortWait;
  /** Maximum number of connections that wait at once, at least 1; a socket without connections ignores it. */
  readonly atOnce: number;
  /** The gate of SYN packets. Default: none. */
  readonly gate?: SendGate;
  /** The state of a shortage of descriptors or ports, which all connections share. Default: none. */
  readonly shortage?: Shortage;
  /** The error counts to add to. Default: counts of its own. */
  readonly errors?: SocketErrors;
}
