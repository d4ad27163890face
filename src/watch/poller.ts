/**
 * Polls watched servers. Remembers which protocols each server speaks, and reuses tokens that servers
 * have issued while these are valid.
 *
 * @module
 */
import { GAME_PORT } from "../protocols/usual_ports.ts";
import { type Address, type Endpoint, family } from "../core/address.ts";
import type { RetryLimits } from "../inspect/converse.ts";
import { attachedOf } from "../inspect/attachments.ts";
import { runKnownInterview, runSideBySide } from "../inspect/known_interview.ts";
import type { RunInterviewOptions } from "../inspect/run_interview.ts";
import { type InterviewPlan, leadProtocol } from "../inspect/interview.ts";
import { mergeReplies } from "../inspect/merge.ts";
import type { DatagramSocket, Link } from "../net/socket.ts";
import type { Demultiplexer } from "../net/demultiplexer.ts";
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
  /** The attachments of records: icons, or icons and raw replies. Default: none. */
  readonly attach?: "icons" | "all";
  /** Whether a MOTD contains an opt-out. */
  readonly optsOut: (motd: string) => boolean;
  /** Whether an address has opted out. */
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
  /** Reusable tokens by protocol. */
  readonly tokens: Map<string, ReusableToken>;
  /** Protocols whose last reply echoed the probe's token. */
  readonly echoed: Set<string>;
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
    this.#suppressing.note(endpoint, { suppresses, hasReplied, at: clock.now() });
    if (ended === "optedOut") return "opted out";
    if (ended === "exhausted") return "not probed";
    if (ended === "cancelled") return undefined;
    if (!hasReplied) {
      memory.echoed.clear(); // the next reply may come from other software
      return isUnreachable ? "unreachable" : undefined;
    }
    memory.spoken ??= allProtocols.filter(({ name }) =>
      replies.some(({ protocol }) => protocol === name) || server.row?.protocols.includes(name)
    );
    // The record gets the time of its first reply, so that it does not replace a newer record of another program.
    const seenAt = Math.round(repliedAt ?? clock.wall());
    const context = { endpoint, seenAt, latencyMs, scanId, requestedAs, allProtocols };
    const record: RecordWithAttachments = mergeReplies(replies, context);
    if (attach !== undefined) record[ATTACHMENTS] = attachedOf(replies, attach === "all");
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
    return { ...result, repliedAt: state.repliedAt };
  }

  /** The options of the interviews of a poll. */
  #optionsFor(
    server: WatchedServer,
    memory: Memory,
    state: PollState,
    { known }: InterviewPlan,
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
  #planFor({ row }: WatchedServer, { spoken, echoed }: Memory): InterviewPlan {
    const { protocols, allProtocols, timeoutMs, clock } = this.options;
    if (spoken !== undefined) {
      const known = spoken.map(({ name }) => name);
      return { protocols: spoken, allProtocols, known, echoed, timeoutMs };
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

/** The protocols of a server that is online according to a database; `undefined` for other servers. */
function spokenBy(
  { online, row }: WatchedServer,
  allProtocols: readonly Protocol[],
): readonly Protocol[] | undefined {
  if (!online || row === undefined) return undefined;
  const spoken = allProtocols.filter(({ name }) => row.protocols.includes(name));
  return spoken.length === 0 ? undefined : spoken;
}
