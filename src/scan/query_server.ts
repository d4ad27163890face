/**
 * Queries one server without a sweep.
 *
 * @module
 */
import { GAME_PORT } from "../protocols/usual_ports.ts";
import type { ProtocolSelection } from "../protocols/list.ts";
import { type Endpoint, family } from "../core/address.ts";
import type { RetryLimits } from "../inspect/converse.ts";
import { type InterviewResult, runInterview } from "../inspect/run_interview.ts";
import { mergeReplies } from "../inspect/merge.ts";
import type { DatagramSocket, Dialer } from "../net/socket.ts";
import { exclusiveLink } from "../net/peer_link.ts";
import { STREAM_LIMITS, type StreamLimits, StreamLink } from "../net/stream_link.ts";
import { HOST_RATE, Throttle } from "../net/throttle.ts";
import { motdAsSent, type Protocol } from "../protocols/protocol.ts";
import type { ServerRecord } from "../core/record.ts";
import { optOutCheck } from "../targets/shipped_lists.ts";
import { requestText, type Service } from "../targets/srv.ts";

/** Options of a query to one server. */
export interface QueryServerOptions extends RetryLimits, ProtocolSelection {
  /**
   * Protocols in which the server is queried after a reply in one of `protocols`. Default: none.
   */
  readonly followUps?: readonly Protocol[];
  /** Timeout for each reply, milliseconds. */
  readonly timeoutMs: number;
  /** Opens a socket on an ephemeral port. */
  readonly open: (family: 4 | 6) => DatagramSocket;
  /** Opens the TCP connections of the query. */
  readonly dialer: Dialer;
  /** Timeouts and size limit of connections. Default: those of real clients. */
  readonly streamLimits?: StreamLimits;
  /** Whether to verify that the server accepts connections. Default: no. */
  readonly verify?: boolean;
  /** The name that the user gave for the server; `null`: an address was given. */
  readonly requestedAs: string | null;
  /** The SRV record of the name, if the endpoint comes from such a record. */
  readonly service?: Service;
  /** The value of the column `scan_id`. */
  readonly scanId: string;
}

/** The result of a query to one server. */
export interface QueriedServer extends Pick<InterviewResult, "outcomes" | "suppressed"> {
  /** The server's record; `undefined` when the server replied in no protocol. */
  readonly record: ServerRecord | undefined;
  /** Whether a reply contains an opt-out. Scans send nothing to the address of such a server. */
  readonly hasOptedOut: boolean;
}

/**
 * Queries one endpoint in every protocol, one after the other. Before a protocol with a suppressor
 * (`suppressedBy`), the endpoint is probed in the suppressor, even if the options do not name the
 * suppressor.
 */
export async function queryServer(
  endpoint: Endpoint,
  options: QueryServerOptions,
): Promise<QueriedServer> {
  const { clock, scanId, service, open, dialer, signal, shortage } = options;
  const { streamLimits = STREAM_LIMITS, allProtocols } = options;
  const throttle = new Throttle({ rate: undefined, netRate: undefined, hostRate: HOST_RATE });
  const isOptOut = optOutCheck();
  let hasOptedOut = false;
  const found = await runInterview(options, {
    ...options,
    endpoint,
    requestedPort: service && GAME_PORT,
    optsOut: ({ statement }) => {
      hasOptedOut ||= isOptOut(motdAsSent(statement));
      return false; // the interview continues, because the user named the server
    },
    links: {
      exclusive: () => exclusiveLink(endpoint, open(family(endpoint.address)), throttle, clock),
      stream: (_, connectMs = streamLimits.connectMs) => {
        const limits = { ...streamLimits, connectMs };
        return new StreamLink(endpoint, { dialer, throttle, clock, limits, signal, shortage });
      },
    },
  });
  const { replies, latencyMs, outcomes, suppressed } = found;
  const requestedAs = options.requestedAs && requestText(options.requestedAs, service);
  const seenAt = Math.round(clock.wall());
  const context = { endpoint, seenAt, latencyMs, scanId, requestedAs, allProtocols };
  const record = replies.length === 0 ? undefined : mergeReplies(replies, context);
  return { record, hasOptedOut, outcomes, suppressed };
}
