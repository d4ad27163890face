/**
 * Inspects a sighted server: queries the server in every selected protocol, one after the other.
 *
 * @module
 */
import type { Endpoint } from "../core/address.ts";
import { isKnownFor } from "../protocols/declared_facts.ts";
import type { ProtocolSelection } from "../protocols/list.ts";
import type { Protocol } from "../protocols/protocol.ts";
import type { Outcome, Sighting } from "../core/record.ts";
import type { RetryLimits } from "./converse.ts";
import {
  type InterviewResult,
  isExhausted,
  runInterview,
  type RunInterviewOptions,
} from "./run_interview.ts";
import type { InterviewPlan } from "./interview.ts";
import { runKnownInterview } from "./known_interview.ts";
import type { ProtocolReply } from "./protocol_reply.ts";

/** Options of an inspection; the links and the functions are those of its endpoint. */
export interface InspectOptions extends
  ProtocolSelection,
  RetryLimits,
  Pick<
    RunInterviewOptions,
    "links" | "requestedAs" | "requestedPort" | "verify" | "optedOut" | "replied" | "underway"
  > {
  /**
   * Whether each server is queried in the other protocols too, and not only in that of its first
   * reply.
   */
  readonly follow: boolean;
  /** Timeout for each reply, milliseconds. */
  readonly timeoutMs: number;
  /** Returns whether a reply contains an opt-out. Nothing more is sent after such a reply. */
  readonly optsOut: (reply: ProtocolReply) => boolean;
  /** The reply that contains the status of the sighting, if the sighting has one. */
  readonly firstReply?: ProtocolReply;
  /** Returns whether the endpoint was probed in a protocol before, without a reply. Default: no. */
  readonly withoutReply?: (protocol: string) => boolean;
  /**
   * Names of the protocols in which the server replied before. They decide whether a reply is enough
   * evidence of the server: see `isWeak` of a protocol. Default: none.
   */
  readonly known?: readonly string[];
}

/**
 * The result of an inspection. It has no replies when no server was confirmed. `isCutShort` concerns
 * the requests after the first; a request may also be omitted because the host flooded.
 */
export interface Inspection
  extends Pick<InterviewResult, "replies" | "latencyMs" | "ended" | "isCutShort" | "exhausted"> {
  /** Why the first exchange returned no status; `undefined` when it did, or was not needed. */
  readonly failure?: "noReply" | "malformed" | "cancelled" | "exhausted";
}

/**
 * State from a sighting, for example a server's token, is used only if the sighting is younger than
 * this, milliseconds. Tokens of servers expire.
 */
const STALE_MS = 5000;

/** Interviews the server of one sighting. */
export async function inspect(sighting: Sighting, options: InspectOptions): Promise<Inspection> {
  const { endpoint, status } = sighting;
  const { firstReply } = options;
  const fresh = options.clock.now() - sighting.at < STALE_MS;
  const plan = planOf(sighting, options);
  const found = await runInterview(plan, {
    ...options,
    endpoint,
    statusOnly: true,
    opening: firstReply && { status, reply: firstReply },
    startOf: ({ name }) => fresh && name === sighting.protocol ? sighting.known : undefined,
  });
  return inspectionOf(plan, found, firstReply !== undefined);
}

/**
 * Interviews a server that was known before the scan. The server is queried in all its known
 * protocols. Without `follow`, the interview ends after its first reply.
 *
 * @param spoken The known protocols. The server is queried in the other protocols of the options
 * only after a reply.
 */
export async function inspectKnown(
  endpoint: Endpoint,
  spoken: readonly Protocol[],
  options: InspectOptions,
): Promise<Inspection> {
  const { protocols, allProtocols, follow, timeoutMs } = options;
  const known = spoken.map(({ name }) => name);
  const shared = { ...options, endpoint, statusOnly: true };
  if (follow) {
    const plan = { protocols: spoken, followUps: protocols, allProtocols, known, timeoutMs };
    return await runKnownInterview(plan, shared);
  }
  const plans = spoken.map((one) => ({ protocols: [one], allProtocols, known, timeoutMs }));
  for (;;) {
    const found = await runInterview(plans.shift()!, shared);
    const isOver = found.replies.length > 0 || found.ended !== undefined;
    if (isOver || plans.length === 0) return found;
  }
}

/**
 * The interview plan of a sighted server. If the sighting is unverified, the server must reply with
 * a status.
 */
function planOf(
  { protocol: sighted, verified, latencyMs, status }: Sighting,
  { protocols, allProtocols, follow, timeoutMs, withoutReply, known = [] }: InspectOptions,
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
    keepsWeak: first.isWeak?.(status, isKnownFor(first, known)) === false,
    echoed: new Set(verified ? [sighted] : []),
    withoutReply: new Set(
      suppressedBy && withoutReply?.(suppressedBy) ? [suppressedBy] : [],
    ),
  };
}

/**
 * The result of an interview. After a verified sighting, the endpoint counts as a server even
 * without further replies.
 */
function inspectionOf(
  { sighted, needs }: InterviewPlan,
  found: InterviewResult,
  hasStatus: boolean,
): Inspection {
  const protocol = sighted!;
  const { ended, exhausted } = found;
  const opening = found.outcomes.find((one) => one.protocol === protocol)?.outcome;
  const failure = hasStatus || opening === undefined && ended === "optedOut"
    ? undefined
    : opening === undefined && exhausted
    ? "exhausted"
    : failureOf(opening);
  if (failure === undefined) return found;
  const confirmed = needs === undefined || needs === "reply" && failure === "malformed";
  if (failure === "exhausted" || failure === "cancelled" || !confirmed) {
    return { ...found, replies: [], isCutShort: false, exhausted: false, failure };
  }
  const statement = { columns: {}, flags: [NO_STATUS[failure]], facts: {} };
  return { ...found, replies: [{ protocol, statement }, ...found.replies], failure };
}

function failureOf(outcome: Outcome<unknown> | undefined): Inspection["failure"] {
  if (outcome === undefined) return "cancelled";
  if (isExhausted(outcome)) return "exhausted";
  return outcome.kind === "replied" ? undefined : outcome.kind;
}

const NO_STATUS = { noReply: "statusLost", malformed: "statusMalformed" };
