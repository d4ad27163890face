/**
 * The connections of a scan: those that query open ports, and those of its interviews.
 *
 * @module
 */
import { type Endpoint, family } from "../core/address.ts";
import { ConnectionSlots } from "../net/connection_slots.ts";
import type { Link } from "../net/socket.ts";
import { STREAM_LIMITS, StreamLink, type StreamLinkOptions } from "../net/stream_link.ts";
import type { Throttle } from "../net/throttle.ts";
import type { ScanSetup } from "./scan_setup.ts";
import type { ScanTables } from "./scan_tables.ts";

/**
 * Maximum number of concurrent connections to one address. A client opens one, and opens another
 * for a fallback or a follow-up.
 */
export const MAX_OF_HOST = 4;

/** How the connections of a scan are divided. All of them together need no more descriptors than allowed. */
export interface DividedConnections {
  /** Connections on which servers are queried. */
  readonly queried: number;
  /** Connections to open ports that wait for their query. */
  readonly waiting: number;
  /** Connections of the sweep that wait to be accepted. */
  readonly pending: number;
}

/** Divides the connections: queries get at most half, and the sweep what they leave. Each gets at least one. */
export function divideConnections(
  { connections, concurrency }: Pick<ScanSetup["limits"], "connections" | "concurrency">,
): DividedConnections {
  const queried = Math.max(1, Math.min(concurrency, Math.floor(connections / 2)));
  const waiting = Math.max(1, Math.floor(queried / 4));
  return { queried, waiting, pending: Math.max(1, connections - queried - waiting) };
}

/** Opens connections, with a limit on open ones. */
export class ScanConnections {
  /** Limits the number of open connections. */
  readonly slots: ConnectionSlots;
  /** The dialer, the limits and the timeouts of connections. */
  readonly link: StreamLinkOptions;
  readonly #ports: ScanSetup["targets"]["ports"];

  /** Prepares the limits and timeouts; it opens no connection. */
  constructor(
    { targets, limits, io: { dialer, clock, gate } }: ScanSetup,
    { stop, shortage }: Pick<ScanTables, "stop" | "shortage">,
    throttle: Throttle,
  ) {
    this.#ports = targets.ports;
    this.slots = new ConnectionSlots(divideConnections(limits).queried, MAX_OF_HOST);
    this.link = {
      dialer,
      throttle,
      clock,
      limits: limits.streamLimits ?? STREAM_LIMITS,
      signal: stop.interviewSignal,
      gate,
      onShortage: () => this.slots.reduceLimit(), // from now on, fewer connections are open at once
      shortage,
    };
  }

  /**
   * Opens a connection to a server that has replied in another protocol.
   *
   * @param followUpMs Timeout for opening the connection on a port where the protocol is unusual;
   * `undefined`: the usual timeout.
   * @param signal Cancels the connection.
   */
  async open(
    peer: Endpoint,
    protocol: string,
    followUpMs: number | undefined,
    signal: AbortSignal,
  ): Promise<Link> {
    const { limits } = this.link;
    const expected = this.#ports(protocol, family(peer.address)).includes(peer.port);
    const connectMs = expected ? limits.connectMs : followUpMs ?? limits.connectMs;
    const onClose = await this.slots.acquire(peer.address);
    return new StreamLink(peer, {
      ...this.link,
      limits: { ...limits, connectMs },
      signal,
      onClose,
    });
  }
}
