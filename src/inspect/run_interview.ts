/**
 * Interviewing one endpoint: what {@linkcode Interview} decides is sent, at its time, over sockets.
 *
 * @module
 */
import type { Endpoint } from "../core/address.ts";
import { sleep } from "../net/clock.ts";
import type { Link } from "../net/socket.ts";
import type { Protocol } from "../protocols/protocol.ts";
import type { Outcome } from "../core/record.ts";
import { isExhausted, queryWithRetries, type RetryLimits } from "./retry.ts";
import { type Ended, Interview, type InterviewPlan, type Step } from "./interview.ts";
import type { ProtocolReply } from "./merge.ts";
import { verifyServer } from "./verify_joinable.ts";

/** How to reach an endpoint. */
export interface InterviewLinks {
  /** Opens a conversation on a socket that others use too. Default: each has a socket of its own. */
  readonly shared?: () => Link | Promise<Link>;
  /** Opens a conversation on a socket of its own. */
  readonly exclusive: () => Link | Promise<Link>;
  /**
   * Opens a conversation over TCP, which bounds its time by itself. Default: none is held.
   *
   * @param connectMs How long the connection may take to open; `undefined`: as usual.
   */
  readonly stream?: (protocol: string, connectMs: number | undefined) => Link | Promise<Link>;
}

/** How to hold an interview. */
export interface RunInterviewOptions extends RetryLimits {
  /** Who is asked. */
  readonly endpoint: Endpoint;
  /** How to reach it. */
  readonly links: InterviewLinks;
  /** The name under which it was asked for. */
  readonly requestedAs?: string | null;
  /** Whether streams are asked only what a status needs. Default: no. */
  readonly statusOnly?: boolean;
  /** Whether protocols find out if a server that answered can be used. Default: no. */
  readonly verify?: boolean;
  /** The status that the sighted protocol has brought already. */
  readonly opening?: { readonly status: unknown; readonly raw?: Uint8Array };
  /** What the first exchange in a protocol may start from. Default: nothing. */
  readonly startOf?: (protocol: Protocol) => unknown;
  /**
   * Whether an exchange that {@linkcode startOf} did not help is begun anew beside those that retries
   * allow. Default: no.
   */
  readonly restarts?: boolean;
  /** Whether a reply asks scanners to stay away: then nothing more is sent. Default: none does. */
  readonly optsOut?: (answer: ProtocolReply) => boolean;
  /** Whether the address has opted out meanwhile. Default: no. */
  readonly optedOut?: () => boolean;
  /** Whether a datagram has come from the endpoint besides, which suppresses some protocols. */
  readonly replied?: () => boolean;
  /** Told of every status. */
  readonly onStatus?: (protocol: Protocol, status: unknown) => void;
}

/** What an interview found. */
export interface InterviewResult {
  /** What each protocol said. */
  readonly answers: readonly ProtocolReply[];
  /** Round trip, milliseconds; `null` when it could not be told. */
  readonly latencyMs: number | null;
  /** How every protocol went that was sent, in that order. */
  readonly outcomes: readonly { readonly protocol: string; readonly outcome: Outcome<unknown> }[];
  /** Protocols that were not sent, for the endpoint's sake. */
  readonly suppressed: readonly string[];
  /** Why it ended early. */
  readonly ended: Ended | undefined;
  /** Whether something was cut off, or not sent, because all had to end or descriptors were short. */
  readonly cut: boolean;
  /** Whether something was not sent because no descriptor could be had for it. */
  readonly exhausted: boolean;
}

/** Interviews an endpoint. */
export async function runInterview(
  plan: InterviewPlan,
  options: RunInterviewOptions,
): Promise<InterviewResult> {
  const { clock, signal, replied, optedOut, links, opening } = options;
  const protocols = links.stream
    ? plan.protocols
    : plan.protocols.filter(({ transport }) => transport === "udp");
  const conversation = new Conduct(new Interview({ ...plan, protocols }), options);
  const { interview } = conversation;
  if (opening !== undefined) {
    const sighted = plan.protocols.find(({ name }) => name === plan.sighted)!;
    interview.noteStatus(sighted);
    await conversation.take(sighted, opening);
  }
  for (;;) {
    if (replied?.()) interview.noteReply();
    if (optedOut?.()) interview.stop("optedOut");
    const step = interview.next(clock.now());
    if (step === undefined) break;
    const wait = step.at - clock.now();
    if (wait > 0 && !signal.aborted) await sleep(clock, wait, signal);
    else await conversation.ask(step);
  }
  return conversation.found;
}

/** An interview under way. */
class Conduct {
  readonly #answers: ProtocolReply[] = [];
  readonly #outcomes: { protocol: string; outcome: Outcome<unknown> }[] = [];
  #cut = false;
  #exhausted = false;

  constructor(readonly interview: Interview, private readonly options: RunInterviewOptions) {}

  get found(): InterviewResult {
    const { latencyMs, suppressed, ended } = this.interview;
    const exhausted = this.#exhausted || ended === "exhausted";
    const cut = this.#cut || exhausted || ended === "cancelled";
    return {
      answers: this.#answers,
      latencyMs,
      outcomes: this.#outcomes,
      suppressed,
      ended,
      cut,
      exhausted,
    };
  }

  /** Takes a step, and what comes of it. */
  async ask(step: Step): Promise<void> {
    const { protocol, looks, medium } = step;
    const { signal } = this.options;
    const tap = new Tap(this.options);
    const outcome = await this.#exchange(step, tap);
    this.#outcomes.push({ protocol: protocol.name, outcome });
    const replied = outcome.kind === "malformed" && outcome.foreign === true ||
      medium !== "stream" && protocol.suppressedBy === undefined && tap.heard;
    const latencyMs = outcome.kind === "replied" ? outcome.latencyMs : undefined;
    if (isExhausted(outcome)) this.interview.stop(signal.aborted ? "cancelled" : "exhausted");
    const { unansweredAt } = tap;
    this.interview.heard(step, { kind: outcome.kind, replied, unansweredAt, latencyMs });
    if (outcome.kind === "replied") await this.take(protocol, outcome, looks);
  }

  /** Takes a status. */
  async take(
    protocol: Protocol,
    { status, raw }: { readonly status: unknown; readonly raw?: Uint8Array },
    looks = false,
  ): Promise<void> {
    const { options, interview } = this;
    const answer: ProtocolReply = {
      protocol: protocol.name,
      statement: protocol.record(status),
      raw,
    };
    if (options.optsOut?.(answer)) interview.stop("optedOut");
    if (looks) return;
    options.onStatus?.(protocol, status);
    const stays = options.verify && interview.ended === undefined;
    this.#answers.push(stays ? await this.#verified(protocol, answer, status) : answer);
  }

  /** An answer with what its protocol finds out on request. */
  async #verified(
    protocol: Protocol,
    answer: ProtocolReply,
    status: unknown,
  ): Promise<ProtocolReply> {
    const { endpoint, links: { exclusive: link } } = this.options;
    const verification = { endpoint, link, timeoutMs: this.interview.timeoutMs };
    const verified = await verifyServer(protocol, answer, status, verification, this.options);
    this.#cut ||= verified.cut;
    this.#exhausted ||= verified.exhausted ?? false;
    return verified.answer;
  }

  /** An exchange that starts from what is known; where that does not serve, another from anew. */
  async #exchange(step: Step, tap: Tap): Promise<Outcome<unknown>> {
    const { startOf, restarts } = this.options;
    const known = startOf?.(step.protocol);
    if (known === undefined || !restarts) return await this.#attempt(step, tap, { known });
    const once = { ...this.options, retries: 0 };
    const outcome = await this.#attempt(step, tap, { known, settles: false }, once);
    const over = outcome.kind === "replied" || outcome.kind === "cancelled";
    return over ? outcome : await this.#attempt(step, tap, {});
  }

  #attempt(
    { protocol, medium, timeoutMs, insists }: Step,
    tap: Tap,
    start: { readonly known?: unknown; readonly settles?: boolean },
    patience: RetryLimits = this.options,
  ): Promise<Outcome<unknown>> {
    const { endpoint, links, requestedAs, statusOnly, replied } = this.options;
    const { shared, exclusive, stream } = links;
    const useShared = medium === "shared" && shared !== undefined;
    // The others open no descriptor here, so that their links are no sign that there are some.
    const opens = medium !== "stream" && !useShared;
    return queryWithRetries(protocol, {
      endpoint,
      requestedAs,
      statusOnly,
      leavesMute: !insists,
      ...start,
      link: async () =>
        medium === "stream"
          ? await stream!(protocol.name, timeoutMs)
          : tap.on(await (useShared ? shared() : exclusive())),
      exclusive: !useShared,
      timeoutMs: medium === "stream" ? Infinity : timeoutMs!, // the link bounds a stream's
      forbids: protocol.suppressedBy === undefined
        ? undefined
        : (datagram) =>
          datagram === undefined ? replied?.() ?? false : protocol.isReply?.(datagram) === false,
    }, { ...patience, shortage: opens ? patience.shortage : undefined });
  }
}

/** Notes what goes over the links of one protocol. */
class Tap {
  /** Whether a datagram came. */
  heard = false;
  /** When the last one left, if none came since. */
  unansweredAt: number | undefined;

  constructor(private readonly options: Pick<RunInterviewOptions, "clock">) {}

  /** The same link, listened to. */
  on(link: Link): Link {
    return {
      send: async (datagram) => {
        const sent = await link.send(datagram);
        this.unansweredAt = this.options.clock.now();
        return sent;
      },
      next: async (timeoutMs) => {
        const datagram = await link.next(timeoutMs);
        if (datagram !== undefined) {
          this.heard = true;
          this.unansweredAt = undefined;
        }
        return datagram;
      },
      [Symbol.asyncDispose]: () => link[Symbol.asyncDispose](),
    };
  }
}
