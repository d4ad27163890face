/**
 * The options of a scan's interviews: links, limits, opt-outs.
 *
 * @module
 */
import { type Endpoint, family } from "../../core/address.ts";
import type { InspectOptions } from "../../inspect/mod.ts";
import { ConnectionSlots, type Demultiplexer, type Link } from "../../net/mod.ts";
import type { OptOutRecorder } from "../tables/opt_out_recorder.ts";
import { nonceOf } from "../setup/random_numbers.ts";
import { sentNameAndPort } from "../setup/requested_names.ts";
import type { PortQueries } from "./port_queries.ts";
import type { ScanConnections } from "../tables/scan_connections.ts";
import type { ScanSetup } from "../setup/scan_setup.ts";
import type { ScanTables } from "../tables/scan_tables.ts";

/** The objects of the scan that interviews use, apart from the tables. */
export interface InterviewDependencies {
  /** The sockets of the sweep. */
  readonly demultiplexer: Demultiplexer;
  /** Opens TCP connections, with a limit on open ones. */
  readonly connections: ScanConnections;
  readonly queries: Pick<PortQueries, "underway">;
  readonly optOuts: OptOutRecorder;
}

/**
 * Makes the options of an interview.
 *
 * @param socket Index of the socket that received the sighting; -1: none did.
 * @param signal Cancels the interview.
 */
export type InterviewOptionsOf = (
  endpoint: Endpoint,
  socket: number,
  signal: AbortSignal,
) => InspectOptions;

/** Prepares the options of a scan's interviews; it opens no socket. */
export function interviewOptions(
  setup: ScanSetup,
  { known, suppression, probed, optedOut, shortage }: ScanTables,
  { demultiplexer, connections, queries, optOuts }: InterviewDependencies,
): InterviewOptionsOf {
  const { targets, limits, interviews, io } = setup;
  const exclusive = new ExclusiveLinks(setup, demultiplexer);
  return (endpoint, socket, signal) => ({
    allProtocols: targets.allProtocols,
    follow: interviews.follow,
    verify: interviews.verify,
    retries: limits.retries,
    timeoutMs: limits.timeoutMs,
    clock: io.clock,
    protocols: known.protocolsFor(endpoint),
    known: known.spokenBy(endpoint),
    signal,
    links: {
      shared: () => demultiplexer.link(endpoint, demultiplexer.socketFor(endpoint, socket)),
      exclusive: () => exclusive.open(endpoint),
      stream: (protocol, connectMs) => connections.open(endpoint, protocol, connectMs, signal),
    },
    shortage,
    ...sentNameAndPort(targets, endpoint),
    nonce: () => nonceOf(io.random),
    optsOut: optOuts.isOptOut,
    optedOut: () => optedOut.has(endpoint.address),
    replied: () => suppression.hasReplied(endpoint),
    underway: ({ name }) => queries.underway(endpoint, name),
    withoutReply: (protocol) =>
      suppression.hasProbedFor(protocol) && probed.has(endpoint, protocol),
  });
}

/** Opens links with a socket each. The number of open sockets is limited. */
class ExclusiveLinks {
  readonly #slots: ConnectionSlots;

  /**
   * Prepares the limit; it opens no link.
   *
   * @param demultiplexer Passes datagrams from these sockets to their links.
   */
  constructor(
    private readonly options: ScanSetup,
    private readonly demultiplexer: Demultiplexer,
  ) {
    this.#slots = new ConnectionSlots(options.limits.exclusiveSockets ?? Infinity, Infinity);
  }

  /** Opens a link on its own socket. Waits while too many such sockets are open. */
  async open(peer: Endpoint): Promise<Link> {
    const free = await this.#slots.acquire(peer.address);
    try {
      const socket = this.options.io.openExclusive(family(peer.address));
      return this.demultiplexer.exclusiveLink(peer, socket, free);
    } catch (error) {
      free();
      throw error;
    }
  }
}
