/**
 * Decides in which protocol an endpoint is queried next, when, with which timeout, and on which socket;
 * and when the interview ends. This file is pure: {@linkcode runInterview} has the clock and the
 * sockets.
 *
 * - Order: the endpoint's known protocols, then the others, each group in the order of the options.
 * - Suppression: a protocol may harm servers that speak another protocol, its suppressor
 *   (`suppressedBy`). For example, SQP harms RakNet servers. A protocol with a suppressor is called
 *   suppressible. A suppressible protocol is used last, and only if a probe in the suppressor had
 *   no reply. It is no longer used once the endpoint has sent a datagram that is not a reply in the
 *   suppressible protocol, in this interview or before. An endpoint that is known to speak only the
 *   suppressible protocol is queried in that protocol first, and never in the suppressor. A reply
 *   that may be forged does not count as proof.
 * - Gap: a second passes between a datagram without a reply and the first datagram of the next protocol.
 *   After a reply the next datagram may be sent at once, and connections need no gap.
 * - Connections: an endpoint that replied over TCP is not queried in another TCP protocol, unless it is
 *   known to speak it; after a connection that did not open, no other one is tried.
 * - Sockets: a protocol whose replies may lack the token uses a socket of its own until the endpoint has
 *   repeated a token. On a socket of its own, any reply counts as proof.
 *
 * @module
 */
import type { ProtocolSelection } from "../protocols/list.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { isLastAt } from "../protocols/usual_ports.ts";
import { InputError } from "../core/errors.ts";
import type { Outcome } from "../core/record.ts";

/**
 * The minimum time from an unanswered datagram to the first datagram of the next protocol to the same
 * endpoint, milliseconds.
 */
export const GAP_MS = 1000;

/** Timeout of a follow-up: its minimum in milliseconds, and its length in round trips. */
const MIN_FOLLOW_UP_MS = 250;
const FOLLOW_UP_ROUND_TRIPS = 4;

/** Timeout for a reply from an endpoint whose round trip is known, milliseconds. */
export function followUpTimeout(latencyMs: number): number {
  return Math.max(MIN_FOLLOW_UP_MS, FOLLOW_UP_ROUND_TRIPS * latencyMs);
}

/** The protocols in which an endpoint is queried, and earlier results from this endpoint. */
export interface InterviewPlan extends ProtocolSelection {
  /** Protocols that are used only after a reply in another protocol. Default: none. */
  readonly followUps?: readonly Protocol[];
  /** The port of the endpoint. Default: it has no influence on the order. */
  readonly port?: number;
  /** Names of protocols in which the endpoint replied before. Default: none. */
  readonly known?: readonly string[];
  /**
   * Name of the protocol of the sighting. The exchange in this protocol is repeated if it gets no
   * reply.
   */
  readonly sighted?: string;
  /** Names of protocols in which the endpoint has repeated the token. Default: none. */
  readonly echoed?: ReadonlySet<string>;
  /** Names of protocols in which the endpoint was probed before, without a reply. Default: none. */
  readonly withoutReply?: ReadonlySet<string>;
  /** Whether the result keeps replies that are too little evidence of a server. Default: false. */
  readonly keepsWeak?: boolean;
  /** Round-trip time, milliseconds; `null`: not known. */
  readonly latencyMs?: number | null;
  /** How long to wait for a reply while the round trip is not known, milliseconds. */
  readonly timeoutMs: number;
  /**
   * What the exchange in the first protocol must return: a status, or any reply. Otherwise the
   * interview ends. Default: nothing.
   */
  readonly needs?: "status" | "reply";
  /**
   * When an earlier interview of the endpoint sent its last datagram, milliseconds of the clock, if that
   * datagram had no reply. Default: it had one, or there was none.
   */
  readonly noReplySince?: number;
}

/** One step of an interview: an exchange in one protocol. */
export interface InterviewStep {
  readonly protocol: Protocol;
  /** Earliest time of the first datagram, milliseconds of the clock. */
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
  /** Whether the exchange serves only to detect that another protocol must be suppressed. */
  readonly isDetection: boolean;
}

/** The result of a step. */
export interface InterviewEvent {
  /** How the exchange ended. */
  readonly kind: Outcome<unknown>["kind"];
  /** Whether a datagram other than a reply in a suppressible protocol was received. */
  readonly suppresses: boolean;
  /**
   * When the last datagram was sent, milliseconds of the clock; `undefined` if a reply followed.
   */
  readonly noReplySince: number | undefined;
  /** Round-trip time, milliseconds; `undefined`: it was not measured. */
  readonly latencyMs?: number;
  /** Whether the connection did not open. Default: no. */
  readonly noStream?: boolean;
}

/**
 * Why an interview ended before the endpoint was queried in all protocols: the first exchange did
 * not return what the plan needs, the address opted out, the interview was cancelled, or no
 * descriptor was free.
 */
export type Ended = "unconfirmed" | "optedOut" | "cancelled" | "exhausted";

/** The state of one interview. */
export class Interview {
  /** Names of suppressed protocols. */
  readonly suppressed: string[] = [];
  /** Round trip, milliseconds; `null`: not known. */
  latencyMs: number | null;
  readonly #plan: InterviewPlan;
  readonly #queue: Protocol[];
  /**
   * The suppressible protocol of the endpoint, if the endpoint is known to speak no other protocol.
   */
  #trusted: Protocol | undefined;
  readonly #done = new Set<string>();
  /** Whether a datagram other than a reply in a suppressible protocol was received. */
  #isSuppressing: boolean;
  #hasReply = false;
  /** Whether the endpoint replied over TCP, and whether it accepts no connections. */
  #hasStreamReply = false;
  #noStream = false;
  readonly #spoken: ReadonlySet<string>;
  #noReplySince: number | undefined;
  #ended: Ended | undefined;

  constructor(plan: InterviewPlan) {
    this.#plan = plan;
    this.latencyMs = plan.latencyMs ?? null;
    this.#noReplySince = plan.noReplySince;
    const spoken = this.#spoken = namesSpoken(plan);
    this.#isSuppressing = plan.allProtocols.some((one) =>
      spoken.has(one.name) && repliesSuppress(one)
    );
    const proved = provedNames(plan);
    this.#trusted = this.#isSuppressing ? undefined : leadProtocol(proved, plan.allProtocols);
    const late = (plan.followUps ?? []).filter((one) => !plan.protocols.includes(one));
    const { port } = plan;
    this.#queue = [...inOrder(plan.protocols, spoken, port), ...inOrder(late, spoken, port)];
  }

  /** Why the interview ended early; `undefined` when it did not. */
  get ended(): Ended | undefined {
    return this.#ended;
  }

  /** When the last datagram was sent, milliseconds of the clock; `undefined` if a reply followed. */
  get noReplySince(): number | undefined {
    return this.#noReplySince;
  }

  /** Timeout for the reply to a datagram, milliseconds. */
  get timeoutMs(): number {
    return this.latencyMs === null ? this.#plan.timeoutMs : followUpTimeout(this.latencyMs);
  }

  /**
   * Records that the endpoint sent a datagram outside the interview. Such a datagram suppresses
   * protocols.
   */
  noteSuppression(): void {
    this.#isSuppressing = true;
  }

  /** Whether a protocol must not be used from now on. */
  isSuppressed({ name, suppressedBy }: Protocol): boolean {
    return suppressedBy !== undefined ? this.#isSuppressing : this.#trusted?.suppressedBy === name;
  }

  /** Records that the sighting already contains the status in a protocol. */
  noteStatus({ name, transport }: Protocol): void {
    this.#done.add(name);
    this.#hasReply = true;
    this.#hasStreamReply ||= transport === "tcp";
  }

  /** Ends the interview: nothing more is sent. */
  stop(why: Ended): void {
    this.#ended ??= why;
  }

  /**
   * The next step. Returns the same step until {@linkcode recordResult} is called.
   *
   * @param now Milliseconds of the clock.
   * @returns `undefined` when the interview has ended.
   */
  next(now: number): InterviewStep | undefined {
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
    { protocol, medium, isDetection }: InterviewStep,
    { kind, suppresses, noReplySince, latencyMs, noStream = false }: InterviewEvent,
  ): void {
    const { sighted, needs } = this.#plan;
    const first = this.#done.size === 0 && sighted === undefined || protocol.name === sighted;
    this.#done.add(protocol.name);
    this.#isSuppressing ||= suppresses;
    if (kind === "replied") this.latencyMs ??= latencyMs ?? null;
    if (kind === "replied" && !isDetection) {
      this.#hasReply = true;
      this.#hasStreamReply ||= medium === "stream";
      if (protocol.suppressedBy !== undefined && !this.#isSuppressing) this.#trusted = protocol;
    }
    if (medium !== "stream") this.#noReplySince = noReplySince;
    this.#noStream ||= noStream;
    if (kind === "cancelled") this.stop("cancelled");
    const enough = kind === "replied" || needs === "reply" && kind === "malformed";
    if (first && needs !== undefined && !enough) this.stop("unconfirmed");
  }

  /** Whether a protocol may be used now. Follow-ups may be used only after a reply. */
  #isDue(protocol: Protocol): boolean {
    if (protocol.transport === "tcp") {
      if (this.#noStream) return false;
      if (this.#hasStreamReply && !this.#spoken.has(protocol.name)) return false;
    }
    return this.#hasReply || this.#plan.protocols.includes(protocol);
  }

  /** The suppressor of a protocol, if the endpoint was not probed in the suppressor yet. */
  #detectionFor(protocol: Protocol): Protocol | undefined {
    const found = suppressorOf(protocol, this.#plan.allProtocols);
    if (found === undefined || this.#trusted !== undefined) return undefined;
    const isDone = this.#done.has(found.name) || this.#plan.withoutReply?.has(found.name);
    return isDone ? undefined : found;
  }

  #step(protocol: Protocol, now: number): InterviewStep {
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
 * The suppressor of a protocol; `undefined` if it has none.
 *
 * @throws InputError when the list of protocols lacks the suppressor, because servers would be
 * harmed.
 */
export function suppressorOf(
  { name, suppressedBy }: Protocol,
  allProtocols: readonly Protocol[],
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
 * The suppressible protocol in which an endpoint that speaks these protocols is queried first, and
 * without its suppressor. `undefined`: the endpoint speaks no suppressible protocol, or it also
 * speaks a protocol that suppresses others.
 */
export function leadProtocol(
  spoken: ReadonlySet<string>,
  allProtocols: readonly Protocol[],
): Protocol | undefined {
  const speaks = allProtocols.filter(({ name }) => spoken.has(name));
  return speaks.some(repliesSuppress)
    ? undefined
    : speaks.find(({ suppressedBy }) => suppressedBy !== undefined);
}

/**
 * The known protocols in which an endpoint may be queried, in order: the result of {@linkcode
 * leadProtocol} first. Suppressed protocols are left out.
 */
export function sendable(
  spoken: ReadonlySet<string>,
  allProtocols: readonly Protocol[],
): Protocol[] {
  const lead = leadProtocol(spoken, allProtocols);
  const others = allProtocols.filter(({ name, suppressedBy }) =>
    spoken.has(name) && suppressedBy === undefined
  );
  return lead === undefined ? others : [lead, ...others];
}

/** Whether a reply in this protocol means that suppressible protocols must not be used. */
export function repliesSuppress({ transport, suppressedBy }: Protocol): boolean {
  return transport === "udp" && suppressedBy === undefined;
}

function namesSpoken({ known = [], sighted }: InterviewPlan): ReadonlySet<string> {
  return new Set(sighted === undefined ? known : [sighted, ...known]);
}

/** Names of protocols that the endpoint certainly speaks. Forgeable replies do not count. */
function provedNames({ known = [], sighted, echoed }: InterviewPlan): ReadonlySet<string> {
  return new Set(sighted !== undefined && echoed?.has(sighted) ? [sighted, ...known] : known);
}

/**
 * Sorts protocols: first those that the endpoint speaks, then the others. Of these, the protocols that
 * are used late on this port come near the end, and suppressible ones at the end.
 */
function inOrder(
  protocols: readonly Protocol[],
  spoken: ReadonlySet<string>,
  port: number | undefined,
): Protocol[] {
  const isLate = (one: Protocol) => port !== undefined && isLastAt(one, port);
  const rank = (one: Protocol) =>
    spoken.has(one.name) ? 0 : one.suppressedBy !== undefined ? 3 : isLate(one) ? 2 : 1;
  return protocols.toSorted((a, b) => rank(a) - rank(b));
}
