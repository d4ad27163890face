/**
 * The connections of a scan: those that query open ports, and those of its interviews.
 *
 * @module
 */
import { type Endpoint, family } from "../../core/address.ts";
import {
  ConnectionSlots,
  type Link,
  STREAM_LIMITS,
  StreamLink,
  type StreamLinkOptions,
  type Throttle,
} from "../../net/mod.ts";
import type { ScanSetup } from "../setup/scan_setup.ts";
import type { ScanTables } from "./scan_tables.ts";

/**
 * Maximum number of concurrent connections to one address. A client opens one, and opens another
 * for a fallback or a follow-up.
 */
export const MAX_OF_HOST = 4;

/**
 * Maximum number of connections to open ports that wait for their query. They need descriptors beside
 * those of `connections`.
 */
export function waitingConnections(
  { connections }: Pick<ScanSetup["limits"], "connections">,
): number {
  return Math.max(1, Math.floor(connections / 4));
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
    this.slots = new ConnectionSlots(limits.connections, MAX_OF_HOST);
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
