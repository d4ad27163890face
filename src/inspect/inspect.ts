/**
 * From a sighting to a row: every selected protocol is asked, one after the other.
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

/** How to inspect. */
export interface InspectOptions extends RetryLimits {
  /** The protocols to ask, in order. */
  readonly protocols: readonly Protocol[];
  /** Every protocol of the program, in order of rank. Default: PROTOCOLS. */
  readonly allProtocols?: readonly Protocol[];
  /** Whether the protocols that did not sight the server are asked too. */
  readonly follow: boolean;
  /** How long to wait for an answer, milliseconds. */
  readonly timeoutMs: number;
  /** A conversation on one of the shared sockets. */
  readonly link: (endpoint: Endpoint, socket: number) => Link | Promise<Link>;
  /** A conversation on a socket of its own. */
  readonly exclusiveLink: (endpoint: Endpoint) => Link | Promise<Link>;
  /** Whether protocols find out if a server that answered can be used. Default: no. */
  readonly verify?: boolean;
  /**
   * A conversation over TCP, which bounds its time by itself; without it none is held. The connection
   * may take so many milliseconds to open; `undefined`: as usual.
   */
  readonly streamLink?: (
    endpoint: Endpoint,
    protocol: string,
    connectMs: number | undefined,
  ) => Promise<Link>;
  /** The name under which an endpoint was asked for. */
  readonly nameOf?: (endpoint: Endpoint) => string | null | undefined;
  /** Whether what was said so far forbids to go on. */
  readonly stop: (answer: ProtocolReply) => boolean;
  /** Whether the address of an endpoint has opted out meanwhile. Default: no. */
  readonly optedOut?: (endpoint: Endpoint) => boolean;
  /** Whether a datagram came from an endpoint that suppresses some protocols. Default: none did. */
  readonly replied?: (endpoint: Endpoint) => boolean;
  /** Whether an endpoint was probed in a protocol before, without a reply. Default: it was not. */
  readonly unanswered?: (endpoint: Endpoint, protocol: string) => boolean;
}

/** What an inspection found. */
export interface Inspection {
  /** What each protocol said; empty when nothing was confirmed. */
  readonly answers: readonly ProtocolReply[];
  /** Round trip, milliseconds; `null` when it could not be told. */
  readonly latencyMs: number | null;
  /** Whether the server, or its address, opted out. */
  readonly stopped: boolean;
  /**
   * Whether a question after the first was cut off, or not asked: all had to end, descriptors were
   * short, or the host flooded.
   */
  readonly cut: boolean;
  /** Whether that was because no descriptor could be had. */
  readonly exhausted?: boolean;
  /** How the first exchange ended, when it was needed and found no status. */
  readonly failure?: "noReply" | "malformed" | "cancelled" | "exhausted";
}

/** What a sweep learned longer ago is not built upon: tokens do not live for ever. */
const STALE_MS = 5000;

/**
 * What a sighting says by itself.
 *
 * @returns `undefined` where there is somebody to be asked: it holds no status, or that is not all
 * that is wanted.
 */
export function settled(
  sighting: Sighting,
  { protocols, follow, verify, stop }: Pick<
    InspectOptions,
    "protocols" | "follow" | "verify" | "stop"
  >,
): Inspection | undefined {
  const { protocol: name, status, raw, latencyMs = null } = sighting;
  if (status === undefined || verify || follow && protocols.length > 1) return undefined;
  const protocol = protocols.find((one) => one.name === name)!;
  const answer = { protocol: name, statement: protocol.record(status), raw };
  return { answers: [answer], latencyMs, stopped: stop(answer), cut: false };
}

/** How an endpoint is interviewed in a scan. */
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
  const { endpoint, socket, status, raw } = sighting;
  const fresh = options.clock.now() - sighting.at < STALE_MS;
  const plan = planOf(sighting, options);
  const found = await runInterview(plan, {
    ...reach(endpoint, socket, options),
    opening: status === undefined ? undefined : { status, raw },
    startOf: ({ name }) => fresh && name === sighting.protocol ? sighting.known : undefined,
  });
  return inspectionOf(plan, found, status !== undefined);
}

/**
 * Interviews a server that was known before the scan: in all protocols that it is known to speak, or,
 * where none follows another, until it replies in one.
 *
 * @param spoken Those protocols; the others of the options are sent only after a reply.
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

/** What is wanted of a server that was sighted. Only the proven may be silent then. */
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

/** A server whose reply was proved genuine is a server, though it said nothing more. */
function inspectionOf(
  { sighted, needs }: InterviewPlan,
  { answers, latencyMs, outcomes, ended, cut, exhausted }: InterviewResult,
  told: boolean,
): Inspection {
  const protocol = sighted!;
  const opening = outcomes.find((one) => one.protocol === protocol)?.outcome;
  const stopped = ended === "optedOut";
  const failure = told || opening === undefined && stopped
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
