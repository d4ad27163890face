/**
 * Inspects a sighted server: queries it in every selected protocol, one after the other.
 *
 * @module
 */
import type { Endpoint } from "../core/address.ts";
import type { Link } from "../net/socket.ts";
import type { Protocol } from "../protocols/protocol.ts";
import type { Outcome, Sighting } from "../core/record.ts";
import { isExhausted, type RetryLimits } from "./retry.ts";
import { type InterviewResult, runInterview, type RunInterviewOptions } from "./run_interview.ts";
import type { InterviewPlan } from "./interview.ts";
import type { ProtocolReply } from "./merge.ts";

/** Options of an inspection. */
export interface InspectOptions extends RetryLimits {
  /** The protocols to send, in order. */
  readonly protocols: readonly Protocol[];
  /** Every protocol of the program, in order of rank. Default: PROTOCOLS. */
  readonly allProtocols?: readonly Protocol[];
  /** Whether the protocols that did not sight the server are sent too. */
  readonly follow: boolean;
  /** Timeout for each reply, milliseconds. */
  readonly timeoutMs: number;
  /** Opens a link on one of the shared sockets. */
  readonly link: (endpoint: Endpoint, socket: number) => Link | Promise<Link>;
  /** Opens a link on its own socket. */
  readonly exclusiveLink: (endpoint: Endpoint) => Link | Promise<Link>;
  /** Whether it is verified that a server accepts connections. Default: no. */
  readonly verify?: boolean;
  /**
   * Opens a link over TCP, which has its own timeouts. Default: TCP protocols are not sent.
   * `connectMs` is the timeout for opening the connection; `undefined`: the default.
   */
  readonly streamLink?: (
    endpoint: Endpoint,
    protocol: string,
    connectMs: number | undefined,
  ) => Promise<Link>;
  /** The name that the user gave for an endpoint. */
  readonly nameOf?: (endpoint: Endpoint) => string | null | undefined;
  /** Whether a reply is an opt-out, after which nothing more is sent. */
  readonly stop: (answer: ProtocolReply) => boolean;
  /** Whether the address of an endpoint has opted out meanwhile. Default: no. */
  readonly optedOut?: (endpoint: Endpoint) => boolean;
  /** The reply that holds the status of the sighting. Default: made from the status. */
  readonly firstReply?: ProtocolReply;
  /** Whether an endpoint sent a datagram that suppresses some protocols. Default: no. */
  readonly replied?: (endpoint: Endpoint) => boolean;
  /** Whether an endpoint was probed in a protocol before, without a reply. Default: it was not. */
  readonly unanswered?: (endpoint: Endpoint, protocol: string) => boolean;
}

/** The result of an inspection. */
export interface Inspection {
  /** The reply of each protocol; empty when no server was confirmed. */
  readonly answers: readonly ProtocolReply[];
  /** Round trip, milliseconds; `null` when it was not measured. */
  readonly latencyMs: number | null;
  /** Whether the server, or its address, opted out. */
  readonly stopped: boolean;
  /**
   * Whether a request after the first was cancelled or not sent: the scan was cancelled, no
   * descriptor was free, or the host flooded.
   */
  readonly cut: boolean;
  /** Whether a request was not sent because no descriptor was free. */
  readonly exhausted?: boolean;
  /** Why the first exchange brought no status; `undefined` when it did, or was not needed. */
  readonly failure?: "noReply" | "malformed" | "cancelled" | "exhausted";
}

/** Age after which the state from a sighting is not used: tokens of servers expire. */
const STALE_MS = 5000;

/**
 * The inspection's result, if the sighting alone is enough.
 *
 * @returns `undefined` when the server must be queried: the sighting has no status, or other
 * protocols are wanted too.
 */
export function settled(
  sighting: Sighting,
  { protocols, follow, verify, stop, firstReply }: Pick<
    InspectOptions,
    "protocols" | "follow" | "verify" | "stop" | "firstReply"
  >,
): Inspection | undefined {
  if (verify || follow && protocols.length > 1) return undefined;
  const answer = firstReply ?? firstReplyOf(sighting, protocols);
  if (answer === undefined) return undefined;
  const { latencyMs = null } = sighting;
  return { answers: [answer], latencyMs, stopped: stop(answer), cut: false };
}

/** The reply that holds the status of a sighting; `undefined` for a sighting without a status. */
export function firstReplyOf(
  { protocol: name, status, raw }: Sighting,
  protocols: readonly Protocol[],
): ProtocolReply | undefined {
  if (status === undefined) return undefined;
  const protocol = protocols.find((one) => one.name === name)!;
  return { protocol: name, statement: protocol.record(status), raw };
}

/** The options of a scan's interview with an endpoint. */
function reach(endpoint: Endpoint, socket: number, options: InspectOptions): RunInterviewOptions {
  const { link, exclusiveLink, streamLink, nameOf, stop, optedOut, replied } = options;
  return {
    ...options,
    endpoint,
    links: {
      shared: () => link(endpoint, socket),
      exclusive: () => exclusiveLink(endpoint),
      stream: streamLink && ((protocol, connectMs) => streamLink(endpoint, protocol, connectMs)),
    },
    requestedAs: nameOf?.(endpoint),
    statusOnly: true,
    optsOut: stop,
    optedOut: optedOut && (() => optedOut(endpoint)),
    replied: replied && (() => replied(endpoint)),
  };
}

/** Inspects one sighting. */
export async function inspect(sighting: Sighting, options: InspectOptions): Promise<Inspection> {
  const { endpoint, socket, status } = sighting;
  const fresh = options.clock.now() - sighting.at < STALE_MS;
  const plan = planOf(sighting, options);
  const answer = options.firstReply ?? firstReplyOf(sighting, options.protocols);
  const found = await runInterview(plan, {
    ...reach(endpoint, socket, options),
    opening: answer && { status, answer },
    startOf: ({ name }) => fresh && name === sighting.protocol ? sighting.known : undefined,
  });
  return inspectionOf(plan, found, status !== undefined);
}

/**
 * Interviews a server that was known before the scan: in all its known protocols, or, without
 * `follow`, until it replies in one.
 *
 * @param spoken The known protocols; the others of the options are sent only after a reply.
 */
export async function inspectKnown(
  endpoint: Endpoint,
  spoken: readonly Protocol[],
  options: InspectOptions,
): Promise<Inspection> {
  const { protocols, allProtocols, follow, timeoutMs } = options;
  const known = spoken.map(({ name }) => name);
  const plans = follow
    ? [{ protocols: spoken, followUps: protocols, allProtocols, known, timeoutMs }]
    : spoken.map((one) => ({ protocols: [one], allProtocols, known, timeoutMs }));
  for (;;) {
    const found = await runInterview(plans.shift()!, reach(endpoint, -1, options));
    const { answers, latencyMs, ended, cut, exhausted } = found;
    if (answers.length > 0 || ended !== undefined || plans.length === 0) {
      return { answers, latencyMs, stopped: ended === "optedOut", cut, exhausted };
    }
  }
}

/** The interview plan of a sighted server. An unverified one must reply with a status. */
function planOf(
  { endpoint, protocol: sighted, verified, latencyMs }: Sighting,
  { protocols, allProtocols, follow, timeoutMs, unanswered }: InspectOptions,
): InterviewPlan {
  const first = protocols.find(({ name }) => name === sighted)!;
  const { suppressedBy } = first;
  const needs = !verified ? "status" : first.probe?.guessable ? "reply" : undefined;
  return {
    protocols: follow ? protocols : [first],
    allProtocols,
    sighted,
    latencyMs,
    timeoutMs,
    needs,
    echoed: new Set(verified ? [sighted] : []),
    unanswered: new Set(suppressedBy && unanswered?.(endpoint, suppressedBy) ? [suppressedBy] : []),
  };
}

/** The result of an interview. A verified sighting counts as a server without more replies. */
function inspectionOf(
  { sighted, needs }: InterviewPlan,
  { answers, latencyMs, outcomes, ended, cut, exhausted }: InterviewResult,
  hasStatus: boolean,
): Inspection {
  const protocol = sighted!;
  const opening = outcomes.find((one) => one.protocol === protocol)?.outcome;
  const stopped = ended === "optedOut";
  const failure = hasStatus || opening === undefined && stopped
    ? undefined
    : opening === undefined && exhausted
    ? "exhausted"
    : failureOf(opening);
  if (failure === undefined) return { answers, latencyMs, stopped, cut, exhausted };
  const confirmed = needs === undefined || needs === "reply" && failure === "malformed";
  if (failure === "exhausted" || failure === "cancelled" || !confirmed) {
    return { answers: [], latencyMs, stopped, cut: false, failure };
  }
  const statement = { columns: {}, flags: [NO_STATUS[failure]], facts: {} };
  const all = [{ protocol, statement }, ...answers];
  return { answers: all, latencyMs, stopped, cut, exhausted, failure };
}

function failureOf(outcome: Outcome<unknown> | undefined): Inspection["failure"] {
  if (outcome === undefined) return "cancelled";
  if (isExhausted(outcome)) return "exhausted";
  return outcome.kind === "replied" ? undefined : outcome.kind;
}

const NO_STATUS = { noReply: "statusLost", malformed: "statusMalformed" };
