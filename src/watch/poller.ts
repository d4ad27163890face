/**
 * Polls watched servers. Remembers which protocols each server speaks, and reuses tokens that servers
 * have issued while these are valid.
 *
 * @module
 */
import { GAME_PORT } from "../protocols/usual_ports.ts";
import { type Address, type Endpoint, family } from "../core/address.ts";
import {
  attachedOf,
  type AttachedParts,
  type InterviewResult,
  type KnownInterviewPlan,
  leadProtocol,
  mergeReplies,
  type RetryLimits,
  type RunInterviewOptions,
  runKnownInterview,
  runSideBySide,
} from "../inspect/mod.ts";
import type { DatagramSocket, Demultiplexer, Link } from "../net/mod.ts";
import { replacedProtocols, siblingsOf } from "../protocols/declared_facts.ts";
import type { ProtocolSelection } from "../protocols/list.ts";
import { motdAsSent, type Protocol } from "../protocols/protocol.ts";
import { ATTACHMENTS, type RecordWithAttachments } from "../core/record.ts";
import { isOutdated, SuppressingEndpoints } from "./suppressing_endpoints.ts";
import type { PollResult } from "./watch.ts";
import type { WatchedServer } from "./watched_server.ts";

/** Options of a {@linkcode Poller}. */
export interface PollerOptions extends RetryLimits, ProtocolSelection {
  /** The protocols to try, in order, with a server that has not replied yet. */
  readonly protocols: readonly Protocol[];
  /** Timeout of a reply, milliseconds. */
  readonly timeoutMs: number;
  /** The shared sockets, which must be listening. Read anew for each exchange. */
  readonly demultiplexer: Demultiplexer;
  /** Opens a socket for one exclusive exchange. */
  readonly openExclusive: (family: 4 | 6) => DatagramSocket;
  /** Opens a TCP link. `connectMs`: timeout of the connection attempt, milliseconds. */
  readonly connect: (endpoint: Endpoint, connectMs: number | undefined) => Link;
  /** The watch's identity, UUIDv7: the value of `scan_id` in records. */
  readonly scanId: string;
  /** The attachments of records. Default: none. */
  readonly attach?: AttachedParts;
  /** Whether a MOTD contains an opt-out. */
  readonly optsOut: (motd: string) => boolean;
  readonly optedOut: (address: Address) => boolean;
  /** The endpoints that suppress protocols. Pollers may share them. Default: those of this poller. */
  readonly suppressing?: SuppressingEndpoints;
}

/** Facts about a server that are kept between polls. */
interface Memory {
  /** The protocols that the server speaks; `undefined` until the first reply. */
  spoken: readonly Protocol[] | undefined;
  /** The endpoint from which these facts were received. */
  readonly endpoint: Endpoint;
  /** Index of the shared socket for this server: the server may bind tokens to its port. */
  readonly socket: number;
  readonly tokens: Map<string, ReusableToken>;
  /** Protocols whose last reply echoed the probe's token. */
  readonly echoed: Set<string>;
  /**
   * Number of polls in a row without a reply in the first protocol, of a server that is offline or
   * replied in another protocol.
   */
  withoutFirst: number;
}

/** A token, such as a challenge, from which a later exchange can start. */
interface ReusableToken {
  readonly value: unknown;
  /** When the token expires, milliseconds of the clock. */
  readonly until: number;
  /** How many times in a row the server has refused a reused token. */
  readonly refusals: number;
}

/** After this number of refusals in a row no token is reused: some software accepts a token only once. */
const MAX_REFUSALS = 3;

/**
 * In which polls an offline server is queried in the siblings of its protocols: the first 10, and then
 * every fifth one.
 */
const SIBLING_POLLS = { first: 10, every: 5 };

/** What the interviews of a poll share. */
interface PollState {
  /** Whether a reply contained an opt-out, which ends all of them. */
  optsOut: boolean;
  /** When the first reply arrived, Unix milliseconds; `undefined`: there is none. */
  repliedAt: number | undefined;
}

/** Polls servers, and remembers their protocols and tokens. */
export class Poller {
  readonly #memories = new WeakMap<WatchedServer, Memory>();
  readonly #suppressing: SuppressingEndpoints;

  /** Creates a poller without stored protocols and tokens. */
  constructor(private readonly options: PollerOptions) {
    const { suppressing, allProtocols } = options;
    this.#suppressing = suppressing ?? new SuppressingEndpoints(allProtocols);
  }

  /**
   * Polls a server in all its protocols. A poll without a reply in any of them is a failure.
   *
   * @param signal Cancels the poll. Default: the signal of the poller.
   */
  async poll(server: WatchedServer, signal = this.options.signal): Promise<PollResult> {
    const { options } = this;
    const { attach, clock, scanId, allProtocols } = options;
    const memory = this.#memoryOf(server);
    const { endpoint, requestedAs } = server; // the server may move meanwhile
    const interview = await this.#interview(server, memory, signal);
    const { replies, latencyMs, outcomes, ended, isUnreachable, repliedAt, suppresses } = interview;
    for (const { protocol, outcome } of outcomes) {
      if (outcome.kind !== "replied") memory.tokens.delete(protocol); // also the exchange without it failed
    }
    const hasReplied = replies.length > 0;
    if (ended === undefined) countWithoutFirst(server, memory, interview);
    this.#suppressing.note(endpoint, { suppresses, hasReplied, at: clock.now() });
    if (ended === "optedOut") return "opted out";
    if (ended === "exhausted") return "not probed";
    if (ended === "cancelled") return undefined;
    if (!hasReplied) {
      memory.echoed.clear(); // the next reply may come from other software
      return isUnreachable ? "unreachable" : undefined;
    }
    memory.spoken = this.#spokenAfter(replies.map(({ protocol }) => protocol), server, memory);
    // The record gets the time of its first reply, so that it does not replace a newer record of another program.
    const seenAt = Math.round(repliedAt ?? clock.wall());
    const context = { endpoint, seenAt, latencyMs, scanId, requestedAs, allProtocols };
    const record: RecordWithAttachments = mergeReplies(replies, context);
    if (attach !== undefined) record[ATTACHMENTS] = attachedOf(replies, attach);
    return record;
  }

  /**
   * Interviews a server. As long as its protocols are unknown, it is queried over UDP and TCP at the same
   * time: an unresponsive server then takes no longer than the slower of both.
   */
  async #interview(server: WatchedServer, memory: Memory, signal: AbortSignal) {
    const plan = this.#planFor(server, memory);
    server.queried = plan.protocols.map(({ name }) => name);
    const state: PollState = { optsOut: false, repliedAt: undefined };
    const options = { ...this.#optionsFor(server, memory, state, plan), signal };
    // No retries in the other protocols: the next poll repeats them, and failed polls stay short.
    const result = memory.spoken === undefined
      ? await runSideBySide(plan, options)
      : await runKnownInterview(plan, options, 0);
    const used = (plan.siblings ?? []).filter(({ name }) =>
      result.outcomes.some(({ protocol }) => protocol === name)
    );
    server.queried = [...plan.protocols, ...used].map(({ name }) => name);
    return { ...result, repliedAt: state.repliedAt };
  }

  /** The options of the interviews of a poll. */
  #optionsFor(
    server: WatchedServer,
    memory: Memory,
    state: PollState,
    { known }: KnownInterviewPlan,
  ): RunInterviewOptions {
    const { options } = this;
    const isTrusted = leadProtocol(new Set(known), this.options.allProtocols) !== undefined;
    const { demultiplexer, connect, openExclusive } = options;
    const { endpoint, name, identity } = server;
    return {
      ...options,
      endpoint,
      links: {
        shared: () => demultiplexer.link(endpoint, memory.socket),
        exclusive: () =>
          demultiplexer.exclusiveLink(endpoint, openExclusive(family(endpoint.address))),
        stream: (_, connectMs) => connect(endpoint, connectMs),
      },
      requestedAs: name,
      requestedPort: identity.isService ? GAME_PORT : undefined,
      statusOnly: true,
      startOf: (protocol) => this.#startOf(protocol, memory),
      restarts: true,
      optsOut: ({ statement }) => state.optsOut ||= options.optsOut(motdAsSent(statement)),
      replied: () => !isTrusted && this.#suppressing.has(endpoint, options.clock.now()),
      optedOut: () => state.optsOut || options.optedOut(endpoint.address),
      onStatus: (protocol, status) => {
        state.repliedAt ??= options.clock.wall();
        this.#rememberToken(protocol, memory, status);
      },
    };
  }

  /** The interview of a poll: the known protocols of a server that has replied, else all protocols. */
  #planFor(server: WatchedServer, memory: Memory): KnownInterviewPlan {
    const { protocols, allProtocols, timeoutMs, clock } = this.options;
    const [{ row }, { spoken, echoed }] = [server, memory];
    if (spoken !== undefined) {
      const known = spoken.map(({ name }) => name);
      const siblings = this.#siblingsFor(known, server, memory);
      return { protocols: spoken, siblings, allProtocols, known, echoed, timeoutMs };
    }
    const stored = row?.protocols ?? [];
    const isTrusted = leadProtocol(new Set(stored), allProtocols) !== undefined;
    const isOld = row !== undefined && isOutdated(row.seen_at, clock.wall());
    const known = isOld && !isTrusted ? [] : stored;
    const all = allProtocols.filter((protocol) =>
      stored.includes(protocol.name) || protocols.includes(protocol)
    );
    return { protocols: all, allProtocols, known, echoed, timeoutMs };
  }

  /** The siblings in which a server is queried in a poll if it does not reply in its first protocol. */
  #siblingsFor(
    known: readonly string[],
    { wouldGoOffline }: WatchedServer,
    { withoutFirst }: Memory,
  ): readonly Protocol[] {
    const { first, every } = SIBLING_POLLS;
    const number = withoutFirst + 1;
    const isDue = number <= first || number % every === 0 || wouldGoOffline;
    const { protocols, allProtocols } = this.options;
    return isDue ? siblingsOf(known, allProtocols).filter((one) => protocols.includes(one)) : [];
  }

  /**
   * The protocols that a server speaks, after a reply: those of the reply, and those of earlier replies
   * except protocols that a sibling has replaced.
   */
  #spokenAfter(
    replied: readonly string[],
    { row }: WatchedServer,
    { spoken }: Memory,
  ): readonly Protocol[] {
    const { allProtocols } = this.options;
    const before = spoken?.map(({ name }) => name) ?? row?.protocols ?? [];
    const replaced = replacedProtocols(before, replied, allProtocols);
    return allProtocols.filter(({ name, siblings }) =>
      replied.includes(name) ||
      before.includes(name) && !(replaced.includes(name) && siblings !== undefined)
    );
  }

  /** The token from which an exchange starts, if there is a valid one. */
  #startOf({ name }: Protocol, { tokens }: Memory): unknown {
    const token = tokens.get(name);
    const isValid = token !== undefined && token.until > this.options.clock.now() &&
      token.refusals < MAX_REFUSALS;
    return isValid ? token.value : undefined;
  }

  /**
   * Remembers the token of a reply, if it has one that can be reused. A reused token that the server has
   * replaced was refused.
   */
  #rememberToken(protocol: Protocol, { tokens, echoed }: Memory, status: unknown): void {
    if (protocol.echoesToken?.(status) ?? true) echoed.add(protocol.name);
    else echoed.delete(protocol.name);
    const reusable = protocol.reusable?.(status);
    if (reusable === undefined) {
      tokens.delete(protocol.name); // the exchange with it failed
      return;
    }
    const now = this.options.clock.now();
    const { value, until = 0, refusals: before = 0 } = tokens.get(protocol.name) ?? {};
    const isUnchanged = value === reusable.known;
    const wasReused = until > now && before < MAX_REFUSALS;
    const refusals = wasReused ? isUnchanged ? 0 : before + 1 : before;
    // The lifetime of a token begins when the server issues it. Reuse does not extend it.
    const expiry = isUnchanged ? until : now + reusable.forMs;
    tokens.set(protocol.name, { value: reusable.known, until: expiry, refusals });
  }

  #memoryOf(server: WatchedServer): Memory {
    const known = this.#memories.get(server);
    if (known?.endpoint === server.endpoint) return known; // a server may move
    const memory = {
      endpoint: server.endpoint,
      spoken: spokenBy(server, this.options.allProtocols),
      socket: this.options.demultiplexer.socketFor(server.endpoint, -1),
      tokens: new Map(),
      echoed: new Set<string>(),
      withoutFirst: 0,
    };
    this.#memories.set(server, memory);
    return memory;
  }

  /** The address families of servers. */
  static families(servers: readonly WatchedServer[]): (4 | 6)[] {
    return [4, 6].filter((bits) =>
      servers.some(({ endpoint }) => family(endpoint.address) === bits)
    ) as (4 | 6)[];
  }
}

/**
 * Counts a poll in {@linkcode Memory.withoutFirst}. The polls without any reply that make a server
 * offline do not count: in each of them the server is queried in the siblings of its protocols.
 */
function countWithoutFirst(
  { online }: WatchedServer,
  memory: Memory,
  { replies, outcomes }: Pick<InterviewResult, "replies" | "outcomes">,
): void {
  const [first] = outcomes;
  const hasFirst = replies.some(({ protocol }) => protocol === first?.protocol);
  const isSilent = replies.length > 0 ? !hasFirst : online === false;
  memory.withoutFirst = isSilent ? memory.withoutFirst + 1 : 0;
}

/** The protocols of a server that is online according to a database; `undefined` for other servers. */
function spokenBy(
  { online, row }: WatchedServer,
  allProtocols: readonly Protocol[],
): readonly Protocol[] | undefined {
  if (!online || row === undefined) return undefined;
  const spoken = allProtocols.filter(({ name }) => row.protocols.includes(name));
  return spoken.length === 0 ? undefined : spoken;
}
