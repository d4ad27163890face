/**
 * Inspects the endpoints of a scan. The interview of a host that floods, or whose address is forged
 * in a flood, uses one protocol and no follow-ups. It uses a socket of its own, because a sender of
 * forged datagrams cannot find out the port of that socket.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import type { Sighting } from "../../core/record.ts";
import {
  inspect,
  type Inspection,
  inspectKnown,
  type InspectOptions,
} from "../../inspect/inspect.ts";
import type { ProtocolReply } from "../../inspect/protocol_reply.ts";
import type { Demultiplexer } from "../../net/demultiplexer.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { ExclusiveLinks } from "../exclusive_links.ts";
import type { OptOutRecorder } from "../opt_outs/opt_out_recorder.ts";
import { nonceOf } from "../random_numbers.ts";
import { requestedName } from "../requested_names.ts";
import type { ScanConnections } from "../scan_connections.ts";
import type { ScanSetup } from "../scan_setup.ts";
import type { ScanTables } from "../scan_tables.ts";

/** A server that is known to speak some protocols. */
interface KnownEndpoint {
  readonly endpoint: Endpoint;
  readonly spoken: readonly Protocol[];
}

/** The parts of the scan that inspections use, apart from the tables. */
export interface InspectionParts {
  /** The sockets of the sweep. */
  readonly demultiplexer: Demultiplexer;
  /** Opens TCP connections, with a limit on open ones. */
  readonly connections: ScanConnections;
  /** Recognises and records opt-outs. */
  readonly optOuts: OptOutRecorder;
}

/** Inspects sightings and known servers with the options, sockets and tables of a scan. */
export class EndpointInspections {
  readonly #exclusiveLinks: ExclusiveLinks;

  /** Stores the options and tables; it opens no socket. */
  constructor(
    private readonly options: ScanSetup,
    private readonly tables: ScanTables,
    private readonly parts: InspectionParts,
  ) {
    this.#exclusiveLinks = new ExclusiveLinks(options, parts.demultiplexer);
  }

  /**
   * Inspects a sighting or a known server. For a flooding host, the inspection ends after the first
   * reply.
   *
   * @param firstReply The reply that contains the status of the sighting, if it has one.
   */
  async inspect(
    subject: Sighting | KnownEndpoint,
    firstReply?: ProtocolReply,
  ): Promise<Inspection> {
    const { endpoint: { address } } = subject;
    const { floods, signals } = this.tables;
    return await signals.run(address, async (signal) => {
      const options = { ...this.#optionsFor(subject, signal), firstReply };
      if (!floods.has(address)) {
        const found = await inspectSubject(subject, options);
        if (!floods.has(address) || signal.aborted) return found;
        // The flood has cancelled the links of the interview.
        if (!isLost(found)) return withoutRest(found, options);
      }
      const links = { ...options.links, shared: options.links.exclusive };
      const firstOnly = { ...options, links, follow: false, verify: false };
      const again = "spoken" in subject ? subject : { ...subject, known: undefined };
      return withoutRest(await inspectSubject(again, firstOnly), options);
    });
  }

  #optionsFor(subject: Sighting | KnownEndpoint, signal: AbortSignal): InspectOptions {
    const { targets, limits: { retries, timeoutMs }, interviews, io: { clock, random } } =
      this.options;
    const { known, suppression, probed, optedOut, shortage } = this.tables;
    const { demultiplexer, connections, optOuts } = this.parts;
    const { endpoint } = subject;
    const socket = "spoken" in subject ? -1 : subject.socket;
    return {
      allProtocols: targets.allProtocols,
      follow: interviews.follow,
      verify: interviews.verify,
      retries,
      timeoutMs,
      clock,
      protocols: known.protocolsFor(endpoint),
      signal,
      links: {
        shared: () => demultiplexer.link(endpoint, demultiplexer.socketFor(endpoint, socket)),
        exclusive: () => this.#exclusiveLinks.open(endpoint),
        stream: (protocol, connectMs) => connections.open(endpoint, protocol, connectMs, signal),
      },
      shortage,
      requestedAs: requestedName(targets, endpoint).sent,
      nonce: () => nonceOf(random),
      optsOut: optOuts.isOptOut,
      optedOut: () => optedOut.has(endpoint.address),
      replied: () => suppression.hasReplied(endpoint),
      withoutReply: (protocol) =>
        suppression.hasProbedFor(protocol) && probed.has(endpoint, protocol),
    };
  }
}

function inspectSubject(
  subject: Sighting | KnownEndpoint,
  options: InspectOptions,
): Promise<Inspection> {
  return "spoken" in subject
    ? inspectKnown(subject.endpoint, subject.spoken, options)
    : inspect(subject, options);
}

/** Whether the first exchange had no result, for a reason other than a lack of descriptors. */
function isLost({ replies, failure, exhausted }: Inspection): boolean {
  return failure === "noReply" || failure === "cancelled" ||
    failure === undefined && replies.length === 0 && !exhausted;
}

/**
 * Marks an inspection as incomplete (`isCutShort`) if follow-ups or a verification were omitted.
 */
function withoutRest(
  found: Inspection,
  { protocols, follow, verify }: InspectOptions,
): Inspection {
  const omitsRest = verify || follow && protocols.length > 1;
  return omitsRest && found.replies.length > 0 ? { ...found, isCutShort: true } : found;
}
