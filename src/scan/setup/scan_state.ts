/**
 * The state of a scan: plain counters, which other code may read at any time. Each number is written
 * by the stage that counts it, when it changes; those of sockets by `SocketCounts`.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import {
  type CanaryCounts,
  type FloodReport,
  noCanaries,
  noFloods,
  noPorts,
  noReplies,
  type PortCounts,
  type RateReport,
  type ReplyCounts,
} from "../../sweep/mod.ts";
import type { AdaptiveReport } from "./adaptive_report.ts";
import type { OfflineReason } from "../../store/events/watch_event.ts";

/** Maximum number of hosts that one line of output names. */
export const MAX_NAMED = 16;

/** An endpoint that replied and was not interviewed. */
export interface OmittedEndpoint {
  /** The endpoint that sent the reply. */
  readonly endpoint: Endpoint;
  /** The protocol in which it replied. */
  readonly protocol: string;
}

/**
 * Why a scan ended. `"incomplete"`: all passes ran, but some servers were not inspected, because no
 * descriptor was free; or the system refused every probe over UDP or TCP.
 */
export type EndReason =
  | "done"
  | "incomplete"
  | "interrupted"
  | "max-results"
  | "max-runtime"
  | "failed";

/** A time in which the scan's own network did not work. */
export interface Outage {
  /** The last reply, or the last packet that the system accepted, Unix milliseconds. */
  readonly since: number;
  /** `no_route`: the system refused all packets; `no_reply`: no server replied any more. */
  readonly reason: OfflineReason;
}

/** Numbers of replies to SYN packets, and of the queries of open ports, by outcome. */
export interface StreamCounts extends PortCounts {
  /** Open ports with a valid reply in the probed protocol. */
  valid: number;
  /** Open ports with another reply. */
  invalid: number;
  /** Open ports that closed the connection without a status. */
  closed: number;
  /** Open ports without a reply to the query. */
  unresponsive: number;
  /** Queries, pending or begun, that were cancelled because their address opted out. */
  cancelled: number;
  /** Open ports that were not queried, because too many of unresponsive networks waited. */
  unqueried: number;
}

/** The progress of the passes over UDP or TCP. */
export interface PassCounts {
  /** The pass that runs, from 1. */
  pass: number;
  /** Number of passes over the transport. */
  passes: number;
  /** Number of visited targets of the pass. */
  position: number;
  /** Number of targets of the pass. */
  size: number;
  /** Number of probes sent: datagrams, or SYN packets. */
  sent: number;
}

/** The counters of a scan's TCP sweep. */
export interface StreamState extends PassCounts {
  /** SYN packets that the system refused to send. */
  refused: number;
  /** Connections that the system refused to begin for lack of a route, those of interviews included. */
  unrouted: number;
  /** SYN packets that wait for a reply, if the engine knows their number. */
  pending: number;
  /** Numbers of replies and queries by outcome. */
  readonly counts: StreamCounts;
  /**
   * The networks and hosts whose ports accept connections and reply to no query: the number of such
   * ports by the name of the network, in this run of the scan.
   */
  readonly unresponsiveNetworks: Map<string, number>;
}

export interface ScanState extends PassCounts {
  /** The id of the scan, a UUIDv7. */
  scanId: string;
  /** When the scan started, milliseconds of its clock. */
  startedAt: number;
  /** When the first probe was sent, Unix milliseconds. */
  firstProbeAt?: number;
  /** When every output had accepted the last row, Unix milliseconds. */
  lastRowAt?: number;
  /** Number of positions of all passes, as far as known. */
  total: number;
  /** Number of visited positions of all passes. */
  visited: number;
  /** The counters of the TCP sweep. */
  readonly tcp: StreamState;
  /** Name of the engine that sends and receives datagrams. */
  engine: string;
  /** Number of sender threads; 0: the main thread sends. */
  threads: number;
  /** Size of the receive buffers of all sockets, bytes. */
  receiveBuffer: number;
  /** Probes that the system refused to send. */
  refused: number;
  /** Datagrams that the system refused to send, by error code; follow-ups included. */
  errors: Readonly<Record<string, number>>;
  /** Number of times that sending had to wait, by error code. */
  waits: Readonly<Record<string, number>>;
  /**
   * Received datagrams that the system dropped: no buffer space, or a bad checksum, if it reports
   * their number.
   */
  dropped: number;
  /** Received datagrams by class. */
  replies: ReplyCounts;
  /** Endpoints that were omitted, the first 1,024. */
  readonly omittedAt: OmittedEndpoint[];
  /** Outcomes of the canaries, which measure packet loss. */
  canaries: CanaryCounts;
  /** Hosts that sent far more datagrams than the scan sent probes to them. */
  readonly floods: FloodReport;
  /** Progress of an adaptive scan; `undefined`: the scan is not adaptive. */
  adaptive?: AdaptiveReport;
  /** Result of the search for the highest rate, if there is one. */
  rate?: RateReport;
  /** Inspections that have not ended. */
  inspecting: number;
  /** Rows that every output has accepted. */
  written: number;
  /** Rows with `alias_of`: an earlier row describes the same server. */
  aliases: number;
  /** Rows that could not be written. */
  lost: number;
  /** Servers that replied to a probe, but to no follow-up. */
  noStatus: number;
  /** Servers that opted out. */
  optedOut: number;
  /** Servers without a row, because no descriptor was free to inspect them. */
  uninspected: number;
  /** Servers whose row is incomplete, because no descriptor was free for a part of it. */
  inspectedInPart: number;
  /** The outage of the scan's own network, while it lasts. */
  outage?: Outage;
  /** Why the scan ended; `undefined` while it runs. */
  ended?: EndReason;
}

/**
 * The transports over which the system refused every probe or connection. The scan then has no result
 * for any target of its passes.
 */
export function refusedTransports(
  { sent, refused, tcp }: Pick<ScanState, "sent" | "refused" | "tcp">,
): ("udp" | "tcp")[] {
  return [
    ...(sent === 0 && refused > 0 ? ["udp" as const] : []),
    ...(tcp.refused + tcp.unrouted > 0 && acceptedSyns(tcp) === 0 ? ["tcp" as const] : []),
  ];
}

/** Number of SYN packets that the system has certainly sent. */
export function acceptedSyns({ sent, pending, counts: { unreachable } }: StreamState): number {
  return Math.max(0, sent - pending - unreachable);
}

/** Number of SYN packets without a reply. */
export function silentSyns({ sent, pending, counts }: StreamState): number {
  return Math.max(0, sent - pending - counts.open - counts.refused - counts.unreachable);
}

/** The counters of a scan without probes over TCP. */
export function noStreams(): StreamCounts {
  return {
    ...noPorts(),
    valid: 0,
    invalid: 0,
    closed: 0,
    unresponsive: 0,
    cancelled: 0,
    unqueried: 0,
  };
}

/** The state of a scan that has not begun. */
export function newState(scanId: string, startedAt: number): ScanState {
  return {
    scanId,
    startedAt,
    pass: 0,
    passes: 0,
    position: 0,
    size: 0,
    total: 0,
    visited: 0,
    sent: 0,
    engine: "portable",
    threads: 0,
    receiveBuffer: 0,
    refused: 0,
    dropped: 0,
    errors: {},
    waits: {},
    tcp: {
      pass: 0,
      passes: 0,
      position: 0,
      size: 0,
      sent: 0,
      refused: 0,
      unrouted: 0,
      pending: 0,
      counts: noStreams(),
      unresponsiveNetworks: new Map(),
    },
    replies: noReplies(),
    omittedAt: [],
    canaries: noCanaries(),
    floods: noFloods(),
    inspecting: 0,
    written: 0,
    aliases: 0,
    lost: 0,
    noStatus: 0,
    optedOut: 0,
    uninspected: 0,
    inspectedInPart: 0,
  };
}
