/**
 * Probes servers for clients of `/probe`, under the limits of the watch: its sockets, rate limit, caps,
 * opt-outs and interviews.
 *
 * @module
 */
import { type Endpoint, endpointKey } from "../../../core/address.ts";
import { InputError } from "../../../core/errors.ts";
import type { ServerRecord } from "../../../core/record.ts";
import { oneLine } from "../../../core/text.ts";
import type { Protocol } from "../../../protocols/protocol.ts";
import { type Poller, type PollingSetup, WatchedServer } from "../../../watch/mod.ts";
import type { PollingSockets } from "../../engines/watch_sockets.ts";
import { chosenProtocols } from "../../settings/chosen_protocols.ts";
import type { HttpRequest } from "../../http/http_request.ts";
import type { WholeResponse } from "../../http/http_response.ts";
import { probeRefusal } from "./probe_access.ts";
import { type ProbedStatus, probeFamilies } from "./probe_page.ts";
import {
  ForbiddenTarget,
  parseProbeTarget,
  type ProbedEndpoint,
  type ProbeTarget,
  type ProbeTargets,
} from "./probe_targets.ts";
import { requestText } from "../../../targets/srv.ts";
import { EXPOSITION_TYPE, prometheusText } from "../prometheus_text.ts";
import type { ServerInfoSeries } from "../server_info.ts";

/** Maximum number of probes that are in progress. */
export const MAX_PROBES = 16;
/** Minimum time between two probes of a server, milliseconds: servers cache their status for that long. */
const REPEAT_MS = 5000;
/** Maximum number of servers whose last probe is remembered. */
const MAX_REMEMBERED = 4096;
/** How long a client waits at most, milliseconds. Prometheus waits for 10 s by default. */
const MAX_WAIT_MS = 9500;
/** How much earlier than Prometheus' timeout a response is sent, milliseconds. */
const MARGIN_MS = 500;

/** What probes take from the polls of the watch. */
export type ProbedWatch = Required<
  Pick<PollingSetup, "rules" | "optedOut" | "onOptOut" | "clock" | "signal">
>;

/** Options of {@linkcode Probes}. */
export interface ProbesOptions extends ProbedWatch {
  /** Decides which targets may be probed. */
  readonly targets: ProbeTargets;
  /** The token that clients have to send; `undefined`: none. */
  readonly token: string | undefined;
  /** The poller, the pool and the sockets of the watch. */
  readonly polling: Pick<
    PollingSockets,
    "poller" | "pollerFor" | "pool" | "families" | "suppressing"
  >;
  /** The labels of info series; `undefined`: there are none. */
  readonly info: ServerInfoSeries | undefined;
  /** Whether the poll loop runs. */
  readonly isRunning: () => boolean;
}

/** How a probe ended. */
type Ended = ProbedStatus | "no reply" | "opted out" | "not probed";

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

interface ParsedRequest {
  readonly text: string;
  readonly target: ProbeTarget;
  readonly protocols: readonly Protocol[] | undefined;
}

/** A response other than the metrics of a probe. */
class Refused extends Error {
  constructor(
    readonly status: WholeResponse["status"],
    message: string,
    readonly headers?: WholeResponse["headers"],
  ) {
    super(message);
  }
}

/** Responds to requests for `/probe`. */
export class Probes {
  /** The last probes of servers, the oldest first. */
  readonly #last = new Map<number | bigint, LastProbe>();
  /** Number of lookups of names and probes that are in progress. */
  #running = 0;

  /** Starts without remembered probes. */
  constructor(private readonly options: ProbesOptions) {}

  /** Number of probes that are in progress. */
  get running(): number {
    return this.#running;
  }

  /** The response to a request: metrics, or one line with the reason why there are none. */
  async respond(request: HttpRequest): Promise<WholeResponse> {
    try {
      const parsed = this.#read(request);
      return await this.#probe(parsed, waitOf(request));
    } catch (error) {
      if (error instanceof Refused) return refusal(error.status, error.message, error.headers);
      if (error instanceof ForbiddenTarget) return refusal(403, error.message);
      if (error instanceof InputError) return refusal(400, error.message);
      throw error;
    }
  }

  #read(request: HttpRequest): ParsedRequest {
    const { token, targets, rules, isRunning, signal } = this.options;
    const denied = probeRefusal(request, token);
    if (denied !== undefined) {
      const headers = denied.status === 401 ? { "www-authenticate": "Bearer" } : undefined;
      throw new Refused(denied.status, denied.line, headers);
    }
    const { query } = request;
    const unknown = [...query.keys()].find((key) => !["target", "protocol"].includes(key));
    if (unknown !== undefined) {
      throw new InputError(`Cannot use parameter "${unknown}": expected target or protocol`);
    }
    const [text, ...more] = query.getAll("target");
    if (text === undefined || more.length > 0) {
      throw new InputError("Cannot probe: expected /probe?target=HOST:PORT&protocol=NAME");
    }
    const target = parseProbeTarget(text);
    targets.require(target, text);
    const names = query.getAll("protocol").flatMap((list) => list.split(","));
    const protocols = names.length === 0 ? undefined : chosenProtocols(names, rules.allProtocols);
    if (!isRunning() || signal.aborted) throw new Refused(503, "polling has not begun", SOON);
    return { text, target, protocols };
  }

  async #probe(parsed: ParsedRequest, waitMs: number): Promise<WholeResponse> {
    const { target, text } = parsed;
    const { clock } = this.options;
    const began = clock.now();
    const endpoint = await this.#locate(target);
    const lookupMs = clock.now() - began;
    if (endpoint === undefined) return page({ status: undefined, tookMs: 0, lookupMs });
    const probe = this.#recent(endpoint, parsed) ?? this.#start(endpoint, parsed);
    const ended = await this.#within(waitMs - (clock.now() - began), probe.ended);
    if (ended === "opted out") throw new ForbiddenTarget(`Cannot probe "${text}": it opted out`);
    if (ended === "not probed") {
      throw new Refused(503, "no descriptor is free, or the watch ends", SOON);
    }
    const status = typeof ended === "object" ? ended : undefined;
    const tookMs = probe.isRunning ? clock.now() - probe.startedAt : probe.tookMs;
    return page({ status, tookMs, lookupMs });
  }

  /** The endpoint of a target; `undefined` if its name cannot be resolved. */
  async #locate(target: ProbeTarget): Promise<ProbedEndpoint | undefined> {
    const { targets, polling: { families } } = this.options;
    if ("address" in target) return targets.requireFamily(target, families);
    this.#requireCapacity();
    this.#running++;
    try {
      return await targets.resolve(target, families);
    } catch (error) {
      if (error instanceof ForbiddenTarget || !(error instanceof InputError)) throw error;
      return undefined;
    } finally {
      this.#running--;
    }
  }

  #requireCapacity(): void {
    if (this.#running < MAX_PROBES) return;
    throw new Refused(503, `${MAX_PROBES} probes are in progress`, SOON);
  }

  /** The last probe of a server, if it is too new to be repeated. */
  #recent(endpoint: Endpoint, parsed: ParsedRequest): LastProbe | undefined {
    const last = this.#last.get(endpointKey(endpoint));
    if (last === undefined || !this.#isNew(last)) return undefined;
    if (last.wording === wordingOf(parsed)) return last;
    throw new Refused(
      429,
      "this server was probed by another name or protocol less than 5 s ago",
      LATER,
    );
  }

  #isNew({ isRunning, startedAt }: LastProbe): boolean {
    return isRunning || this.options.clock.now() - startedAt < REPEAT_MS;
  }

  #start({ service, ...endpoint }: ProbedEndpoint, parsed: ParsedRequest): LastProbe {
    const { target, protocols } = parsed;
    const { clock, polling, optedOut, targets, rules } = this.options;
    if (optedOut(endpoint.address)) {
      throw new ForbiddenTarget("Cannot probe: the address opted out");
    }
    this.#requireCapacity();
    const key = endpointKey(endpoint);
    const earlier = this.#last.get(key);
    this.#forget(key);
    const { promise, resolve } = Promise.withResolvers<Ended>();
    const name = "name" in target ? target.name : null;
    // A watched server whose name leads elsewhere by now has another endpoint.
    const isSame = earlier?.wording === wordingOf(parsed) &&
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
      wording: wordingOf(parsed),
      startedAt: clock.now(),
      tookMs: 0,
      ended: promise,
      isRunning: true,
    };
    this.#last.set(key, probe);
    this.#running++;
    polling.pool.tasks.add(endpoint.address, async () => resolve(await this.#run(probe)));
    return probe;
  }

  async #run(probe: LastProbe): Promise<Ended> {
    try {
      return await this.#poll(probe);
    } finally {
      probe.tookMs = this.options.clock.now() - probe.startedAt;
      probe.isRunning = false;
      this.#running--;
    }
  }

  /** Makes space for the probe of a server. */
  #forget(key: number | bigint): void {
    this.#last.delete(key);
    if (this.#last.size < MAX_REMEMBERED) return;
    const [[oldest, last]] = this.#last;
    if (this.#isNew(last)) throw new Refused(503, "too many servers were probed", LATER);
    this.#last.delete(oldest);
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
    const { players_online: players, players_max: slots, latency_ms: latencyMs } = result;
    const info = this.options.info?.labelsOf(server, result, clock.now());
    return { players, slots, latencyMs, info };
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

const SOON = { "retry-after": "1" };
const LATER = { "retry-after": String(REPEAT_MS / 1000) };

/** The name and the protocols of a request as one text. */
function wordingOf({ target, protocols = [] }: ParsedRequest): string {
  const name = "name" in target ? target.name : "";
  return [name, ...protocols.map((protocol) => protocol.name)].join(",");
}

/** How long the client of a request waits, milliseconds. */
function waitOf({ headers }: HttpRequest): number {
  const seconds = Number(headers.get("x-prometheus-scrape-timeout-seconds"));
  return seconds > 0 ? Math.min(seconds * 1000 - MARGIN_MS, MAX_WAIT_MS) : MAX_WAIT_MS;
}

function page(metrics: Parameters<typeof probeFamilies>[0]): WholeResponse {
  const body = new TextEncoder().encode(prometheusText(probeFamilies(metrics)));
  return { status: 200, headers: { "content-type": EXPOSITION_TYPE }, body };
}

/** A response with one line. The line may contain a text of the client. */
function refusal(
  status: WholeResponse["status"],
  line: string,
  headers: WholeResponse["headers"] = {},
): WholeResponse {
  return {
    status,
    headers: { "x-content-type-options": "nosniff", ...headers },
    body: new TextEncoder().encode(`${oneLine(line)}\n`),
  };
}
