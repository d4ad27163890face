/**
 * Decides what an endpoint is sent: the next protocol, its time, timeout and socket, and the end of
 * the interview. The decisions are pure: {@linkcode runInterview} has the clock and the sockets.
 *
 * - Order: the endpoint's known protocols, then the others, each group in the order of the options.
 * - Suppression: a protocol may harm servers of another one, its suppressor (`suppressedBy`): SQP harms
 *   RakNet servers. Such a suppressible protocol is sent last, and only if a probe in the suppressor had
 *   no reply. It is not sent once a datagram has arrived that is not a reply in it. An endpoint
 *   that is known to speak only the suppressible protocol is sent that one first, and never the
 *   suppressor. A reply that may be forged does not count as proof.
 * - Gap: a second passes between a datagram without a reply and the first one of the next protocol.
 *   After a reply the next datagram may be sent at once, and connections need no gap.
 * - Sockets: a protocol whose replies may lack our token uses its own socket until the
 *   endpoint has repeated a token. On such a socket any reply is proof.
 *
 * @module
 */
import { PROTOCOLS } from "../protocols/list.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { InputError } from "../core/errors.ts";
import type { Outcome } from "../core/record.ts";

/** The time between two unsolicited datagrams of different protocols to an endpoint, milliseconds. */
export const GAP_MS = 1000;

/** Minimum timeout of a follow-up, milliseconds, and its timeout in round trips. */
const LEAST_FOLLOW_UP_MS = 250;
const FOLLOW_UP_ROUND_TRIPS = 4;

/** Timeout for a reply from an endpoint whose round trip is known, milliseconds. */
export function followUpTimeout(latencyMs: number): number {
  return Math.max(LEAST_FOLLOW_UP_MS, FOLLOW_UP_ROUND_TRIPS * latencyMs);
}

/** The protocols to send to an endpoint, and earlier results from this endpoint. */
export interface InterviewPlan {
  /** The protocols, in order. */
  readonly protocols: readonly Protocol[];
  /** Every protocol of the program, in order of rank. Default: PROTOCOLS. */
  readonly allProtocols?: readonly Protocol[];
  /** Protocols that are sent only after a reply in another one. Default: none. */
  readonly followUps?: readonly Protocol[];
  /** Names of protocols in which the endpoint replied before. Default: none. */
  readonly known?: readonly string[];
  /** Name of the protocol that sighted the endpoint: without a reply, its exchange is repeated. */
  readonly sighted?: string;
  /** Names of protocols in which the endpoint has repeated our token. Default: none. */
  readonly echoed?: ReadonlySet<string>;
  /** Names of protocols in which the endpoint was probed before, without a reply. Default: none. */
  readonly withoutReply?: ReadonlySet<string>;
  /** Round-trip time, milliseconds; `null`: not known. */
  readonly latencyMs?: number | null;
  /** How long to wait for a reply while the round trip is not known, milliseconds. */
  readonly timeoutMs: number;
  /**
   * What the first protocol must return, otherwise the interview ends: a status, or any reply.
   * Default: nothing.
   */
  readonly needs?: "status" | "reply";
}

/** One protocol to send next. */
export interface Step {
  /** The protocol to send. */
  readonly protocol: Protocol;
  /** Earliest time to send the protocol, milliseconds of the clock. */
  readonly at: number;
  /**
   * Timeout for each reply, milliseconds. For a stream: the timeout for opening the connection;
   * `undefined`: the default.
   */
  readonly timeoutMs: number | undefined;
  /** The link: on a shared socket, on its own socket, or a connection. */
  readonly medium: "shared" | "exclusive" | "stream";
  /** Whether the exchange is repeated even when its first request has no reply. */
  readonly retriesWithoutReply: boolean;
  /** Whether the protocol is sent only to detect that another one must be suppressed. */
  readonly isDetection: boolean;
}

/** The result of a step. */
export interface InterviewEvent {
  /** How the exchange ended. */
  readonly kind: Outcome<unknown>["kind"];
  /** Whether a datagram other than a reply in a suppressible protocol was received. */
  readonly suppresses: boolean;
  /** When the last datagram without a later reply was sent, milliseconds of the clock. */
  readonly noReplySince: number | undefined;
  /** Round-trip time, milliseconds; `undefined`: it was not measured. */
  readonly latencyMs?: number;
}

/**
 * Why an interview ended before all protocols were sent: the first protocol did not return what the
 * plan needs, the address opted out, the interview was cancelled, or no descriptor was free.
 */
export type Ended = "unconfirmed" | "optedOut" | "cancelled" | "exhausted";

/** The state of one interview. */
export class Interview {
  /** Names of suppressed protocols. */
  readonly suppressed: string[] = [];
  /** Round trip, milliseconds; `null`: not known. */
  latencyMs: number | null;
  readonly #plan: InterviewPlan;
  readonly #allProtocols: readonly Protocol[];
  readonly #queue: Protocol[];
  /** The suppressible protocol, if the endpoint is known to speak no other one. */
  #trusted: Protocol | undefined;
  readonly #done = new Set<string>();
  /** Whether a datagram other than a reply in a suppressible protocol was received. */
  #isSuppressing: boolean;
  #hasReply = false;
  #noReplySince: number | undefined;
  #ended: Ended | undefined;

  /** Starts an interview from its plan. */
  constructor(plan: InterviewPlan) {
    this.#plan = plan;
    this.#allProtocols = plan.allProtocols ?? PROTOCOLS;
    this.latencyMs = plan.latencyMs ?? null;
    const spoken = namesSpoken(plan);
    this.#isSuppressing = this.#allProtocols.some((one) =>
      spoken.has(one.name) && repliesSuppress(one)
    );
    const proved = provedNames(plan);
    this.#trusted = this.#isSuppressing ? undefined : leadProtocol(proved, this.#allProtocols);
    const late = (plan.followUps ?? []).filter((one) => !plan.protocols.includes(one));
    this.#queue = [...inOrder(plan.protocols, spoken), ...inOrder(late, spoken)];
  }

  /** Why the interview ended early; `undefined` when it did not. */
  get ended(): Ended | undefined {
    return this.#ended;
  }

  /** Timeout for the reply to a datagram, milliseconds. */
  get timeoutMs(): number {
    return this.latencyMs === null ? this.#plan.timeoutMs : followUpTimeout(this.latencyMs);
  }

  /** Records that the endpoint sent a datagram outside the interview, which suppresses protocols. */
  noteSuppression(): void {
    this.#isSuppressing = true;
  }

  /** Whether a protocol must not be sent from now on. */
  isSuppressed({ name, suppressedBy }: Protocol): boolean {
    return suppressedBy !== undefined ? this.#isSuppressing : this.#trusted?.suppressedBy === name;
  }

  /** Records that the sighting already has the status of a protocol. */
  noteStatus({ name }: Protocol): void {
    this.#done.add(name);
    this.#hasReply = true;
  }

  /** Ends the interview: nothing more is sent. */
  stop(why: Ended): void {
    this.#ended ??= why;
  }

  /**
   * The step to take next. Returns the same step until {@linkcode recordResult} is called.
   *
   * @param now Milliseconds of the clock.
   * @returns `undefined` when the interview has ended.
   */
  next(now: number): Step | undefined {
    while (this.#ended === undefined) {
      const protocol = this.#queue[0];
      if (protocol === undefined) return undefined;
      if (this.#done.has(protocol.name) || !this.#isDue(protocol)) this.#queue.shift();
      else if (this.isSuppressed(protocol)) this.suppressed.push(this.#queue.shift()!.name);
      else return this.#step(this.#detectionFor(protocol) ?? protocol, now);
    }
    return undefined;
  }

  /** Records the result of the step that {@linkcode next} returned last. */
  recordResult(
    { protocol, medium, isDetection }: Step,
    { kind, suppresses, noReplySince, latencyMs }: InterviewEvent,
  ): void {
    const { sighted, needs } = this.#plan;
    const first = this.#done.size === 0 && sighted === undefined || protocol.name === sighted;
    this.#done.add(protocol.name);
    this.#isSuppressing ||= suppresses;
    if (kind === "replied") this.latencyMs ??= latencyMs ?? null;
    if (kind === "replied" && !isDetection) {
      this.#hasReply = true;
      if (protocol.suppressedBy !== undefined && !this.#isSuppressing) this.#trusted = protocol;
    }
    if (medium !== "stream") this.#noReplySince = noReplySince;
    if (kind === "cancelled") this.stop("cancelled");
    const enough = kind === "replied" || needs === "reply" && kind === "malformed";
    if (first && needs !== undefined && !enough) this.stop("unconfirmed");
  }

  /** Whether a protocol is sent now: follow-ups are sent only after a reply. */
  #isDue(protocol: Protocol): boolean {
    return this.#hasReply || this.#plan.protocols.includes(protocol);
  }

  /** The protocol that suppresses this one, if the endpoint was not probed in that protocol yet. */
  #detectionFor(protocol: Protocol): Protocol | undefined {
    const found = suppressorOf(protocol, this.#allProtocols);
    if (found === undefined || this.#trusted !== undefined) return undefined;
    const isDone = this.#done.has(found.name) || this.#plan.withoutReply?.has(found.name);
    return isDone ? undefined : found;
  }

  #step(protocol: Protocol, now: number): Step {
    const { sighted, timeoutMs } = this.#plan;
    const stream = protocol.transport === "tcp";
    return {
      protocol,
      at: stream || this.#noReplySince === undefined ? now : this.#noReplySince + GAP_MS,
      timeoutMs: protocol.name === sighted
        ? timeoutMs
        : stream && this.latencyMs === null
        ? undefined
        : this.timeoutMs,
      medium: stream ? "stream" : this.#isProved(protocol) ? "shared" : "exclusive",
      retriesWithoutReply: protocol.name === sighted,
      isDetection: protocol !== this.#queue[0],
    };
  }

  #isProved({ name, probe }: Protocol): boolean {
    return !probe?.mayLackToken || (this.#plan.echoed?.has(name) ?? false);
  }
}

/**
 * The protocol that suppresses another one; `undefined`: none does.
 *
 * @throws InputError when the list lacks that protocol: its servers would be harmed.
 */
export function suppressorOf(
  { name, suppressedBy }: Protocol,
  allProtocols: readonly Protocol[] = PROTOCOLS,
): Protocol | undefined {
  if (suppressedBy === undefined) return undefined;
  const found = allProtocols.find((one) => one.name === suppressedBy);
  if (found !== undefined) return found;
  throw new InputError(
    `Cannot use protocol "${name}": the list of protocols lacks "${suppressedBy}", ` +
      "which suppresses it",
  );
}

/**
 * The suppressible protocol that is sent first to an endpoint that speaks these protocols: its
 * suppressor is never sent there. `undefined`: there is none, or another protocol suppresses it.
 */
export function leadProtocol(
  spoken: ReadonlySet<string>,
  allProtocols: readonly Protocol[] = PROTOCOLS,
): Protocol | undefined {
  const speaks = allProtocols.filter(({ name }) => spoken.has(name));
  return speaks.some(repliesSuppress)
    ? undefined
    : speaks.find(({ suppressedBy }) => suppressedBy !== undefined);
}

/**
 * The known protocols of an endpoint that may be sent, the leading one first. A suppressed protocol
 * is left out.
 */
export function sendable(
  spoken: ReadonlySet<string>,
  allProtocols: readonly Protocol[] = PROTOCOLS,
): Protocol[] {
  const lead = leadProtocol(spoken, allProtocols);
  const others = allProtocols.filter(({ name, suppressedBy }) =>
    spoken.has(name) && suppressedBy === undefined
  );
  return lead === undefined ? others : [lead, ...others];
}

/** Whether a reply in this protocol means that suppressible protocols must not be sent. */
function repliesSuppress({ transport, suppressedBy }: Protocol): boolean {
  return transport === "udp" && suppressedBy === undefined;
}

function namesSpoken({ known = [], sighted }: InterviewPlan): ReadonlySet<string> {
  return new Set(sighted === undefined ? known : [sighted, ...known]);
}

/** Names of protocols that the endpoint is known to speak, forgeable replies left out. */
function provedNames({ known = [], sighted, echoed }: InterviewPlan): ReadonlySet<string> {
  return new Set(sighted !== undefined && echoed?.has(sighted) ? [sighted, ...known] : known);
}

/** Sorts protocols: the endpoint's own first, suppressible ones last. */
function inOrder(protocols: readonly Protocol[], spoken: ReadonlySet<string>): Protocol[] {
  const rank = ({ name, suppressedBy }: Protocol) =>
    spoken.has(name) ? 0 : suppressedBy === undefined ? 1 : 2;
  return protocols.toSorted((a, b) => rank(a) - rank(b));
}
