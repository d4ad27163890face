/**
 * The connections of a scan: those of its passes, and those of its interviews.
 *
 * @module
 */
import { type Endpoint, endpointKey, family } from "../core/address.ts";
import type { Outcome } from "../core/record.ts";
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

/** Opens connections, with a limit on open ones. */
export class ScanConnections {
  /** Limits the number of open connections. */
  readonly slots: ConnectionSlots;
  /** The dialer, the limits and the timeouts of connections, and those of the sweep's. */
  readonly link: StreamLinkOptions;
  readonly sweepLink: StreamLinkOptions;
  readonly #ports: ScanSetup["targets"]["ports"];
  /** The visits of the sweep that have not ended, by the keys of their endpoints. */
  readonly #visits = new Map<number | bigint, Visit>();

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
    const connectMs = this.link.limits.sweepConnectMs;
    this.sweepLink = { ...this.link, limits: { ...this.link.limits, connectMs } };
  }

  /**
   * Runs a visit of the sweep. While it runs, {@linkcode underway} returns its outcome.
   *
   * @param run Connects to the peer, and queries it.
   */
  async visit<T>(
    peer: Endpoint,
    protocol: string,
    run: () => Promise<T | Outcome<unknown>>,
  ): Promise<T | Outcome<unknown>> {
    const key = endpointKey(peer);
    const ended = run();
    const outcome = ended.then((one) => isOutcome(one) ? one : undefined, () => undefined);
    this.#visits.set(key, { protocol, outcome });
    try {
      return await ended;
    } finally {
      this.#visits.delete(key);
    }
  }

  /**
   * The outcome of a visit that has not ended; `undefined`: there is no such visit, or it got no
   * connection. An interview that uses it opens no second connection beside the one of the visit.
   */
  async underway(peer: Endpoint, protocol: string): Promise<Outcome<unknown> | undefined> {
    const visit = this.#visits.get(endpointKey(peer));
    return visit?.protocol === protocol ? await visit.outcome : undefined;
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

/** A visit of the sweep: its protocol, and its outcome once it has ended. */
interface Visit {
  readonly protocol: string;
  readonly outcome: Promise<Outcome<unknown> | undefined>;
}

function isOutcome(ended: unknown): ended is Outcome<unknown> {
  return typeof ended === "object";
}
