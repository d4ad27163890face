/**
 * Interviews one endpoint: carries out the decisions of {@linkcode Interview} over sockets.
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

/** Functions that open links to an endpoint. */
export interface InterviewLinks {
  /** Opens a link on a shared socket. Default: each link has its own socket. */
  readonly shared?: () => Link | Promise<Link>;
  /** Opens a link on its own socket. */
  readonly exclusive: () => Link | Promise<Link>;
  /**
   * Opens a link over TCP, which has its own timeouts. Default: TCP protocols are not sent.
   *
   * @param connectMs Timeout for opening the connection, milliseconds; `undefined`: the default.
   */
  readonly stream?: (protocol: string, connectMs: number | undefined) => Link | Promise<Link>;
}

/** Options of an interview. */
export interface RunInterviewOptions extends RetryLimits {
  /** The endpoint that is interviewed. */
  readonly endpoint: Endpoint;
  /** Functions that open links to the endpoint. */
  readonly links: InterviewLinks;
  /** The name that the user gave for the endpoint. */
  readonly requestedAs?: string | null;
  /** Whether TCP protocols send only the requests that a status needs. Default: no. */
  readonly statusOnly?: boolean;
  /** Whether it is verified that a server accepts connections. Default: no. */
  readonly verify?: boolean;
  /** The status from the sighting, and the reply that it was decoded from. */
  readonly opening?: { readonly status: unknown; readonly answer: ProtocolReply };
  /** State with which the first exchange in a protocol may start. Default: none. */
  readonly startOf?: (protocol: Protocol) => unknown;
  /**
   * Whether an exchange that fails with the state from {@linkcode startOf} is repeated without it,
   * in addition to the retries. Default: no.
   */
  readonly restarts?: boolean;
  /** Whether a reply is an opt-out, after which nothing more is sent. Default: no reply is. */
  readonly optsOut?: (answer: ProtocolReply) => boolean;
  /** Whether the address has opted out meanwhile. Default: no. */
  readonly optedOut?: () => boolean;
  /** Whether a datagram outside the interview, from this endpoint, suppresses some protocols. */
  readonly replied?: () => boolean;
  /** Called for every status. */
  readonly onStatus?: (protocol: Protocol, status: unknown) => void;
}

/** The result of an interview. */
export interface InterviewResult {
  /** The reply of each protocol. */
  readonly answers: readonly ProtocolReply[];
  /** Round trip, milliseconds; `null` when it was not measured. */
  readonly latencyMs: number | null;
  /** The outcome of each protocol that was sent, in the order of sending. */
  readonly outcomes: readonly { readonly protocol: string; readonly outcome: Outcome<unknown> }[];
  /** Protocols that were suppressed. */
  readonly suppressed: readonly string[];
  /** Why the interview ended early; `undefined` when it did not. */
  readonly ended: Ended | undefined;
  /** Whether exchanges were cancelled, or left out for lack of descriptors. */
  readonly cut: boolean;
  /** Whether a protocol was not sent because no descriptor was free. */
  readonly exhausted: boolean;
}

/** Sends the protocols to an endpoint one after the other, and collects their replies. */
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
    await conversation.take(sighted, opening.status, opening.answer);
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

/** A running interview. */
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

  /** Runs one step and records its outcome. */
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
    if (outcome.kind !== "replied") return;
    const { status, raw } = outcome;
    const statement = protocol.record(status);
    await this.take(protocol, status, { protocol: protocol.name, statement, raw }, looks);
  }

  /** Records the status of a protocol. */
  async take(
    protocol: Protocol,
    status: unknown,
    answer: ProtocolReply,
    looks = false,
  ): Promise<void> {
    const { options, interview } = this;
    if (options.optsOut?.(answer)) interview.stop("optedOut");
    if (looks) return;
    options.onStatus?.(protocol, status);
    const stays = options.verify && interview.ended === undefined;
    this.#answers.push(stays ? await this.#verified(protocol, answer, status) : answer);
  }

  /** A reply with the result of a verification, if one is wanted. */
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

  /** Runs an exchange with the known state; if that fails, runs another one without it. */
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
    // Other links need no new descriptor, so their success does not end a shortage.
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
      timeoutMs: medium === "stream" ? Infinity : timeoutMs!, // streams have their own timeouts
      forbids: protocol.suppressedBy === undefined
        ? undefined
        : (datagram) =>
          datagram === undefined ? replied?.() ?? false : protocol.isReply?.(datagram) === false,
    }, { ...patience, shortage: opens ? patience.shortage : undefined });
  }
}

/** Records the datagrams on the links of one protocol. */
class Tap {
  /** Whether a datagram was received. */
  heard = false;
  /** When the last datagram was sent, if none was received since, milliseconds of the clock. */
  unansweredAt: number | undefined;

  constructor(private readonly options: Pick<RunInterviewOptions, "clock">) {}

  /** Wraps a link to record its datagrams. */
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
