/**
 * Interviews one endpoint: carries out the decisions of {@linkcode Interview} over sockets.
 *
 * @module
 */
import type { Endpoint } from "../core/address.ts";
import { sleep } from "../net/clock.ts";
import { openWithRetries } from "../net/file_descriptors.ts";
import type { Link } from "../net/mod.ts";
import { isKnownFor } from "../protocols/declared_facts.ts";
import type { ExchangeContext, Protocol } from "../protocols/protocol.ts";
import type { Outcome } from "../core/record.ts";
import { converse, type ConverseOptions, type RetryLimits } from "./converse.ts";
import { type Ended, Interview, type InterviewPlan, type InterviewStep } from "./interview.ts";
import type { ProtocolReply } from "./protocol_reply.ts";
import { verifyServer } from "./verify_joinable.ts";

/** Functions that open links to an endpoint. */
export interface InterviewLinks {
  /** Opens a link on a shared socket. Default: each link has its own socket. */
  readonly shared?: () => Link | Promise<Link>;
  /** Opens a link on its own socket. */
  readonly exclusive: () => Link | Promise<Link>;
  /**
   * Opens a link over TCP. Such a link has its own timeouts. Default: the endpoint is not queried
   * over TCP.
   *
   * @param connectMs Timeout for opening the connection, milliseconds; `undefined`: the default.
   */
  readonly stream?: (protocol: string, connectMs: number | undefined) => Link | Promise<Link>;
}

export interface RunInterviewOptions extends RetryLimits {
  readonly endpoint: Endpoint;
  readonly links: InterviewLinks;
  /** The name that the user gave for the endpoint. */
  readonly requestedAs?: string | null;
  /** The port that goes with that name, if an SRV record led from it to the endpoint. */
  readonly requestedPort?: number;
  /** Whether TCP protocols send only the requests that a status needs. Default: no. */
  readonly statusOnly?: boolean;
  /** Whether to verify that the server accepts connections. Default: no. */
  readonly verify?: boolean;
  /** The status from the sighting, and the reply from which the status was decoded. */
  readonly opening?: { readonly status: unknown; readonly reply: ProtocolReply };
  /** State with which the first exchange in a protocol may start. Default: none. */
  readonly startOf?: (protocol: Protocol) => unknown;
  /**
   * Whether an exchange that fails with the state from {@linkcode startOf} is repeated once without
   * that state, in addition to the retries. Default: no.
   */
  readonly restarts?: boolean;
  /**
   * Returns whether a reply contains an opt-out. Nothing more is sent after such a reply. Default:
   * no reply does.
   */
  readonly optsOut?: (reply: ProtocolReply) => boolean;
  /** Returns whether the address has opted out meanwhile. Default: no. */
  readonly optedOut?: () => boolean;
  /**
   * Returns whether the endpoint has sent a datagram outside the interview. Such a datagram
   * suppresses protocols. Default: no.
   */
  readonly replied?: () => boolean;
  /**
   * Returns the outcome of an exchange with the endpoint that runs already, in place of which no other
   * one begins; `undefined`: there is none. Default: there is none.
   */
  readonly underway?: (protocol: Protocol) => Promise<Outcome<unknown> | undefined>;
  /** Called for every status. */
  readonly onStatus?: (protocol: Protocol, status: unknown) => void;
}

export interface InterviewResult {
  /**
   * The reply of each protocol; none if each is too little evidence of a server, unless the server was
   * known.
   */
  readonly replies: readonly ProtocolReply[];
  /** Whether there is no reply, or each is too little evidence of a server. */
  readonly isWeak: boolean;
  /** Round trip, milliseconds; `null` when it was not measured. */
  readonly latencyMs: number | null;
  /** The outcome of the exchange in each protocol, in the order of the exchanges. */
  readonly outcomes: readonly { readonly protocol: string; readonly outcome: Outcome<unknown> }[];
  /** Protocols that were suppressed. */
  readonly suppressed: readonly string[];
  /** Whether the endpoint sent a datagram that suppresses protocols. */
  readonly suppresses: boolean;
  /** Why the interview ended early; `undefined` when it did not. */
  readonly ended: Ended | undefined;
  /**
   * Whether the system refused every datagram and connection attempt: there is no route, or the
   * interface is down.
   */
  readonly isUnreachable: boolean;
  /** Whether exchanges were cancelled, or were omitted because no descriptor was free. */
  readonly isCutShort: boolean;
  /** Whether the endpoint was not queried in a protocol because no descriptor was free. */
  readonly exhausted: boolean;
  /** When the last datagram was sent, milliseconds of the clock; `undefined` if a reply followed. */
  readonly noReplySince?: number;
}

/**
 * Queries an endpoint in the protocols of a plan, one after the other, and collects the replies.
 */
export async function runInterview(
  plan: InterviewPlan,
  options: RunInterviewOptions,
): Promise<InterviewResult> {
  const { clock, signal, replied, optedOut, links, opening } = options;
  const protocols = links.stream
    ? plan.protocols
    : plan.protocols.filter(({ transport }) => transport === "udp");
  const { port } = options.endpoint;
  const run = new InterviewRun(new Interview({ ...plan, protocols, port }), options, plan);
  const { interview } = run;
  if (opening !== undefined) {
    const sighted = plan.protocols.find(({ name }) => name === plan.sighted)!;
    interview.noteStatus(sighted);
    await run.recordStatus(sighted, opening.status, opening.reply);
  }
  for (;;) {
    if (replied?.()) interview.noteSuppression();
    if (optedOut?.()) interview.stop("optedOut");
    const step = interview.next(clock.now());
    if (step === undefined) break;
    const wait = step.at - clock.now();
    if (wait > 0 && !signal.aborted) await sleep(clock, wait, signal);
    else await run.runStep(step);
  }
  return run.result;
}

/** An interview while it runs: its replies and outcomes so far. */
class InterviewRun {
  readonly #replies: ProtocolReply[] = [];
  /** Whether all replies so far are too little evidence of a server. */
  #isWeak = true;
  readonly #outcomes: { protocol: string; outcome: Outcome<unknown> }[] = [];
  #suppresses = false;
  #isCutShort = false;
  #exhausted = false;
  /** Whether the system refused anything, and whether it sent anything. */
  #wasRefused = false;
  #wasSent = false;

  constructor(
    readonly interview: Interview,
    private readonly options: RunInterviewOptions,
    private readonly plan: Pick<InterviewPlan, "known" | "keepsWeak">,
  ) {}

  get result(): InterviewResult {
    const { latencyMs, suppressed, ended, noReplySince } = this.interview;
    const exhausted = this.#exhausted || ended === "exhausted";
    const isCutShort = this.#isCutShort || exhausted || ended === "cancelled";
    return {
      replies: this.#isWeak && !this.plan.keepsWeak ? [] : this.#replies,
      isWeak: this.#isWeak,
      latencyMs,
      outcomes: this.#outcomes,
      suppressed,
      suppresses: this.#suppresses,
      ended,
      isUnreachable: this.#wasRefused && !this.#wasSent,
      isCutShort,
      exhausted,
      noReplySince,
    };
  }

  /** Runs one step and records its outcome. */
  async runStep(step: InterviewStep): Promise<void> {
    const { protocol, isDetection, medium } = step;
    const { signal } = this.options;
    const recorder = new LinkRecorder(this.options);
    const outcome = await this.#exchange(step, recorder);
    this.#outcomes.push({ protocol: protocol.name, outcome });
    const isUnreachable = outcome.kind === "noReply" && outcome.why === "unreachable";
    this.#wasRefused ||= recorder.wasRefused || isUnreachable;
    this.#wasSent ||= recorder.wasSent || medium === "stream" && !isUnreachable;
    const suppresses = outcome.kind === "malformed" && outcome.foreign === true ||
      medium !== "stream" && protocol.suppressedBy === undefined && recorder.received;
    this.#suppresses ||= suppresses;
    const latencyMs = outcome.kind === "replied" ? outcome.latencyMs : undefined;
    if (isExhausted(outcome)) this.interview.stop(signal.aborted ? "cancelled" : "exhausted");
    const { noReplySince } = recorder;
    const noStream = medium === "stream" && hasNoStream(outcome);
    const { kind } = outcome;
    this.interview.recordResult(step, { kind, suppresses, noReplySince, latencyMs, noStream });
    if (outcome.kind !== "replied") return;
    const { status, raw } = outcome;
    const statement = protocol.record(status);
    await this.recordStatus(
      protocol,
      status,
      { protocol: protocol.name, statement, raw },
      isDetection,
    );
  }

  async recordStatus(
    protocol: Protocol,
    status: unknown,
    reply: ProtocolReply,
    isDetection = false,
  ): Promise<void> {
    const { options, interview } = this;
    if (options.optsOut?.(reply)) interview.stop("optedOut");
    if (isDetection) return;
    this.#isWeak &&= this.#isWeakReply(protocol, status);
    options.onStatus?.(protocol, status);
    const isVerified = options.verify && interview.ended === undefined;
    this.#replies.push(isVerified ? await this.#verified(protocol, reply, status) : reply);
  }

  /** Whether a status is too little evidence. */
  #isWeakReply(protocol: Protocol, status: unknown): boolean {
    return protocol.isWeak?.(status, isKnownFor(protocol, this.plan.known ?? [])) ?? false;
  }

  /** A reply with the result of a verification, if the verification is wanted. */
  async #verified(
    protocol: Protocol,
    reply: ProtocolReply,
    status: unknown,
  ): Promise<ProtocolReply> {
    const { endpoint, links: { exclusive: link } } = this.options;
    const verification = { endpoint, link, timeoutMs: this.interview.timeoutMs };
    const verified = await verifyServer(protocol, reply, status, verification, this.options);
    this.#isCutShort ||= verified.isCutShort;
    this.#exhausted ||= verified.exhausted ?? false;
    return verified.reply;
  }

  /**
   * Runs the exchange of a step with the known state. If it fails, runs another exchange without the
   * state.
   */
  async #exchange(step: InterviewStep, recorder: LinkRecorder): Promise<Outcome<unknown>> {
    const { startOf, restarts, underway } = this.options;
    const { protocol } = step;
    const running = step.medium === "stream" ? await underway?.(protocol) : undefined;
    if (running?.kind === "replied" || running?.kind === "malformed") return running;
    const query = this.#queryOf(step, recorder);
    const known = startOf?.(protocol);
    if (known === undefined || !restarts) {
      return await queryWithRetries(protocol, { ...query, known }, this.options);
    }
    const first = { ...query, known, acceptsIncomplete: false };
    const outcome = await queryWithRetries(protocol, first, { ...this.options, retries: 0 });
    const isOver = outcome.kind === "replied" || outcome.kind === "cancelled";
    return isOver ? outcome : await queryWithRetries(protocol, query, this.options);
  }

  #queryOf(
    { protocol, medium, timeoutMs, retriesWithoutReply }: InterviewStep,
    recorder: LinkRecorder,
  ): ProtocolQuery {
    const { endpoint, links, requestedAs, requestedPort, statusOnly, replied } = this.options;
    const { clock, signal, shortage } = this.options;
    const { shared, exclusive, stream } = links;
    const useShared = medium === "shared" && shared !== undefined;
    // Links on shared sockets need no new descriptor. Their success therefore does not end a
    // shortage.
    const opens = medium !== "stream" && !useShared;
    const limits = { clock, signal, shortage: opens ? shortage : undefined };
    const link = async () =>
      medium === "stream"
        ? await stream!(protocol.name, timeoutMs)
        : recorder.wrap(await (useShared ? shared() : exclusive()));
    return {
      endpoint,
      requestedAs,
      requestedPort,
      statusOnly,
      stopsWithoutFirstReply: !retriesWithoutReply,
      open: () => openWithRetries(link, limits),
      exclusive: !useShared,
      timeoutMs: medium === "stream" ? Infinity : timeoutMs!, // a stream has its own timeouts
      forbids: protocol.suppressedBy === undefined
        ? undefined
        : (datagram) =>
          datagram === undefined ? replied?.() ?? false : protocol.isReply?.(datagram) === false,
    };
  }
}

export interface ProtocolQuery
  extends
    Omit<ExchangeContext, "nonce" | "lastAttempt">,
    Pick<ConverseOptions, "timeoutMs" | "forbids"> {
  /** Opens a link to the server; `"exhausted"`: no descriptor is free. */
  readonly open: () => Promise<Link | "exhausted">;
  /** Whether the query ends without a retry when the first request gets no reply. */
  readonly stopsWithoutFirstReply: boolean;
  /** Whether the last exchange may return an incomplete status. Default: yes. */
  readonly acceptsIncomplete?: boolean;
}

/**
 * Repeats whole exchanges until one returns a status. Only the first one has the known state. A malformed
 * reply over a stream is not requested again: a stream loses no bytes.
 */
export async function queryWithRetries<S>(
  protocol: Protocol<S>,
  { open, known, timeoutMs, forbids, stopsWithoutFirstReply, acceptsIncomplete = true, ...context }:
    ProtocolQuery,
  { retries, clock, signal, nonce }: RetryLimits,
): Promise<Outcome<S>> {
  const limits = { timeoutMs, resends: retries, clock, signal, forbids };
  for (let left = retries;; left--) {
    const opened = await open();
    if (opened === "exhausted") return { kind: "noReply", replies: 0, why: "exhausted" };
    await using link = opened;
    const exchange = protocol.exchange({
      ...context,
      nonce: nonce(),
      known: left === retries ? known : undefined,
      lastAttempt: left === 0 && acceptsIncomplete,
    });
    const outcome = await converse(exchange, link, limits);
    const isUnresponsive = outcome.kind === "noReply" && outcome.replies === 0;
    const isOver = outcome.kind === "replied" || outcome.kind === "cancelled" ||
      outcome.kind === "malformed" && (outcome.foreign || protocol.transport === "tcp");
    if (left === 0 || isOver || isUnresponsive && stopsWithoutFirstReply) return outcome;
  }
}

/** Why a connection did not open at all. */
const UNOPENED: ReadonlySet<string | undefined> = new Set(["refused", "unreachable", "timeout"]);

/** Whether the connection of an exchange did not open. */
function hasNoStream(outcome: Outcome<unknown>): boolean {
  return outcome.kind === "noReply" && UNOPENED.has(outcome.why);
}

/** Whether an exchange failed because no descriptor was free, and not because of the server. */
export function isExhausted(outcome: Outcome<unknown>): boolean {
  return outcome.kind === "noReply" && outcome.why === "exhausted";
}

/** Records the datagrams on the links of one protocol. */
class LinkRecorder {
  /** Whether a datagram was received. */
  received = false;
  /**
   * When the last datagram was sent, if no datagram was received since then, milliseconds of the
   * clock.
   */
  noReplySince: number | undefined;
  /** Whether the system sent a datagram. */
  wasSent = false;
  /** Whether the system refused to send a datagram. */
  wasRefused = false;

  constructor(private readonly options: Pick<RunInterviewOptions, "clock">) {}

  /** Wraps a link to record its datagrams. */
  wrap(link: Link): Link {
    return {
      send: async (datagram) => {
        const sent = await link.send(datagram);
        this.wasSent ||= sent;
        this.wasRefused ||= !sent;
        this.noReplySince = this.options.clock.now();
        return sent;
      },
      next: async (timeoutMs) => {
        const datagram = await link.next(timeoutMs);
        if (datagram !== undefined) {
          this.received = true;
          this.noReplySince = undefined;
        }
        return datagram;
      },
      [Symbol.asyncDispose]: () => link[Symbol.asyncDispose](),
    };
  }
}
