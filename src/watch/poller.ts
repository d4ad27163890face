/**
 * Polling watched servers: what each speaks is found out once, and what it handed out is shown again
 * while it is good.
 *
 * @module
 */
import { type Address, type Endpoint, family } from "../core/address.ts";
import type { RetryLimits } from "../inspect/retry.ts";
import { attachedOf } from "../inspect/attachments.ts";
import { runInterview } from "../inspect/run_interview.ts";
import type { InterviewPlan } from "../inspect/interview.ts";
import { mergeReplies } from "../inspect/merge.ts";
import type { DatagramSocket, Link } from "../net/socket.ts";
import type { Demultiplexer } from "../net/demultiplexer.ts";
import { PROTOCOLS } from "../protocols/list.ts";
import { motdAsSent, type Protocol } from "../protocols/protocol.ts";
import type { RecordWithAttachments } from "../core/record.ts";
import type { PollResult } from "./watch.ts";
import type { WatchedServer } from "./watched_server.ts";

/** How servers are asked. */
export interface PollerOptions extends RetryLimits {
  /** The protocols to try with a server that has not answered yet, in order. */
  readonly protocols: readonly Protocol[];
  /** Every protocol of the program, in order of rank. Default: PROTOCOLS. */
  readonly allProtocols?: readonly Protocol[];
  /** How long to wait for an answer, milliseconds. */
  readonly timeoutMs: number;
  /** The shared sockets, which must be listening; it may be another with each question. */
  readonly board: Demultiplexer;
  /** Opens a socket for one conversation. */
  readonly openSole: (family: 4 | 6) => DatagramSocket;
  /** Talks over TCP; milliseconds that a connection may take to open, where that is bounded. */
  readonly dial: (endpoint: Endpoint, connectMs: number | undefined) => Link;
  /** The name for the rows. */
  readonly scanId: string;
  /** What is kept beside rows: nothing, icons alone, or replies too. Default: nothing. */
  readonly attach?: "icons" | "all";
  /** Whether a MOTD asks scanners to stay away. */
  readonly optsOut: (motd: string) => boolean;
  /** Whether an address has opted out. */
  readonly optedOut: (address: Address) => boolean;
}

/** What is remembered of a server from poll to poll. */
interface Memory {
  /** What it speaks; `undefined` until it has answered. */
  spoken: readonly Protocol[] | undefined;
  /** Its socket of ours: what it hands out may be bound to it. */
  readonly socket: number;
  /** What the next exchange may start from, by protocol, and until when. */
  readonly kept: Map<string, Kept>;
  /** Protocols in which it has repeated our token when it last answered. */
  readonly echoed: Set<string>;
}

interface Kept {
  readonly known: unknown;
  /** Milliseconds of the clock. */
  readonly until: number;
  /** How often in a row what was kept did not serve. */
  readonly refusals: number;
}

/** Software whose tokens serve once refuses each that is shown again: so often it is tried. */
const MOST_REFUSALS = 3;

/** Polls. */
export class Poller {
  readonly #memories = new WeakMap<WatchedServer, Memory>();

  get #allProtocols(): readonly Protocol[] {
    return this.options.allProtocols ?? PROTOCOLS;
  }

  /** Starts without a memory. */
  constructor(private readonly options: PollerOptions) {}

  /** Asks a server all that it speaks. Where it is known what, its first protocol has to answer. */
  async poll(server: WatchedServer): Promise<PollResult> {
    const { options } = this;
    const { attach, clock, scanId } = options;
    const memory = this.#memoryOf(server);
    const { answers, latencyMs, ended } = await this.#interview(server, memory);
    if (ended === "optedOut") return "opted out";
    if (ended === "exhausted") return "not probed";
    if (ended === "cancelled") return undefined;
    if (answers.length === 0) {
      memory.echoed.clear(); // what answers there next may be another software
      return undefined;
    }
    const { endpoint, name } = server;
    memory.spoken ??= answers.map(({ protocol }) =>
      this.#allProtocols.find(({ name }) => name === protocol)!
    );
    const seenAt = Math.round(clock.wall());
    const { allProtocols } = options;
    const context = { endpoint, seenAt, latencyMs, scanId, requestedAs: name, allProtocols };
    const record: RecordWithAttachments = mergeReplies(answers, context);
    if (attach !== undefined) record.attachments = attachedOf(answers, attach === "all");
    return record;
  }

  #interview(server: WatchedServer, memory: Memory) {
    const { options } = this;
    const { board, dial, openSole } = options;
    const { endpoint, name } = server;
    return runInterview(this.#planFor(server, memory), {
      ...options,
      endpoint,
      links: {
        shared: () => board.link(endpoint, memory.socket),
        exclusive: () => board.exclusiveLink(endpoint, openSole(family(endpoint.address))),
        stream: (_, connectMs) => dial(endpoint, connectMs),
      },
      requestedAs: name,
      statusOnly: true,
      startOf: (protocol) => this.#startOf(protocol, memory),
      restarts: true,
      optsOut: ({ statement }) => options.optsOut(motdAsSent(statement)),
      optedOut: () => options.optedOut(endpoint.address),
      onStatus: (protocol, status) => this.#keep(protocol, memory, status),
    });
  }

  /** Who has answered in one protocol is judged by that one; who never has may speak another. */
  #planFor({ row }: WatchedServer, { spoken, echoed }: Memory): InterviewPlan {
    const { protocols, allProtocols, timeoutMs } = this.options;
    if (spoken !== undefined) {
      const known = spoken.map(({ name }) => name);
      return { protocols: spoken, allProtocols, known, echoed, timeoutMs, needs: "status" };
    }
    const known = row?.protocols ?? [];
    const all = this.#allProtocols.filter((one) =>
      known.includes(one.name) || protocols.includes(one)
    );
    return { protocols: all, allProtocols, known, echoed, timeoutMs };
  }

  /** What an exchange may start from: what was kept of an earlier one, while it is good. */
  #startOf({ name }: Protocol, { kept }: Memory): unknown {
    const token = kept.get(name);
    const good = token !== undefined && token.until > this.options.clock.now() &&
      token.refusals < MOST_REFUSALS;
    return good ? token.known : undefined;
  }

  #keep(protocol: Protocol, { kept, echoed }: Memory, status: unknown): void {
    if (protocol.echoesToken?.(status) ?? true) echoed.add(protocol.name);
    else echoed.delete(protocol.name);
    const keeps = protocol.reusable?.(status);
    if (keeps === undefined) return;
    const now = this.options.clock.now();
    const { known, until = 0, refusals: before = 0 } = kept.get(protocol.name) ?? {};
    const shown = until > now && before < MOST_REFUSALS;
    const refusals = shown ? known === keeps.known ? 0 : before + 1 : before;
    // A token is as old as when it was drawn, however often it has served.
    const since = known === keeps.known ? until : now + keeps.forMs;
    kept.set(protocol.name, { known: keeps.known, until: since, refusals });
  }

  #memoryOf(server: WatchedServer): Memory {
    const known = this.#memories.get(server);
    if (known !== undefined) return known;
    const memory = {
      spoken: spokenBy(server, this.#allProtocols),
      socket: this.options.board.socketFor(server.endpoint, -1),
      kept: new Map(),
      echoed: new Set<string>(),
    };
    this.#memories.set(server, memory);
    return memory;
  }

  /** The sockets' families that servers need. */
  static families(servers: readonly WatchedServer[]): (4 | 6)[] {
    return [4, 6].filter((bits) =>
      servers.some(({ endpoint }) => family(endpoint.address) === bits)
    ) as (4 | 6)[];
  }
}

/** What a server speaks that a database says is up. */
function spokenBy(
  { online, row }: WatchedServer,
  allProtocols: readonly Protocol[],
): readonly Protocol[] | undefined {
  if (!online || row === undefined) return undefined;
  const spoken = allProtocols.filter(({ name }) => row.protocols.includes(name));
  return spoken.length === 0 ? undefined : spoken;
}
