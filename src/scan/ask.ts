/**
 * Asking one server, without a sweep.
 *
 * @module
 */
import { type Endpoint, family } from "../address.ts";
import { attempt, followUpTimeout, type Patience } from "../inspect/attempt.ts";
import { type Answer, mergeAnswers } from "../inspect/merge.ts";
import { verify } from "../inspect/verify.ts";
import type { DatagramSocket } from "../net/socket.ts";
import { soleLink } from "../net/switchboard.ts";
import { Throttle } from "../net/throttle.ts";
import type { Protocol } from "../protocols/protocol.ts";
import type { Outcome, ServerRecord } from "../record.ts";

/** How to ask. */
export interface AskServerOptions extends Patience {
  /** The protocols to try, in order. */
  readonly protocols: readonly Protocol[];
  /** Protocols to try when one of those has answered. Default: none. */
  readonly followUps?: readonly Protocol[];
  /** How long to wait for an answer, milliseconds. */
  readonly timeoutMs: number;
  /** Opens a socket on a port of its own. */
  readonly open: (family: 4 | 6) => DatagramSocket;
  /** Whether it is found out if a connection to the server can be opened. Default: no. */
  readonly verify?: boolean;
  /** The name under which the server was asked for. */
  readonly requestedAs: string | null;
  /** The scan's name for the row. */
  readonly scanId: string;
}

/** What came of asking one server. */
export interface AskedServer {
  /** The row; `undefined` when nothing answered. */
  readonly record: ServerRecord | undefined;
  /** How every protocol went, in the order in which they were tried. */
  readonly outcomes: readonly { readonly protocol: string; readonly outcome: Outcome<unknown> }[];
}

/** At most so many datagrams a second to the server. */
const HOST_RATE = 5;

/** Asks one endpoint every protocol, one after the other. */
export async function askServer(
  endpoint: Endpoint,
  options: AskServerOptions,
): Promise<AskedServer> {
  const { open, clock, requestedAs, scanId } = options;
  const throttle = new Throttle({ rate: undefined, netRate: undefined, hostRate: HOST_RATE });
  const outcomes: { protocol: string; outcome: Outcome<unknown> }[] = [];
  const answers: Answer[] = [];
  let latencyMs: number | null = null;
  for (const protocol of [...options.protocols, ...options.followUps ?? []]) {
    if (answers.length === 0 && !options.protocols.includes(protocol)) continue;
    const link = () => soleLink(endpoint, open(family(endpoint.address)), throttle, clock);
    const outcome: Outcome<unknown> = await attempt(protocol, {
      endpoint,
      link,
      exclusive: true,
      timeoutMs: latencyMs === null ? options.timeoutMs : followUpTimeout(latencyMs),
      leavesMute: true,
    }, options);
    outcomes.push({ protocol: protocol.name, outcome });
    if (outcome.kind !== "answered") continue;
    latencyMs ??= outcome.latencyMs;
    const { status } = outcome;
    const answer = { protocol: protocol.name, statement: protocol.record(status) };
    const verification = { endpoint, link, latencyMs, timeoutMs: options.timeoutMs };
    answers.push(
      options.verify
        ? (await verify(protocol, answer, status, verification, options)).answer
        : answer,
    );
  }
  const context = { endpoint, seenAt: Math.round(clock.wall()), latencyMs, scanId, requestedAs };
  return { record: answers.length === 0 ? undefined : mergeAnswers(answers, context), outcomes };
}
