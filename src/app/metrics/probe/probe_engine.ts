/**
 * Probes servers for clients, under the limits of a watch: its sockets, rate limit, caps, opt-outs and
 * interviews. A server is probed once in five seconds, and all clients get the result.
 *
 * @module
 */
import { type Endpoint, endpointKey } from "../../../core/address.ts";
import { InputError } from "../../../core/errors.ts";
import type { RecordWithAttachments, ServerRecord } from "../../../core/record.ts";
import type { Protocol } from "../../../protocols/protocol.ts";
import { UnansweredName } from "../../names/mod.ts";
import { requestText } from "../../../targets/srv.ts";
import { type Poller, type PollingSetup, WatchedServer } from "../../../watch/mod.ts";
import type { PollingSockets } from "../../engines/watch_sockets.ts";
import { ClientCounts } from "./client_counts.ts";
import {
  ForbiddenTarget,
  type ProbedEndpoint,
  type ProbeTarget,
  type ProbeTargets,
} from "./probe_targets.ts";

/** Maximum number of probes of `/probe` that are in progress. */
export const MAX_PROBES = 16;
/** One client gets at most one of so many equal parts of them. */
const CLIENTS_SHARING = 4;
/** Minimum time between two probes of a server, milliseconds: servers cache their status for that long. */
const REPEAT_MS = 5000;
/** Maximum number of servers whose last probe is remembered. */
const MAX_REMEMBERED = 4096;

/** What probes take from the polls of the watch. */
export type ProbedWatch = Required<
  Pick<PollingSetup, "rules" | "optedOut" | "onOptOut" | "clock" | "signal">
>;

/** Options of {@linkcode ProbeEngine}. */
export interface ProbeEngineOptions extends ProbedWatch {
  /** Decides which targets may be probed. */
  readonly targets: Pick<ProbeTargets, "resolve" | "requireFamily" | "watched">;
  /** The poller, the pool and the sockets of the watch. */
  readonly polling: Pick<
    PollingSockets,
    "poller" | "pollerFor" | "pool" | "families" | "suppressing"
  >;
  /**
   * Called with the endpoint of a target before a new probe. It rejects with ForbiddenTarget or
   * ProbeRefused if there must be none. Default: no such check.
   */
  readonly admit?: (endpoint: Endpoint, client: string | undefined) => Promise<void>;
  /** Maximum number of probes that are in progress. Default: {@linkcode MAX_PROBES}. */
  readonly atOnce?: number;
}

/** A server that replied, and its record. */
export interface RepliedServer {
  readonly server: WatchedServer;
  readonly record: RecordWithAttachments;
}

/** How a probe ended. */
type Ended = RepliedServer | "no reply" | "opted out" | "not probed";

/** The result of a probe for one client. */
export interface ProbeResult {
  /** The endpoint that was probed; `undefined`: the name cannot be resolved. */
  readonly endpoint: ProbedEndpoint | undefined;
  /** The server; `undefined`: it has not replied in time. */
  readonly replied: RepliedServer | undefined;
  /** Duration of the probe without the lookup of the name, milliseconds. */
  readonly tookMs: number;
  /** Duration of the lookup of the name, milliseconds; 0 for an address. */
  readonly lookupMs: number;
}

interface LastProbe {
  readonly server: WatchedServer;
  /** The name and the protocols of the request: behind a proxy, other names are other servers. */
  readonly wording: string;
  readonly poller: Poller;
  startedAt: number;
  tookMs: number;
  ended: Promise<Ended>;
  isRunning: boolean;
}

/** What a client wants to be probed. The caller has checked that the target may be. */
export interface ProbeRequest {
  readonly target: ProbeTarget;
  /** The protocols; `undefined`: those of the watch. */
  readonly protocols: readonly Protocol[] | undefined;
  /** Who gets at most a quarter of the probes that are in progress. Default: there is no such limit. */
  readonly client?: string;
}

/** The reason why a server is not probed now. */
export class ProbeRefused extends Error {
  /** @param retryAfterS After how many seconds a client may try again. */
  constructor(readonly status: 429 | 503, message: string, readonly retryAfterS: number) {
    super(message);
  }
}

/** After how many seconds a client may try again: when a probe ends, and when a server may be probed. */
const [SOON_S, LATER_S] = [1, REPEAT_MS / 1000];

/** In place of a result that is no longer shared. */
const FORGOTTEN: Promise<Ended> = Promise.resolve("not probed");

/** Probes servers, and shares the results. */
export class ProbeEngine {
  /** The last probes of servers, the oldest first. */
  readonly #last = new Map<number | bigint, LastProbe>();
  /** Those of them whose results may have to be shared, or can be forgotten. */
  readonly #shared = new Set<LastProbe>();
  /** Number of lookups of names and probes that are in progress. */
  #running = 0;
  /** Numbers of those of each client. */
  readonly #runningOf = new ClientCounts();

  /** Starts without remembered probes. */
  constructor(private readonly options: ProbeEngineOptions) {}

  /** Number of probes that are in progress. */
  get running(): number {
    return this.#running;
  }

  /**
   * Probes a server, or returns the result of a probe less than five seconds ago.
   *
   * @param waitMs How long the client waits at most, milliseconds.
   * @throws ForbiddenTarget for a target that must not be probed; ProbeRefused.
   */
  async probe(request: ProbeRequest, waitMs: number): Promise<ProbeResult> {
    const { clock } = this.options;
    const began = clock.now();
    const endpoint = await this.#locate(request);
    const lookupMs = clock.now() - began;
    if (endpoint === undefined) return { endpoint, replied: undefined, tookMs: 0, lookupMs };
    const probe = this.#recent(endpoint, request) ?? await this.#begin(endpoint, request);
    const ended = await this.#within(waitMs - (clock.now() - began), probe.ended);
    if (ended === "opted out") throw new ForbiddenTarget("Cannot probe: the address opted out");
    if (ended === "not probed") {
      throw new ProbeRefused(503, "no descriptor is free, or the watch ends", SOON_S);
    }
    const replied = typeof ended === "object" ? ended : undefined;
    const tookMs = probe.isRunning ? clock.now() - probe.startedAt : probe.tookMs;
    return { endpoint, replied, tookMs, lookupMs };
  }

  /** The endpoint of a target; `undefined` if its name cannot be resolved. */
  async #locate({ target, client }: ProbeRequest): Promise<ProbedEndpoint | undefined> {
    const { targets, polling: { families } } = this.options;
    if ("address" in target) return targets.requireFamily(target, families);
    this.#requireCapacity(client);
    this.#count(client, 1);
    try {
      return await targets.resolve(target, families);
    } catch (error) {
      if (error instanceof UnansweredName) throw new ProbeRefused(503, error.message, LATER_S);
      if (error instanceof ForbiddenTarget || !(error instanceof InputError)) throw error;
      return undefined;
    } finally {
      this.#count(client, -1);
    }
  }

  /** @throws ProbeRefused if there are too many lookups and probes, of a client or in all. */
  #requireCapacity(client: string | undefined): void {
    const { atOnce = MAX_PROBES } = this.options;
    if (this.#running >= atOnce) {
      throw new ProbeRefused(503, `${atOnce} probes are in progress`, SOON_S);
    }
    const own = this.#runningOf.of(client);
    if (own < atOnce / CLIENTS_SHARING) return;
    throw new ProbeRefused(429, `${own} probes for the client are in progress`, SOON_S);
  }

  /** Counts a lookup or probe that begins (1) or ends (-1). */
  #count(client: string | undefined, change: 1 | -1): void {
    this.#running += change;
    this.#runningOf.add(client, change);
  }

  /** The last probe of a server, if it is too new to be repeated. */
  #recent(endpoint: Endpoint, request: ProbeRequest): LastProbe | undefined {
    const last = this.#last.get(endpointKey(endpoint));
    if (last === undefined || !this.#isNew(last)) return undefined;
    if (last.wording === wordingOf(request)) return last;
    throw new ProbeRefused(
      429,
      "this server was probed by another name or protocol less than 5 s ago",
      LATER_S,
    );
  }

  #isNew({ isRunning, startedAt }: LastProbe): boolean {
    return isRunning || this.options.clock.now() - startedAt < REPEAT_MS;
  }

  /** Starts a probe if it is admitted, unless another client has started it meanwhile. */
  async #begin(endpoint: ProbedEndpoint, request: ProbeRequest): Promise<LastProbe> {
    const { admit } = this.options;
    if (admit === undefined) return this.#start(endpoint, request);
    await admit(endpoint, request.client);
    return this.#recent(endpoint, request) ?? this.#start(endpoint, request);
  }

  #start({ service, ...endpoint }: ProbedEndpoint, request: ProbeRequest): LastProbe {
    const { target, protocols, client } = request;
    const { clock, polling, optedOut, targets, rules } = this.options;
    if (optedOut(endpoint.address)) {
      throw new ForbiddenTarget("Cannot probe: the address opted out");
    }
    this.#requireCapacity(client);
    const key = endpointKey(endpoint);
    const earlier = this.#last.get(key);
    this.#forget(key);
    const { promise, resolve } = Promise.withResolvers<Ended>();
    const name = "name" in target ? target.name : null;
    // A watched server whose name leads elsewhere by now has another endpoint.
    const isSame = earlier?.wording === wordingOf(request) &&
      endpointKey(earlier.server.endpoint) === key;
    const watched = protocols === undefined ? targets.watched(endpoint, name) : undefined;
    const requestedAs = name === null ? null : requestText(name, service);
    const server = isSame
      ? earlier.server
      : watched ?? new WatchedServer(endpoint, name, rules, undefined, requestedAs);
    const lastRow = targets.watched(endpoint, null)?.row;
    if (lastRow !== undefined) {
      const ageMs = Math.max(0, clock.wall() - lastRow.seen_at);
      polling.suppressing.noteRecord(endpoint, lastRow, clock.now() - ageMs);
    }
    const poller = isSame
      ? earlier.poller
      : protocols === undefined
      ? polling.poller
      : polling.pollerFor(protocols);
    const probe: LastProbe = {
      server,
      poller,
      wording: wordingOf(request),
      startedAt: clock.now(),
      tookMs: 0,
      ended: promise,
      isRunning: true,
    };
    this.#last.set(key, probe);
    this.#forgetResults();
    this.#shared.add(probe);
    this.#count(client, 1);
    polling.pool.tasks.add(
      endpoint.address,
      async () => resolve(await this.#run(probe, client)),
    );
    return probe;
  }

  async #run(probe: LastProbe, client: string | undefined): Promise<Ended> {
    try {
      return await this.#poll(probe);
    } finally {
      probe.tookMs = this.options.clock.now() - probe.startedAt;
      probe.isRunning = false;
      this.#count(client, -1);
    }
  }

  /** Makes space for the probe of a server. */
  #forget(key: number | bigint): void {
    this.#last.delete(key);
    if (this.#last.size < MAX_REMEMBERED) return;
    const [[oldest, last]] = this.#last;
    if (this.#isNew(last)) throw new ProbeRefused(503, "too many servers were probed", LATER_S);
    this.#last.delete(oldest);
  }

  /** Forgets results that are no longer shared: icons take space. */
  #forgetResults(): void {
    for (const probe of this.#shared) {
      if (this.#isNew(probe)) break;
      probe.ended = FORGOTTEN;
      this.#shared.delete(probe);
    }
  }

  async #poll({ server, poller }: LastProbe): Promise<Ended> {
    const { optedOut, onOptOut, signal, clock } = this.options;
    const { address } = server.endpoint;
    if (signal.aborted) return "not probed";
    if (optedOut(address)) return "opted out";
    const result = freshRow(server, clock.wall()) ?? await poller.poll(server);
    if (signal.aborted || result === "not probed") return "not probed";
    if (result === "opted out") {
      onOptOut(address);
      return result;
    }
    if (result === undefined || result === "unreachable") return "no reply";
    return { server, record: result };
  }

  /** The end of a probe; `no reply` when it takes longer than the client waits. */
  async #within(ms: number, ended: Promise<Ended>): Promise<Ended> {
    const { promise, resolve } = Promise.withResolvers<Ended>();
    const cancel = this.options.clock.after(Math.max(0, ms), () => resolve("no reply"));
    try {
      return await Promise.race([ended, promise]);
    } finally {
      cancel();
    }
  }
}

/** The record of a watched server whose last poll is too new to query the server again. */
function freshRow({ online, row }: WatchedServer, wall: number): ServerRecord | undefined {
  if (!online || row === undefined) return undefined;
  const ageMs = wall - row.seen_at;
  return ageMs >= 0 && ageMs < REPEAT_MS ? row : undefined;
}

/** The name and the protocols of a request as one text. */
function wordingOf({ target, protocols = [] }: ProbeRequest): string {
  const name = "name" in target ? target.name : "";
  return [name, ...protocols.map((protocol) => protocol.name)].join(",");
}
