/**
 * Asking watched servers: what each speaks is found out once, and what it handed out is shown again
 * while it is good.
 *
 * @module
 */
import { type Endpoint, family } from "../address.ts";
import { attempt, followUpTimeout, isExhausted, type Patience } from "../inspect/attempt.ts";
import { attachedOf } from "../inspect/attach.ts";
import { type Answer, mergeAnswers } from "../inspect/merge.ts";
import type { DatagramSocket, Link } from "../net/socket.ts";
import type { Switchboard } from "../net/switchboard.ts";
import { PROTOCOLS } from "../protocols/mod.ts";
import type { Protocol } from "../protocols/protocol.ts";
import type { AttachedRecord, Outcome } from "../record.ts";
import type { PollResult } from "./watch.ts";
import type { Watched } from "./watched.ts";

/** How servers are asked. */
export interface PollerOptions extends Patience {
  /** The protocols to try with a server that has not answered yet, in order. */
  readonly protocols: readonly Protocol[];
  /** How long to wait for an answer, milliseconds. */
  readonly timeoutMs: number;
  /** The shared sockets, which must be listening; it may be another with each question. */
  readonly board: Switchboard;
  /** Opens a socket for one conversation. */
  readonly openSole: (family: 4 | 6) => DatagramSocket;
  /** Talks over TCP; milliseconds that a connection may take to open, where that is bounded. */
  readonly dial: (endpoint: Endpoint, connectMs: number | undefined) => Link;
  /** The name for the rows. */
  readonly scanId: string;
  /** What is kept beside rows: nothing, icons alone, or replies too. Default: nothing. */
  readonly attach?: "icons" | "all";
}

/** What is remembered of a server from poll to poll. */
interface Memory {
  /** What it speaks; `undefined` until it has answered. */
  spoken: readonly Protocol[] | undefined;
  /** Its socket of ours: what it hands out may be bound to it. */
  readonly socket: number;
  /** What the next exchange may start from, by protocol, and until when. */
  readonly kept: Map<string, Kept>;
  /** Protocols whose answers prove nothing on a socket that others know: it is asked from its own. */
  readonly unproven: Set<string>;
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

/** Asks. */
export class Poller {
  readonly #memories = new Map<Watched, Memory>();

  /** Starts without a memory. */
  constructor(private readonly options: PollerOptions) {}

  /**
   * Asks a server all that it speaks; `undefined` when what it answered first is silent now,
   * `"not probed"` when this machine had no descriptor for it.
   */
  async poll(server: Watched): Promise<PollResult> {
    const { options } = this;
    const memory = this.#memoryOf(server);
    const answers: Answer[] = [];
    const spoken: Protocol[] = [];
    let latencyMs: number | null = null;
    for (const protocol of memory.spoken ?? this.#mayBeSpokenBy(server)) {
      const outcome = await this.#ask(protocol, server, memory, latencyMs);
      if (outcome.kind === "cancelled") return undefined;
      if (isExhausted(outcome)) return "not probed";
      if (outcome.kind !== "answered") {
        // Who has answered in one protocol is judged by that one; who never has may speak another.
        if (memory.spoken !== undefined && answers.length === 0) return undefined;
        continue;
      }
      latencyMs ??= outcome.latencyMs;
      spoken.push(protocol);
      const { status, raw } = outcome;
      answers.push({ protocol: protocol.name, statement: protocol.record(status), raw });
      this.#keep(protocol, memory, outcome.status);
    }
    if (answers.length === 0) return undefined;
    memory.spoken ??= spoken;
    const { endpoint, name } = server;
    const seenAt = Math.round(options.clock.wall());
    const context = { endpoint, seenAt, latencyMs, scanId: options.scanId, requestedAs: name };
    const record: AttachedRecord = mergeAnswers(answers, context);
    const { attach } = options;
    if (attach !== undefined) record.attached = attachedOf(answers, attach === "all");
    return record;
  }

  #keep(protocol: Protocol, { kept }: Memory, status: unknown): void {
    const keeps = protocol.keeps?.(status);
    if (keeps === undefined) return;
    const now = this.options.clock.now();
    const { known, until = 0, refusals: before = 0 } = kept.get(protocol.name) ?? {};
    const shown = until > now && before < MOST_REFUSALS;
    const refusals = shown ? known === keeps.known ? 0 : before + 1 : before;
    // A token is as old as when it was drawn, however often it has served.
    const since = known === keeps.known ? until : now + keeps.forMs;
    kept.set(protocol.name, { known: keeps.known, until: since, refusals });
  }

  #memoryOf(server: Watched): Memory {
    const known = this.#memories.get(server);
    if (known !== undefined) return known;
    const { board } = this.options;
    const memory = {
      spoken: this.#spokenBy(server),
      socket: board.socketFor(server.endpoint, -1),
      kept: new Map(),
      unproven: new Set<string>(),
    };
    this.#memories.set(server, memory);
    return memory;
  }

  /** What a server speaks that a list says is up. */
  #spokenBy({ online, row }: Watched): readonly Protocol[] | undefined {
    if (!online || row === undefined) return undefined;
    const spoken = PROTOCOLS.filter(({ name }) => row.protocols.includes(name));
    return spoken.length === 0 ? undefined : spoken;
  }

  /** What to try with a server of which nobody knows what it speaks now: what it spoke, at first. */
  #mayBeSpokenBy({ row }: Watched): readonly Protocol[] {
    const { protocols } = this.options;
    if (row === undefined) return protocols;
    const spoken = PROTOCOLS.filter(({ name }) => row.protocols.includes(name));
    return [...spoken, ...protocols.filter((protocol) => !spoken.includes(protocol))];
  }

  /** Asks with what was kept, if it is good; where that is refused, or there is none, from anew. */
  async #ask(
    protocol: Protocol,
    server: Watched,
    memory: Memory,
    latencyMs: number | null,
  ): Promise<Outcome<unknown>> {
    const { clock } = this.options;
    const token = memory.kept.get(protocol.name);
    if (token !== undefined && token.until > clock.now() && token.refusals < MOST_REFUSALS) {
      const outcome = await this.#attempt(protocol, server, memory, latencyMs, token.known);
      if (outcome.kind === "answered" || outcome.kind === "cancelled") return outcome;
    }
    const outcome = await this.#attempt(protocol, server, memory, latencyMs);
    const { spoken, unproven } = memory;
    const mayBeUnproven = spoken === undefined && protocol.probe?.mayLackToken;
    if (outcome.kind !== "silent" || !mayBeUnproven || unproven.has(protocol.name)) return outcome;
    unproven.add(protocol.name);
    const alone = await this.#attempt(protocol, server, memory, latencyMs);
    if (alone.kind !== "answered") unproven.delete(protocol.name);
    return alone;
  }

  #attempt(
    protocol: Protocol,
    { endpoint, name }: Watched,
    { socket, unproven }: Memory,
    latencyMs: number | null,
    known?: unknown,
  ): Promise<Outcome<unknown>> {
    const { options } = this;
    const { dial, openSole } = options;
    const overTcp = protocol.transport === "tcp";
    const alone = unproven.has(protocol.name);
    const timeoutMs = latencyMs === null ? options.timeoutMs : followUpTimeout(latencyMs);
    const connectMs = latencyMs === null ? undefined : timeoutMs;
    return attempt(protocol, {
      endpoint,
      link: () =>
        overTcp
          ? dial(endpoint, connectMs)
          : alone
          ? options.board.soleLink(endpoint, openSole(family(endpoint.address)))
          : options.board.link(endpoint, socket),
      exclusive: overTcp || alone,
      requestedAs: name,
      brief: true,
      known,
      settles: known === undefined,
      timeoutMs: overTcp ? Infinity : timeoutMs, // the link bounds it
      leavesMute: true,
    }, known === undefined ? options : { ...options, retries: 0 });
  }

  /** The sockets' families that servers need. */
  static families(servers: readonly Watched[]): (4 | 6)[] {
    return [4, 6].filter((bits) =>
      servers.some(({ endpoint }) => family(endpoint.address) === bits)
    ) as (4 | 6)[];
  }
}
