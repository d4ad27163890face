/**
 * Queries the open ports that the sweep over TCP finds, in the protocol of their pass. A server that
 * replies becomes a sighting with a status.
 *
 * @module
 */
import { type Address, type Endpoint, endpointKey } from "../../core/address.ts";
import type { Outcome, Sighting } from "../../core/record.ts";
import { isExhausted, queryWithRetries } from "../../inspect/run_interview.ts";
import { sleep } from "../../net/clock.ts";
import type { Stream } from "../../net/stream.ts";
import { StreamLink } from "../../net/stream_link.ts";
import { isKnownFor } from "../../protocols/declared_facts.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { AskedPorts } from "../../sweep/asked_ports.ts";
import type { OpenPort } from "../../sweep/port_receiver.ts";
import type { OptOutRecorder } from "../opt_outs/opt_out_recorder.ts";
import { nonceOf } from "../random_numbers.ts";
import { sentTo } from "../requested_names.ts";
import { MAX_OF_HOST, type ScanConnections, waitingConnections } from "../scan_connections.ts";
import type { ScanSetup } from "../scan_setup.ts";
import type { ScanTables } from "../scan_tables.ts";
import type { SightingAdmission } from "./sighting_admission.ts";

/** The parts of the scan that queries use, apart from the tables. */
export interface PortQueriesParts {
  /** Opens connections, and limits the number of open ones. */
  readonly connections: ScanConnections;
  /** The open ports that no pass probes again. */
  readonly asked: AskedPorts;
  /** Queues each server that replied, with its status. */
  readonly admission: Pick<SightingAdmission, "push">;
  /** Records opt-outs. */
  readonly optOuts: Pick<OptOutRecorder, "take">;
  /** Whether a probe of the sweep to an endpoint waits for a reply, as far as known. */
  readonly isPending: (peer: Endpoint) => boolean;
}

/** Interval of the check whether a probe waits, milliseconds. */
const PENDING_MS = 10;

/** The part of the connections for queries that open ports may use; the rest is for interviews. */
const PART = 3 / 4;
/** Number of waiting ports at which the sweep sends nothing, and no more replies are read. */
const MAX_WAITING = 16_384;

/** How a connection ends if the peer closes it: in order, or because it has not read the request. */
const CLOSED: ReadonlySet<string | undefined> = new Set(["closed", "reset"]);

/** An open port that waits for its query, or is queried. */
interface Query extends Omit<OpenPort, "stream"> {
  /** The open connection, until a query uses it. */
  stream: Stream | undefined;
  /** The outcome of the query; `undefined`: there is none. */
  readonly outcome: PromiseWithResolvers<Outcome<unknown> | undefined>;
  /** Called when the server has become a sighting, or is none; not after a cancellation. */
  readonly onFinished: () => void;
}

/** The queries of one address that run, by the keys of their endpoints, and those that wait for them. */
interface HostQueries {
  readonly running: Set<number | bigint>;
  readonly waiting: Query[];
}

/** Queries open ports, a limited number at once. */
export class PortQueries {
  readonly #options: ScanSetup;
  readonly #tables: ScanTables;
  readonly #parts: PortQueriesParts;
  readonly #waiting = new Set<Query>();
  readonly #hosts = new Map<Address, HostQueries>();
  /** The ports that wait or are queried, by the keys of their endpoints. */
  readonly #byEndpoint = new Map<number | bigint, Query>();
  /** Number of waiting ports with an open connection at which no more replies are read. */
  readonly #mostConnected: number;
  /** Number of waiting ports, those of busy hosts included, and of those with an open connection. */
  #count = 0;
  #connected = 0;
  #running = 0;
  #readable: PromiseWithResolvers<void> | undefined;
  #idle: (() => void) | undefined;

  /** Creates the stage without queries. */
  constructor(options: ScanSetup, tables: ScanTables, parts: PortQueriesParts) {
    this.#options = options;
    this.#tables = tables;
    this.#parts = parts;
    this.#mostConnected = waitingConnections(options.limits);
    const end = () => tables.stop.skipsCooldown && this.#cut();
    tables.stop.sweepSignal.addEventListener("abort", end, { once: true });
    tables.stop.interviewSignal.addEventListener("abort", () => this.#cut(), { once: true });
  }

  /** Whether so many ports wait that the sweep must send nothing. */
  get isFull(): boolean {
    return this.#connected >= this.#mostConnected || this.#count >= MAX_WAITING;
  }

  /** Number of ports that wait or are queried. */
  get size(): number {
    return this.#count + this.#running;
  }

  /** While no replies should be read, a promise that settles when they may be read again. */
  get whenReadable(): Promise<void> | undefined {
    return this.isFull ? (this.#readable ??= Promise.withResolvers()).promise : undefined;
  }

  /** Adds an open port, and takes over its connection. */
  add({ endpoint, protocol, stream }: OpenPort): void {
    const onFinished = this.#tables.lowWater.begin();
    const query = { endpoint, protocol, stream, outcome: noOutcome(), onFinished };
    this.#count++;
    if (stream !== undefined) this.#connected++;
    this.#waiting.add(query);
    this.#byEndpoint.set(endpointKey(endpoint), query);
    if (this.#isCut) this.#cut();
    else this.#next();
  }

  /**
   * The outcome of the query of an endpoint that waits or has not ended; `undefined`: there is none, or it
   * failed. An interview that uses it opens no second connection beside the one of the query.
   */
  async underway(peer: Endpoint, protocol: string): Promise<Outcome<unknown> | undefined> {
    const { clock } = this.#options.io;
    const { interviewSignal: signal } = this.#tables.stop;
    while (this.#parts.isPending(peer) && !signal.aborted) await sleep(clock, PENDING_MS, signal);
    const query = this.#byEndpoint.get(endpointKey(peer));
    return query?.protocol === protocol ? await query.outcome.promise : undefined;
  }

  /** Resolves when no port waits or is queried. */
  async idle(): Promise<void> {
    if (this.size > 0) await new Promise<void>((resolve) => this.#idle = resolve);
  }

  get #isCut(): boolean {
    const { stop } = this.#tables;
    return stop.interviewSignal.aborted || stop.sweepSignal.aborted && stop.skipsCooldown;
  }

  /** Drops the ports that wait. A resumed scan probes them again. */
  #cut(): void {
    const waiting = [...this.#hosts.values()].flatMap(({ waiting }) => waiting.splice(0));
    for (const query of [...this.#waiting, ...waiting]) {
      this.#leave(query);
      this.#end(query);
    }
    this.#waiting.clear();
    this.#settle();
  }

  /** Counts that a port does not wait any more. */
  #leave({ stream }: Query): void {
    this.#count--;
    if (stream !== undefined) this.#connected--;
  }

  /** Ends a query: closes its connection, unless it was used. */
  #end(query: Query): void {
    query.stream?.[Symbol.dispose]();
    query.stream = undefined;
    query.outcome.resolve(undefined);
    const key = endpointKey(query.endpoint);
    if (this.#byEndpoint.get(key) === query) this.#byEndpoint.delete(key);
  }

  /** Ends the waits for fewer ports. */
  #settle(): void {
    if (!this.isFull) {
      this.#readable?.resolve();
      this.#readable = undefined;
    }
    if (this.size === 0) this.#idle?.();
  }

  /** Begins queries within the limits. */
  #next(): void {
    const { limit } = this.#parts.connections.slots;
    const most = Math.max(1, Math.floor(PART * limit));
    for (const query of this.#waiting) {
      if (this.#running >= most) return;
      this.#waiting.delete(query);
      const host = this.#hosts.getOrInsertComputed(
        query.endpoint.address,
        () => ({ running: new Set(), waiting: [] }),
      );
      if (isBusy(host, query)) host.waiting.push(query);
      else void this.#begin(query, host);
    }
  }

  async #begin(query: Query, host: HostQueries): Promise<void> {
    const key = endpointKey(query.endpoint);
    host.running.add(key);
    this.#running++;
    this.#leave(query);
    try {
      await this.#run(query);
    } catch (error) {
      this.#tables.stop.fail(error as Error);
    }
    this.#end(query);
    this.#running--;
    host.running.delete(key);
    for (const one of host.waiting.splice(0, 1)) this.#waiting.add(one);
    if (host.running.size === 0) this.#hosts.delete(query.endpoint.address);
    this.#next();
    this.#settle();
  }

  /** Queries a port, and again if there was an outage meanwhile. */
  async #run(query: Query): Promise<void> {
    const { network, optedOut, responders, stop: { interviewSignal } } = this.#tables;
    const { endpoint, onFinished } = query;
    for (;;) {
      await network.online(interviewSignal);
      // An interview of the endpoint may wait for the outcome of a query over an open connection.
      if (responders.has(endpoint) && query.stream === undefined) return onFinished();
      const { signal } = network;
      const outcome = optedOut.has(endpoint.address) ? CANCELLED : await this.#query(query);
      if (outcome.kind === "cancelled") {
        if (!optedOut.has(endpoint.address)) return;
        this.#options.io.state.tcp.counts.cancelled++;
        return onFinished();
      }
      if (outcome.kind === "noReply") await network.confirm();
      if (!signal.aborted) {
        query.outcome.resolve(outcome);
        return this.#judge(query, outcome);
      }
      if (interviewSignal.aborted) return;
    }
  }

  /** Queries a port over its connection, or over a new one. */
  async #query(query: Query): Promise<Outcome<unknown>> {
    const { targets, targets: { protocols }, io: { clock, random } } = this.#options;
    const { endpoint } = query;
    const { connections } = this.#parts;
    const protocol = protocols.find(({ name }) => name === query.protocol)!;
    const release = await connections.slots.acquire(endpoint.address);
    const { stream } = query;
    query.stream = undefined;
    const exchange = (signal: AbortSignal) =>
      queryWithRetries(protocol, {
        endpoint,
        open: () =>
          Promise.resolve(new StreamLink(endpoint, { ...connections.link, signal }, stream)),
        exclusive: true,
        ...sentTo(targets, endpoint),
        statusOnly: true,
        timeoutMs: Infinity, // the link has its own time limits
        stopsWithoutFirstReply: true,
      }, { retries: 0, clock, signal, nonce: () => nonceOf(random) });
    try {
      return await this.#tables.signals.run(endpoint.address, exchange);
    } finally {
      release();
    }
  }

  /** Counts the outcome of a query, and passes on the sighting of a server. */
  #judge(query: Query, outcome: Outcome<unknown>): void {
    const { state: { tcp: { counts } } } = this.#options.io;
    const { endpoint, protocol, onFinished } = query;
    if (outcome.kind === "replied" && !this.#isWeak(query, outcome.status)) {
      counts.valid++;
      return this.#take(query, outcome);
    }
    if (outcome.kind !== "noReply") {
      counts.invalid++;
      return onFinished();
    }
    // A server that is busy closes connections. A port without any reply is not queried again, because
    // TCP repeats lost packets.
    if (CLOSED.has(outcome.why) || isExhausted(outcome)) {
      this.#parts.asked.delete(endpoint, protocol);
    }
    if (isExhausted(outcome)) return this.#tables.uninspected.add(endpoint, onFinished);
    counts[CLOSED.has(outcome.why) ? "closed" : "unresponsive"]++;
    onFinished();
  }

  /** Whether a status is too little evidence, unless the server is known to speak the protocol. */
  #isWeak({ endpoint, protocol: name }: Query, status: unknown): boolean {
    const protocol = this.#named(name);
    const isKnown = isKnownFor(protocol, this.#tables.known.spokenBy(endpoint));
    return protocol.isWeak?.(status, isKnown) === true;
  }

  #named(name: string): Protocol {
    return this.#options.targets.protocols.find((protocol) => protocol.name === name)!;
  }

  /**
   * Queues the sighting of a server. If the endpoint has already replied over UDP, the sighting is only
   * searched for an opt-out.
   */
  #take(
    { endpoint, protocol, onFinished }: Query,
    { status, raw, latencyMs }: Outcome<unknown> & { readonly kind: "replied" },
  ): void {
    const { clock } = this.#options.io;
    const { responders, uninspected } = this.#tables;
    const found = { endpoint, protocol, status, raw, latencyMs };
    const sighting: Sighting = { ...found, verified: true, at: clock.now(), socket: -1 };
    uninspected.remove(endpoint)();
    if (responders.add(endpoint)) return this.#parts.admission.push(sighting, onFinished);
    this.#parts.optOuts.take(sighting);
    onFinished();
  }
}

function noOutcome(): Query["outcome"] {
  return Promise.withResolvers();
}

const CANCELLED: Outcome<unknown> = { kind: "cancelled" };

/** Whether a port has to wait for other queries of its host. */
function isBusy({ running }: HostQueries, { endpoint }: { readonly endpoint: Endpoint }): boolean {
  return running.size >= MAX_OF_HOST || running.has(endpointKey(endpoint));
}
