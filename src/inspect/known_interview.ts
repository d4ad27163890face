/**
 * Interviews a server whose protocols are known. As long as the server replies, its protocols are used
 * one after the other. If it does not reply in the first one, the others are used over UDP and TCP at
 * the same time: the server may have stopped one of its protocols, and an unresponsive server takes no
 * longer than the slower of both. Siblings of its protocols are used together with the others: the
 * server may have changed its transport. If it replies in one, a first protocol over UDP is used again.
 *
 * @module
 */
import type { Protocol } from "../protocols/protocol.ts";
import type { Ended, InterviewPlan } from "./interview.ts";
import { type InterviewResult, runInterview, type RunInterviewOptions } from "./run_interview.ts";

/** Why interviews ended early, the decisive reason first. */
const ENDS: readonly Ended[] = ["optedOut", "exhausted", "cancelled", "unconfirmed"];

export interface KnownInterviewPlan extends InterviewPlan {
  /** Protocols that are used only if the first one has no reply: its siblings. Default: none. */
  readonly siblings?: readonly Protocol[];
}

/**
 * Interviews a server in its known protocols. `followUps` of the plan are used after a reply.
 *
 * @param options For each of the interviews.
 * @param otherRetries Number of retries in the other protocols if the first one has no reply. Default: as
 * in the options.
 */
export async function runKnownInterview(
  { siblings = [], ...plan }: KnownInterviewPlan,
  options: RunInterviewOptions,
  otherRetries = options.retries,
): Promise<InterviewResult> {
  const [first, ...known] = plan.protocols;
  const others = [...known, ...siblings];
  const opening = await runInterview({ ...plan, needs: "status" }, options);
  if (opening.ended !== "unconfirmed" || others.length === 0) return withoutNeed(opening);
  const later = { ...plan, protocols: others, followUps: [], needs: undefined };
  const parts = await runSideBySide(
    later,
    { ...options, retries: otherRetries },
    opening.noReplySince,
  );
  const unconfirmed = joinResults([withoutNeed(opening), parts]);
  const found = first.transport === "udp" && hasChanged(unconfirmed, siblings)
    ? joinResults([unconfirmed, await runAgain(first, plan, options, unconfirmed)])
    : unconfirmed;
  const { followUps = [] } = plan;
  const more = followUps.filter((one) => one !== first && !others.includes(one));
  if (found.replies.length === 0 || found.ended !== undefined || more.length === 0) return found;
  const latest = { ...plan, protocols: more, followUps: [], latencyMs: found.latencyMs };
  return joinResults([
    found,
    await runInterview({ ...latest, noReplySince: found.noReplySince }, options),
  ]);
}

/** Whether a server replied in a sibling of its protocols, so that it may have changed its transport. */
function hasChanged({ replies, ended }: InterviewResult, siblings: readonly Protocol[]): boolean {
  return ended === undefined &&
    siblings.some(({ name }) => replies.some(({ protocol }) => protocol === name));
}

/** Uses a protocol over UDP again: its reply may have been lost, and the server may speak both. */
async function runAgain(
  protocol: Protocol,
  plan: InterviewPlan,
  options: RunInterviewOptions,
  { latencyMs, noReplySince }: InterviewResult,
): Promise<InterviewResult> {
  const again = { ...plan, protocols: [protocol], followUps: [], needs: undefined };
  return await runInterview({ ...again, latencyMs, noReplySince }, options);
}

/** Runs the interviews of a plan over UDP and over TCP at the same time. */
export async function runSideBySide(
  plan: InterviewPlan,
  options: RunInterviewOptions,
  noReplySince?: number,
): Promise<InterviewResult> {
  const parts = (["udp", "tcp"] as const)
    .map((wanted) => plan.protocols.filter(({ transport }) => transport === wanted))
    .filter(({ length }) => length > 0);
  return joinResults(
    await Promise.all(
      parts.map((protocols) =>
        runInterview({ ...plan, protocols, noReplySince, keepsWeak: true }, options)
      ),
    ),
  );
}

/**
 * The result of the first interview. Without a reply in its first protocol the interview ends as planned:
 * it counts as complete, not as ended early.
 */
function withoutNeed(result: InterviewResult): InterviewResult {
  return result.ended === "unconfirmed" ? { ...result, ended: undefined } : result;
}

/** The results of several interviews with one server as one. */
export function joinResults(results: readonly InterviewResult[]): InterviewResult {
  const isWeak = results.every((one) => one.isWeak);
  const ends = results.map(({ ended }) => ended);
  const sent = results.flatMap(({ noReplySince = [] }) => noReplySince);
  return {
    replies: isWeak ? [] : results.flatMap(({ replies }) => replies),
    isWeak,
    latencyMs: results.map(({ latencyMs }) => latencyMs).find((ms) => ms !== null) ?? null,
    outcomes: results.flatMap(({ outcomes }) => outcomes),
    suppressed: results.flatMap(({ suppressed }) => suppressed),
    suppresses: results.some(({ suppresses }) => suppresses),
    ended: ENDS.find((ended) => ends.includes(ended)),
    isUnreachable: results.every(({ isUnreachable }) => isUnreachable),
    isCutShort: results.some(({ isCutShort }) => isCutShort),
    exhausted: results.some(({ exhausted }) => exhausted),
    noReplySince: sent.length === 0 ? undefined : Math.max(...sent),
  };
}
