/**
 * Asking one server, without a sweep.
 *
 * @module
 */
import { type Endpoint, family } from "../address.ts";
import { attempt, followUpTimeout, type Patience, restOfGap } from "../inspect/attempt.ts";
import { type Answer, mergeAnswers } from "../inspect/merge.ts";
import { verify } from "../inspect/verify.ts";
import { sleep } from "../net/clock.ts";
import type { DatagramSocket, Dialer, Link } from "../net/socket.ts";
import { soleLink } from "../net/switchboard.ts";
import { STREAM_LIMITS, type StreamLimits, StreamLink } from "../net/tcp.ts";
import { Throttle } from "../net/throttle.ts";
import { PROTOCOLS } from "../protocols/mod.ts";
import type { Protocol } from "../protocols/protocol.ts";
import type { Outcome, ServerRecord } from "../record.ts";
import { requestText, type Service } from "../targets/srv.ts";

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
  /** Opens connections. */
  readonly dialer: Dialer;
  /** How patient connections are. Default: as real clients. */
  readonly streamLimits?: StreamLimits;
  /** Whether it is found out if a connection to the server can be opened. Default: no. */
  readonly verify?: boolean;
  /** The name under which the server was asked for. */
  readonly requestedAs: string | null;
  /** Where an SRV record of that name led, when that is why the endpoint is asked. */
  readonly service?: Service;
  /** The scan's name for the row. */
  readonly scanId: string;
}

/** What came of asking one server. */
export interface AskedServer {
  /** The row; `undefined` when nothing answered. */
  readonly record: ServerRecord | undefined;
  /** How every protocol went, in the order in which they were tried, or looked for to be spared. */
  readonly outcomes: readonly { readonly protocol: string; readonly outcome: Outcome<unknown> }[];
  /** Protocols that were not asked, because the server speaks one that they spare. */
  readonly spared: readonly string[];
}

/** At most so many datagrams a second to the server. */
const HOST_RATE = 5;

/**
 * Asks one endpoint every protocol, one after the other. Before a protocol that spares the speakers
 * of another, that one is asked too, though no row may come of it.
 */
export async function askServer(
  endpoint: Endpoint,
  options: AskServerOptions,
): Promise<AskedServer> {
  const { clock, scanId } = options;
  const asking = new Asking(endpoint, options);
  const answers: Answer[] = [];
  for (const protocol of [...options.protocols, ...options.followUps ?? []]) {
    if (answers.length === 0 && !options.protocols.includes(protocol)) continue;
    if (await asking.spares(protocol)) continue;
    const outcome = await asking.ask(protocol);
    if (outcome.kind !== "answered") continue;
    const { status } = outcome;
    const answer = { protocol: protocol.name, statement: protocol.record(status) };
    answers.push(options.verify ? await asking.verify(protocol, answer, status) : answer);
  }
  const { latencyMs, outcomes, spared } = asking;
  const requestedAs = options.requestedAs && requestText(options.requestedAs, options.service);
  const context = { endpoint, seenAt: Math.round(clock.wall()), latencyMs, scanId, requestedAs };
  const record = answers.length === 0 ? undefined : mergeAnswers(answers, context);
  return { record, outcomes, spared };
}

/** The questions to one endpoint, and what became of them. */
class Asking {
  readonly outcomes: { protocol: string; outcome: Outcome<unknown> }[] = [];
  readonly spared: string[] = [];
  latencyMs: number | null = null;
  readonly #throttle = new Throttle({ rate: undefined, netRate: undefined, hostRate: HOST_RATE });
  /** Whether the last datagrams stayed without an answer: connections are no reason to wait. */
  #silent = false;

  constructor(private readonly endpoint: Endpoint, private readonly options: AskServerOptions) {}

  /** Asks a protocol; datagrams not at once where the last ones stayed without an answer. */
  async ask(protocol: Protocol): Promise<Outcome<unknown>> {
    const outcome =
      await (protocol.transport === "tcp"
        ? this.#attempt(protocol, Infinity, () => this.#streamLink()) // which bounds its time itself
        : this.#askDatagrams(protocol));
    this.outcomes.push({ protocol: protocol.name, outcome });
    if (outcome.kind === "answered") this.latencyMs ??= outcome.latencyMs;
    return outcome;
  }

  async #askDatagrams(protocol: Protocol): Promise<Outcome<unknown>> {
    const { options: { clock, signal, ...options }, latencyMs } = this;
    const timeoutMs = latencyMs === null ? options.timeoutMs : followUpTimeout(latencyMs);
    if (this.#silent) await sleep(clock, restOfGap(timeoutMs), signal);
    const outcome = await this.#attempt(protocol, timeoutMs, () => this.#link());
    this.#silent = outcome.kind === "silent";
    return outcome;
  }

  #attempt(protocol: Protocol, timeoutMs: number, link: () => Link): Promise<Outcome<unknown>> {
    const { endpoint, options } = this;
    const { requestedAs } = options;
    return attempt(protocol, {
      ...{ endpoint, link, requestedAs, timeoutMs },
      exclusive: true,
      leavesMute: true,
    }, options);
  }

  /** Asks what is behind an answer, and adds it. */
  async verify(protocol: Protocol, answer: Answer, status: unknown): Promise<Answer> {
    const { endpoint, options, latencyMs } = this;
    const { timeoutMs } = options;
    const verification = { endpoint, link: () => this.#link(), latencyMs, timeoutMs };
    return (await verify(protocol, answer, status, verification, options)).answer;
  }

  #link(): Link {
    const { endpoint, options: { open, clock } } = this;
    return soleLink(endpoint, open(family(endpoint.address)), this.#throttle, clock);
  }

  /** Where something has answered, a connection has as long to open as a follow-up to be answered. */
  #streamLink(): Link {
    const { endpoint, options, latencyMs } = this;
    const { dialer, clock, signal, streamLimits = STREAM_LIMITS } = options;
    const connectMs = latencyMs === null ? streamLimits.connectMs : followUpTimeout(latencyMs);
    const limits = { ...streamLimits, connectMs };
    return new StreamLink(endpoint, { dialer, throttle: this.#throttle, clock, limits, signal });
  }

  /** Whether a protocol must not be asked, for the server said something in one that it spares. */
  async spares({ name, spares }: Protocol): Promise<boolean> {
    if (spares === undefined) return false;
    const asked = this.outcomes.find(({ protocol }) => protocol === spares)?.outcome ??
      await this.ask(PROTOCOLS.find((other) => other.name === spares)!);
    const speaks = asked.kind === "answered" || asked.kind === "malformed";
    if (speaks) this.spared.push(name);
    return speaks || asked.kind === "cancelled";
  }
}
