/**
 * The one policy of what an endpoint is sent: which protocol comes next and when, how long its reply
 * is waited for, on which socket, and when nothing more is sent. Pure decisions: the clock and the
 * sockets are those of {@linkcode conduct}.
 *
 * - Order: protocols that the endpoint is known to speak, then the others, each group as it is listed.
 * - Suppression: a protocol that another one suppresses (`suppressedBy`) is sent last, after that
 *   one was looked for and stayed silent, and never once any datagram came back that is no reply to it.
 *   An endpoint that is known to speak it alone is sent it first, and the other one never. A reply
 *   that may be forged is no such knowledge.
 * - Gap: a second passes between an unanswered datagram and the next protocol's first one. What
 *   follows a reply may come at once, and connections need no gap.
 * - Sockets: a protocol whose replies may lack our token uses a socket of its own, on which any reply
 *   is proof, until the endpoint has repeated a token.
 *
 * @module
 */
import { PROTOCOLS } from "../protocols/list.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { InputError } from "../core/errors.ts";
import type { Outcome } from "../core/record.ts";

/** The time between two unsolicited datagrams of different protocols to an endpoint, milliseconds. */
export const GAP_MS = 1000;

/** A follow-up waits at least so long, milliseconds, and so many round trips. */
const LEAST_FOLLOW_UP_MS = 250;
const FOLLOW_UP_ROUND_TRIPS = 4;

/** How long to wait for an endpoint whose round trip is known, milliseconds: silence costs little. */
export function followUpTimeout(latencyMs: number): number {
  return Math.max(LEAST_FOLLOW_UP_MS, FOLLOW_UP_ROUND_TRIPS * latencyMs);
}

/** What is wanted of an endpoint, and what is known of it. */
export interface InterviewPlan {
  /** The protocols, in order. */
  readonly protocols: readonly Protocol[];
  /** Every protocol of the program, in order of rank. Default: PROTOCOLS. */
  readonly allProtocols?: readonly Protocol[];
  /** Protocols that are tried only after another one was answered. Default: none. */
  readonly followUps?: readonly Protocol[];
  /** Names of protocols that it spoke when it last replied. Default: none is known. */
  readonly known?: readonly string[];
  /** The name of the protocol in which it has just replied: mute, it is asked once more. */
  readonly sighted?: string;
  /** Names of protocols in which it has repeated our token. Default: none. */
  readonly echoed?: ReadonlySet<string>;
  /** Names of protocols in which it was probed before, without a reply. Default: none. */
  readonly unanswered?: ReadonlySet<string>;
  /** Round trip, milliseconds; `null`: not known. */
  readonly latencyMs?: number | null;
  /** How long to wait for a reply while the round trip is not known, milliseconds. */
  readonly timeoutMs: number;
  /**
   * What the first protocol must bring, or the interview ends: a status, or any reply. Default:
   * nothing.
   */
  readonly needs?: "status" | "reply";
}

/** One protocol to send next. */
export interface Step {
  /** It. */
  readonly protocol: Protocol;
  /** Not before this time, milliseconds of the clock. */
  readonly at: number;
  /**
   * How long to wait for each reply, milliseconds; of a stream, how long it may take to open, and
   * `undefined`: as long as connections usually may.
   */
  readonly timeoutMs: number | undefined;
  /** What carries it: a socket that others use too, one of its own, or a connection. */
  readonly medium: "shared" | "exclusive" | "stream";
  /** Whether the exchange is repeated even where the first question stays without a reply. */
  readonly insists: boolean;
  /** Whether it is sent only to find out if another protocol must be suppressed. */
  readonly looks: boolean;
}

/** How a step went. */
export interface InterviewEvent {
  /** How its exchange ended. */
  readonly kind: Outcome<unknown>["kind"];
  /** Whether a datagram came back that shows another protocol than a suppressible one. */
  readonly replied: boolean;
  /** When its last datagram left, if nothing came since, milliseconds of the clock. */
  readonly unansweredAt: number | undefined;
  /** Round trip, milliseconds, where it was measured. */
  readonly latencyMs?: number;
}

/**
 * Why nothing more is sent before all protocols were tried: the first one did not bring what it had
 * to, the address opted out, all has to end, or this machine has no descriptors left.
 */
export type Ended = "unconfirmed" | "optedOut" | "cancelled" | "exhausted";

/** The state of one interview. */
export class Interview {
  /** Names of protocols that were not sent, for the endpoint's sake. */
  readonly suppressed: string[] = [];
  /** Round trip, milliseconds; `null`: not known. */
  latencyMs: number | null;
  readonly #plan: InterviewPlan;
  readonly #allProtocols: readonly Protocol[];
  readonly #queue: Protocol[];
  /** The suppressible protocol that it is known to speak, and nothing beside it. */
  #trusted: Protocol | undefined;
  readonly #heard = new Set<string>();
  /** Whether a datagram came back that is no reply in a suppressible protocol. */
  #replied: boolean;
  #answered = false;
  #unansweredAt: number | undefined;
  #ended: Ended | undefined;

  /** Nothing was sent yet. */
  constructor(plan: InterviewPlan) {
    this.#plan = plan;
    this.#allProtocols = plan.allProtocols ?? PROTOCOLS;
    this.latencyMs = plan.latencyMs ?? null;
    const spoken = namesSpoken(plan);
    this.#replied = this.#allProtocols.some((one) => spoken.has(one.name) && revealing(one));
    const proven = provenNames(plan);
    this.#trusted = this.#replied ? undefined : leadProtocol(proven, this.#allProtocols);
    const late = (plan.followUps ?? []).filter((one) => !plan.protocols.includes(one));
    this.#queue = [...inOrder(plan.protocols, spoken), ...inOrder(late, spoken)];
  }

  /** Why it ended early. */
  get ended(): Ended | undefined {
    return this.#ended;
  }

  /** How long to wait for the reply to a datagram, milliseconds. */
  get timeoutMs(): number {
    return this.latencyMs === null ? this.#plan.timeoutMs : followUpTimeout(this.latencyMs);
  }

  /** Notes that a datagram came from the endpoint outside of the interview's own exchanges. */
  noteReply(): void {
    this.#replied = true;
  }

  /** Whether a protocol must not be sent from now on. */
  isSuppressed({ name, suppressedBy }: Protocol): boolean {
    return suppressedBy !== undefined ? this.#replied : this.#trusted?.suppressedBy === name;
  }

  /** Notes that the status of a protocol is there already. */
  noteStatus({ name }: Protocol): void {
    this.#heard.add(name);
    this.#answered = true;
  }

  /** Ends it: nothing more is sent. */
  stop(why: Ended): void {
    this.#ended ??= why;
  }

  /**
   * What is sent next; the same again until {@linkcode heard} was called.
   *
   * @param now Milliseconds of the clock.
   * @returns `undefined` when nothing is.
   */
  next(now: number): Step | undefined {
    while (this.#ended === undefined) {
      const protocol = this.#queue[0];
      if (protocol === undefined) return undefined;
      if (this.#heard.has(protocol.name) || !this.#wants(protocol)) this.#queue.shift();
      else if (this.isSuppressed(protocol)) this.suppressed.push(this.#queue.shift()!.name);
      else return this.#step(this.#lookFor(protocol) ?? protocol, now);
    }
    return undefined;
  }

  /** Takes how the step went that {@linkcode next} gave last. */
  heard(
    { protocol, medium, looks }: Step,
    { kind, replied, unansweredAt, latencyMs }: InterviewEvent,
  ): void {
    const { sighted, needs } = this.#plan;
    const first = this.#heard.size === 0 && sighted === undefined || protocol.name === sighted;
    this.#heard.add(protocol.name);
    this.#replied ||= replied;
    if (kind === "replied") this.latencyMs ??= latencyMs ?? null;
    if (kind === "replied" && !looks) {
      this.#answered = true;
      if (protocol.suppressedBy !== undefined && !this.#replied) this.#trusted = protocol;
    }
    if (medium !== "stream") this.#unansweredAt = unansweredAt;
    if (kind === "cancelled") this.stop("cancelled");
    const enough = kind === "replied" || needs === "reply" && kind === "malformed";
    if (first && needs !== undefined && !enough) this.stop("unconfirmed");
  }

  /** Follow-ups wait for an answer. */
  #wants(protocol: Protocol): boolean {
    return this.#answered || this.#plan.protocols.includes(protocol);
  }

  /** The protocol whose speakers must not be sent this one, where nobody has looked for it yet. */
  #lookFor(protocol: Protocol): Protocol | undefined {
    const found = suppressorOf(protocol, this.#allProtocols);
    if (found === undefined || this.#trusted !== undefined) return undefined;
    const isDone = this.#heard.has(found.name) || this.#plan.unanswered?.has(found.name);
    return isDone ? undefined : found;
  }

  #step(protocol: Protocol, now: number): Step {
    const { sighted, timeoutMs } = this.#plan;
    const stream = protocol.transport === "tcp";
    return {
      protocol,
      at: stream || this.#unansweredAt === undefined ? now : this.#unansweredAt + GAP_MS,
      timeoutMs: protocol.name === sighted
        ? timeoutMs
        : stream && this.latencyMs === null
        ? undefined
        : this.timeoutMs,
      medium: stream ? "stream" : this.#isProven(protocol) ? "shared" : "exclusive",
      insists: protocol.name === sighted,
      looks: protocol !== this.#queue[0],
    };
  }

  #isProven({ name, probe }: Protocol): boolean {
    return !probe?.mayLackToken || (this.#plan.echoed?.has(name) ?? false);
  }
}

/**
 * The protocol that suppresses another one; `undefined` where none does.
 *
 * @throws InputError when the list lacks it: its speakers could not be looked for, and would be harmed.
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
 * The suppressible protocol that is sent first to an endpoint that speaks these: the one that
 * suppresses it is never sent there. `undefined` where there is none, or a reply in another one suppresses it.
 */
export function leadProtocol(
  spoken: ReadonlySet<string>,
  allProtocols: readonly Protocol[] = PROTOCOLS,
): Protocol | undefined {
  const speaks = allProtocols.filter(({ name }) => spoken.has(name));
  return speaks.some(revealing)
    ? undefined
    : speaks.find(({ suppressedBy }) => suppressedBy !== undefined);
}

/**
 * Of the protocols that an endpoint is known to speak, those that it may be sent, the leading one
 * first: no suppressible one where another one suppresses it.
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

/** Whether a reply in it shows that suppressible protocols must not be sent. */
function revealing({ transport, suppressedBy }: Protocol): boolean {
  return transport === "udp" && suppressedBy === undefined;
}

function namesSpoken({ known = [], sighted }: InterviewPlan): ReadonlySet<string> {
  return new Set(sighted === undefined ? known : [sighted, ...known]);
}

/** What it is known to speak by more than a reply that may be forged. */
function provenNames({ known = [], sighted, echoed }: InterviewPlan): ReadonlySet<string> {
  return new Set(sighted !== undefined && echoed?.has(sighted) ? [sighted, ...known] : known);
}

/** Those that it speaks first; among the others, those that harm speakers of another one last. */
function inOrder(protocols: readonly Protocol[], spoken: ReadonlySet<string>): Protocol[] {
  const rank = ({ name, suppressedBy }: Protocol) =>
    spoken.has(name) ? 0 : suppressedBy === undefined ? 1 : 2;
  return protocols.toSorted((a, b) => rank(a) - rank(b));
}
