/**
 * Queries the open ports that the sweep over TCP finds, in the protocol of their pass. A server that
 * replies becomes a sighting with a status. Ports of networks that accept connections and reply to no
 * query are queried last.
 *
 * @module
 */
import { type Address, type Endpoint, endpointKey } from "../../core/address.ts";
import type { Outcome } from "../../core/record.ts";
import { queryWithRetries } from "../../inspect/mod.ts";
import { type Stream, type StreamLimits, StreamLink, SWEEP_WAIT_MS } from "../../net/mod.ts";
import type { OpenPort } from "../../sweep/mod.ts";
import { sleep } from "../../net/clock.ts";
import { nonceOf } from "../setup/random_numbers.ts";
import { sentNameAndPort } from "../setup/requested_names.ts";
import {
  MAX_OF_HOST,
  type ScanConnections,
  waitingConnections,
} from "../tables/scan_connections.ts";
import type { ScanSetup } from "../setup/scan_setup.ts";
import type { ScanTables } from "../tables/scan_tables.ts";
import { DeferredPorts } from "./open_ports/deferred_ports.ts";
import { type PortOutcomeDependencies, PortOutcomes } from "./open_ports/port_outcomes.ts";
import { UnresponsiveNetworks } from "./open_ports/unresponsive_networks.ts";

/** The objects that queries use, apart from the tables. */
export interface PortQueriesDependencies extends PortOutcomeDependencies {
  /** Opens connections, and limits the number of open ones. */
  readonly connections: ScanConnections;
  /** Whether a probe of the sweep to an endpoint waits for a reply, as far as known. */
  readonly isPending: (peer: Endpoint) => boolean;
}

/** Interval of the check whether a probe waits, milliseconds. */
const PENDING_MS = 10;

/** The share of the connections for queries that open ports may use; the rest is for interviews. */
const OPEN_PORTS_SHARE = 3 / 4;
/** Number of waiting ports at which the sweep sends nothing, and no more replies are read. */
const MAX_WAITING = 16_384;
/** Time for the first byte of a port in an unresponsive network, milliseconds: a request waits for 1 s. */
const DEFERRED_BYTE_MS = 1250;

/** An open port that waits for its query, or is queried. */
interface Query extends Omit<OpenPort, "stream"> {
  /** The open connection, until a query uses it. */
  stream: Stream | undefined;
  /** The outcome of the query; `undefined`: there is none. */
  readonly outcome: PromiseWithResolvers<Outcome<unknown> | undefined>;
  /** Called when the server has become a sighting, or is none; not after a cancellation. */
  readonly onFinished: () => void;
  /** The number of the port, in the order of arrival; `undefined`: the port was deferred. */
  readonly number: number | undefined;
}

/** The queries of one address that run, by the keys of their endpoints, and those that wait for them. */
interface HostQueries {
  readonly running: Set<number | bigint>;
  waiting: Query[];
}

/** Queries open ports, a limited number at once. */
export class PortQueries {
  readonly #options: ScanSetup;
  readonly #tables: ScanTables;
  readonly #dependencies: PortQueriesDependencies;
  readonly #outcomes: PortOutcomes;
  readonly #waiting = new Set<Query>();
  readonly #networks: UnresponsiveNetworks;
  /** The ports that are queried while no other one waits. */
  readonly #deferred: DeferredPorts;
  readonly #hosts = new Map<Address, HostQueries>();
  /** The ports that wait or are queried, by endpoint and protocol. */
  readonly #byPort = new Map<string, Query>();
  /** Number of waiting ports with an open connection, by address. */
  readonly #connectedTo = new Map<Address, number>();
  /** Number of waiting ports with an open connection at which no more replies are read. */
  readonly #mostConnected: number;
  /** Number of waiting ports, those of busy hosts included, and of those with an open connection. */
  #count = 0;
  #connected = 0;
  #running = 0;
  /** Number of running queries of deferred ports, and of ports that have arrived. */
  #runningDeferred = 0;
  #arrived = 0;
  #readable: PromiseWithResolvers<void> | undefined;
  /** Called when no port waits or is queried, and when only deferred ones do. */
  #idle: (() => void) | undefined;
  #onlyDeferred: (() => void) | undefined;

  constructor(options: ScanSetup, tables: ScanTables, dependencies: PortQueriesDependencies) {
    this.#options = options;
    this.#tables = tables;
    this.#dependencies = dependencies;
    this.#outcomes = new PortOutcomes(options, tables, dependencies);
    this.#mostConnected = waitingConnections(options.limits);
    this.#networks = new UnresponsiveNetworks(options.io.state.tcp.unresponsiveNetworks);
    this.#deferred = new DeferredPorts(options.limits.maxDeferred);
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
    return this.#count + this.#running + this.#deferred.size;
  }

  /** Number of ports that wait or are queried, without those in unresponsive networks. */
  get #undeferred(): number {
    return this.#count + this.#running - this.#runningDeferred;
  }

  /** While no replies should be read, a promise that settles when they may be read again. */
  get whenReadable(): Promise<void> | undefined {
    return this.isFull ? (this.#readable ??= Promise.withResolvers()).promise : undefined;
  }

  /** Adds an open port, and takes over its connection, unless its host has enough of them. */
  add({ endpoint, protocol, stream: given }: OpenPort): void {
    const { address } = endpoint;
    const running = this.#hosts.get(address)?.running.size ?? 0;
    const isSurplus = running + (this.#connectedTo.get(address) ?? 0) >= MAX_OF_HOST;
    if (isSurplus) given?.[Symbol.dispose](); // the query opens another one
    const stream = isSurplus ? undefined : given;
    const onFinished = this.#tables.lowWater.begin();
    const number = this.#arrived++;
    const query = { endpoint, protocol, stream, outcome: noOutcome(), onFinished, number };
    this.#enter(query);
    if (!this.#defer(query)) this.#waiting.add(query);
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
    while (this.#dependencies.isPending(peer) && !signal.aborted) {
      await sleep(clock, PENDING_MS, signal);
    }
    return await this.#byPort.get(portKey(peer, protocol))?.outcome.promise;
  }

  /** Resolves when no port waits or is queried. */
  async idle(): Promise<void> {
    if (this.size > 0) await new Promise<void>((resolve) => this.#idle = resolve);
  }

  /** Resolves when no port waits or is queried, apart from those in unresponsive networks. */
  async onlyDeferred(): Promise<void> {
    if (this.#undeferred > 0) await new Promise<void>((resolve) => this.#onlyDeferred = resolve);
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
    this.#deferred.clear();
    this.#settle();
  }

  /** Counts that a port waits. */
  #enter(query: Query): void {
    this.#count++;
    if (query.stream !== undefined) this.#countConnected(query.endpoint, 1);
    this.#byPort.set(portKey(query.endpoint, query.protocol), query);
  }

  /** Counts that a port does not wait any more. */
  #leave({ endpoint, stream }: Query): void {
    this.#count--;
    if (stream !== undefined) this.#countConnected(endpoint, -1);
  }

  /** Adds to the numbers of waiting ports with an open connection. */
  #countConnected({ address }: Endpoint, more: 1 | -1): void {
    this.#connected += more;
    const rest = (this.#connectedTo.get(address) ?? 0) + more;
    if (rest > 0) this.#connectedTo.set(address, rest);
    else this.#connectedTo.delete(address);
  }

  /** Ends a query: closes its connection, unless it was used. */
  #end(query: Query): void {
    query.stream?.[Symbol.dispose]();
    query.stream = undefined;
    query.outcome.resolve(undefined);
    const port = portKey(query.endpoint, query.protocol);
    if (this.#byPort.get(port) === query) this.#byPort.delete(port);
  }

  /**
   * Defers a port that waits if its network is unresponsive, and closes its connection. If too many are
   * deferred, the next pass probes the port again.
   */
  #defer(query: Query): boolean {
    const { endpoint, protocol, number, onFinished } = query;
    const name = this.#networks.of(endpoint.address);
    if (name === undefined || number === undefined) return false;
    this.#leave(query);
    this.#end(query);
    if (this.#deferred.add(name, { endpoint, protocol, number, onFinished })) return true;
    this.#dependencies.foundPorts.delete(endpoint, protocol);
    this.#options.io.state.tcp.counts.unqueried++;
    onFinished();
    return true;
  }

  /** Counts a query without a reply. Defers the waiting ports of what has become unresponsive. */
  #countUnresponsive(address: Address): void {
    const names = this.#networks.add(address);
    if (names.length === 0) return;
    for (const name of names) this.#deferred.move(name, true);
    for (const query of this.#waiting) if (this.#defer(query)) this.#waiting.delete(query);
    for (const host of this.#hosts.values()) {
      host.waiting = host.waiting.filter((query) => !this.#defer(query));
    }
  }

  /** Ends the waits for fewer ports. */
  #settle(): void {
    if (!this.isFull) {
      this.#readable?.resolve();
      this.#readable = undefined;
    }
    if (this.#undeferred === 0) this.#onlyDeferred?.();
    if (this.size === 0) this.#idle?.();
  }

  /** Begins queries within the limits. */
  #next(): void {
    const { limit } = this.#dependencies.connections.slots;
    const most = Math.max(1, Math.floor(OPEN_PORTS_SHARE * limit));
    this.#beginDeferred(most, true);
    for (const query of this.#waiting) {
      if (this.#running >= most) return;
      this.#waiting.delete(query);
      const host = this.#hostOf(query.endpoint);
      if (isBusy(host, query)) host.waiting.push(query);
      else void this.#begin(query, host);
    }
    this.#beginDeferred(most, false);
  }

  /**
   * Begins queries of deferred ports.
   *
   * @param isReturned Whether only ports of networks that have replied since are queried.
   */
  #beginDeferred(most: number, isReturned: boolean): void {
    const busy = (endpoint: Endpoint) => {
      const host = this.#hosts.get(endpoint.address);
      return host !== undefined && isBusy(host, { endpoint });
    };
    while (this.#running < most) {
      const port = this.#deferred.take(busy, isReturned);
      if (port === undefined) return;
      const onFinished = () => this.#deferred.finish();
      const outcome = noOutcome();
      const query = { ...port, stream: undefined, outcome, onFinished, number: undefined };
      this.#enter(query);
      void this.#begin(query, this.#hostOf(port.endpoint));
    }
  }

  #hostOf({ address }: Endpoint): HostQueries {
    return this.#hosts.getOrInsertComputed(address, () => ({ running: new Set(), waiting: [] }));
  }

  async #begin(query: Query, host: HostQueries): Promise<void> {
    const key = endpointKey(query.endpoint);
    const deferred = query.number === undefined ? 1 : 0;
    host.running.add(key);
    this.#running++;
    this.#runningDeferred += deferred;
    this.#leave(query);
    try {
      await this.#run(query);
    } catch (error) {
      this.#tables.stop.fail(error as Error);
    }
    this.#end(query);
    this.#running--;
    this.#runningDeferred -= deferred;
    host.running.delete(key);
    const isIdle = host.running.size === 0;
    for (const one of host.waiting.splice(0, isIdle ? Infinity : 1)) this.#waiting.add(one);
    if (isIdle) this.#hosts.delete(query.endpoint.address);
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
      if (responders.has(endpoint) && query.stream === undefined) {
        this.#options.io.state.tcp.counts.unqueried++;
        return onFinished();
      }
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
    const { connections: { slots, link } } = this.#dependencies;
    const limits = this.#limitsOf(query);
    const protocol = protocols.find(({ name }) => name === query.protocol)!;
    const release = await slots.acquire(endpoint.address);
    const { stream } = query;
    query.stream = undefined;
    const exchange = (signal: AbortSignal) =>
      queryWithRetries(protocol, {
        endpoint,
        open: () => Promise.resolve(new StreamLink(endpoint, { ...link, limits, signal }, stream)),
        exclusive: true,
        ...sentNameAndPort(targets, endpoint),
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

  /** The limits of a query: a port of an unresponsive network gets less time. */
  #limitsOf({ endpoint: { address } }: Query): StreamLimits {
    const { limits } = this.#dependencies.connections.link;
    if (this.#networks.of(address) === undefined) return limits;
    const firstByteMs = Math.min(limits.firstByteMs, DEFERRED_BYTE_MS);
    const { portWaitMs: connectMs = SWEEP_WAIT_MS } = this.#options.limits;
    return { ...limits, connectMs, firstByteMs };
  }

  /** Judges the outcome of a query, and counts it for the network of the port. */
  #judge(query: Query, outcome: Outcome<unknown>): void {
    const { address } = query.endpoint;
    const result = this.#outcomes.judge(query, outcome);
    if (result === "valid") {
      for (const name of this.#networks.reset(address)) this.#deferred.move(name, false);
    } else if (result === "unresponsive") {
      this.#countUnresponsive(address);
    }
  }
}

const noOutcome = (): Query["outcome"] => Promise.withResolvers();

function portKey(endpoint: Endpoint, protocol: string): string {
  return `${endpointKey(endpoint)} ${protocol}`;
}

const CANCELLED: Outcome<unknown> = { kind: "cancelled" };

/** Whether a port has to wait for other queries of its host. */
function isBusy({ running }: HostQueries, { endpoint }: { readonly endpoint: Endpoint }): boolean {
  return running.size >= MAX_OF_HOST || running.has(endpointKey(endpoint));
}
