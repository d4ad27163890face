/**
 * Asking one server, without a sweep.
 *
 * @module
 */
import { type Endpoint, family } from "../core/address.ts";
import type { RetryLimits } from "../inspect/retry.ts";
import { type InterviewResult, runInterview } from "../inspect/run_interview.ts";
import { mergeReplies } from "../inspect/merge.ts";
import type { DatagramSocket, Dialer } from "../net/socket.ts";
import { exclusiveLink } from "../net/demultiplexer.ts";
import { STREAM_LIMITS, type StreamLimits, StreamLink } from "../net/stream_link.ts";
import { Throttle } from "../net/throttle.ts";
import type { Protocol } from "../protocols/protocol.ts";
import type { ServerRecord } from "../core/record.ts";
import { requestText, type Service } from "../targets/srv.ts";

/** How to ask. */
export interface QueryServerOptions extends RetryLimits {
  /** The protocols to try, in order. */
  readonly protocols: readonly Protocol[];
  /** Every protocol of the program, in order of rank. Default: PROTOCOLS. */
  readonly allProtocols?: readonly Protocol[];
  /** Protocols to try when one of those has answered. Default: none. */
  readonly followUps?: readonly Protocol[];
  /** How long to wait for an answer, milliseconds. */
  readonly timeoutMs: number;
  /** Opens a socket on a port of its own. */
  readonly open: (family: 4 | 6) => DatagramSocket;
  /** Opens connections. */
  readonly dialer: Dialer;
  /** How patient connections are. Default: as real clients. */
  readonly streamLimits?: StreamLimits;
  /** Whether it is found out if a connection to the server can be opened. Default: no. */
  readonly verify?: boolean;
  /** The name under which the server was asked for. */
  readonly requestedAs: string | null;
  /** Where an SRV record of that name led, when that is why the endpoint is asked. */
  readonly service?: Service;
  /** The scan's name for the row. */
  readonly scanId: string;
}

/** What came of asking one server. */
export interface QueriedServer extends Pick<InterviewResult, "outcomes" | "suppressed"> {
  /** The row; `undefined` when nothing answered. */
  readonly record: ServerRecord | undefined;
}

/** At most so many datagrams a second to the server. */
const HOST_RATE = 5;

/**
 * Asks one endpoint every protocol, one after the other. Before a protocol that is suppressed for the
 * speakers of another, that one is asked too, though no row may come of it.
 */
export async function queryServer(
  endpoint: Endpoint,
  options: QueryServerOptions,
): Promise<QueriedServer> {
  const { clock, scanId, service, open, dialer, signal, shortage } = options;
  const { streamLimits = STREAM_LIMITS, allProtocols } = options;
  const throttle = new Throttle({ rate: undefined, netRate: undefined, hostRate: HOST_RATE });
  const found = await runInterview(options, {
    ...options,
    endpoint,
    links: {
      exclusive: () => exclusiveLink(endpoint, open(family(endpoint.address)), throttle, clock),
      stream: (_, connectMs = streamLimits.connectMs) => {
        const limits = { ...streamLimits, connectMs };
        return new StreamLink(endpoint, { dialer, throttle, clock, limits, signal, shortage });
      },
    },
  });
  const { answers, latencyMs, outcomes, suppressed } = found;
  const requestedAs = options.requestedAs && requestText(options.requestedAs, service);
  const seenAt = Math.round(clock.wall());
  const context = { endpoint, seenAt, latencyMs, scanId, requestedAs, allProtocols };
  const record = answers.length === 0 ? undefined : mergeReplies(answers, context);
  return { record, outcomes, suppressed };
}
