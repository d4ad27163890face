/**
 * Queries one server without a sweep.
 *
 * @module
 */
import { GAME_PORT, isUsualPort } from "../protocols/usual_ports.ts";
import type { ProtocolSelection } from "../protocols/list.ts";
import { type Endpoint, family } from "../core/address.ts";
import {
  type InterviewLinks,
  type InterviewPlan,
  type InterviewResult,
  joinResults,
  mergeReplies,
  type RetryLimits,
  runInterview,
  type RunInterviewOptions,
} from "../inspect/mod.ts";
import {
  type DatagramSocket,
  type Dialer,
  exclusiveLink,
  HOST_RATE,
  STREAM_LIMITS,
  type StreamLimits,
  StreamLink,
  Throttle,
} from "../net/mod.ts";
import { motdAsSent, type Protocol } from "../protocols/protocol.ts";
import type { ServerRecord } from "../core/record.ts";
import { optOutCheck } from "../targets/shipped_lists.ts";
import { requestText, type Service } from "../targets/srv.ts";

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

export interface QueriedServer extends Pick<InterviewResult, "outcomes" | "suppressed"> {
  /** The server's record; `undefined` when the server replied in no protocol. */
  readonly record: ServerRecord | undefined;
  /** Whether a reply contains an opt-out. Scans send nothing to the address of such a server. */
  readonly hasOptedOut: boolean;
}

/** Time for other replies after the first one, milliseconds. */
const OTHERS_MS = 250;

/**
 * The protocols that are used at the same time: those over UDP, those over TCP. On a port that is usual
 * for none of the latter, each of them is used at once.
 */
function groupsOf(protocols: readonly Protocol[], port: number): (readonly Protocol[])[] {
  const { udp = [], tcp = [] } = Object.groupBy(protocols, ({ transport }) => transport);
  const streams = tcp.some((one) => isUsualPort(one, port)) ? [tcp] : tcp.map((one) => [one]);
  return [udp, ...streams].filter(({ length }) => length > 0);
}

/**
 * Runs an interview for each group of protocols at the same time. After the first reply the others have
 * a short time for theirs. Then follow the protocols that were not used yet.
 *
 * @param linksOf Makes functions whose links end when a signal aborts.
 */
async function queryAtOnce(
  plan: InterviewPlan,
  allOptions: Omit<RunInterviewOptions, "links">,
  linksOf: (signal: AbortSignal) => InterviewLinks,
): Promise<InterviewResult> {
  const { protocols, followUps = [] } = plan;
  const { clock, signal, endpoint: { port } } = allOptions;
  const options = { ...allOptions, links: linksOf(signal) };
  const groups = groupsOf(protocols, port);
  if (groups.length < 2) return await runInterview(plan, options);
  const ends = groups.map(() => new AbortController());
  const replied = new Set<number>();
  let cancel: (() => void) | undefined;
  const endOthers = () => ends.forEach((end, i) => replied.has(i) || end.abort());
  const query = (group: readonly Protocol[], i: number) => {
    const ending = AbortSignal.any([signal, ends[i].signal]);
    return runInterview({ ...plan, protocols: group, followUps: [], keepsWeak: true }, {
      ...options,
      links: linksOf(ending),
      signal: ending,
      onStatus: (protocol, status) => {
        if (protocol.isWeak?.(status)) return;
        replied.add(i);
        cancel ??= clock.after(OTHERS_MS, endOthers);
      },
    });
  };
  const found = joinResults(await Promise.all(groups.map(query)));
  cancel?.();
  const used = new Set(found.outcomes.map(({ protocol }) => protocol));
  const usesTcp = protocols.some(({ name, transport }) => transport === "tcp" && used.has(name));
  const more = [...protocols, ...followUps].filter(({ name, transport }) =>
    !used.has(name) && (transport === "udp" || !usesTcp)
  );
  if (found.replies.length === 0 || more.length === 0 || signal.aborted) return found;
  const { latencyMs, noReplySince } = found;
  const known = found.replies.map(({ protocol }) => protocol);
  const later = { ...plan, protocols: more, followUps: [], latencyMs, noReplySince, known };
  return joinResults([found, await runInterview(later, options)]);
}

/**
 * Queries one endpoint in every protocol, over UDP and TCP at the same time. Before a protocol with a
 * suppressor (`suppressedBy`), the endpoint is probed in the suppressor, even if the options do not name
 * the suppressor.
 */
export async function queryServer(
  endpoint: Endpoint,
  options: QueryServerOptions,
): Promise<QueriedServer> {
  const { clock, scanId, service, open, dialer, shortage } = options;
  const { streamLimits = STREAM_LIMITS, allProtocols } = options;
  const throttle = new Throttle({ rate: undefined, netRate: undefined, hostRate: HOST_RATE });
  const isOptOut = optOutCheck();
  let hasOptedOut = false;
  const found = await queryAtOnce(options, {
    ...options,
    endpoint,
    requestedPort: service && GAME_PORT,
    optsOut: ({ statement }) => {
      hasOptedOut ||= isOptOut(motdAsSent(statement));
      return false; // the interview continues, because the user named the server
    },
  }, (signal) => ({
    exclusive: () =>
      exclusiveLink(endpoint, open(family(endpoint.address)), throttle, clock, signal),
    stream: (_, connectMs = streamLimits.connectMs) => {
      const limits = { ...streamLimits, connectMs };
      return new StreamLink(endpoint, { dialer, throttle, clock, limits, signal, shortage });
    },
  }));
  const { replies, latencyMs, outcomes, suppressed } = found;
  const requestedAs = options.requestedAs && requestText(options.requestedAs, service);
  const seenAt = Math.round(clock.wall());
  const context = { endpoint, seenAt, latencyMs, scanId, requestedAs, allProtocols };
  const record = replies.length === 0 ? undefined : mergeReplies(replies, context);
  return { record, hasOptedOut, outcomes, suppressed };
}
