/**
 * The TCP passes of a scan. An open connection is used for the query at once.
 *
 * @module
 */
import { type Address, type Endpoint, family } from "../../core/address.ts";
import { EndpointSet } from "../../core/endpoint_set.ts";
import type { Outcome, Sighting } from "../../core/record.ts";
import { queryWithRetries } from "../../inspect/run_interview.ts";
import type { Stream } from "../../net/socket.ts";
import { dial, StreamLink, type StreamLinkOptions } from "../../net/stream_link.ts";
import type { Throttle } from "../../net/throttle.ts";
import { isKnownFor } from "../../protocols/declared_facts.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { TargetOrder } from "../../targets/space.ts";
import { ConnectionVisitor } from "../../sweep/connection_passes.ts";
import {
  KEPT_MARKS_MS,
  type Pass,
  type PassProgress,
  runPasses,
  runRepeatedly,
} from "../../sweep/passes.ts";
import { type Mark, MarkHistory } from "../../sweep/mark_history.ts";
import type { SightingAdmission } from "../inspect_stage/sighting_admission.ts";
import type { SightingQueue } from "../inspect_stage/sighting_queue.ts";
import type { OptOutRecorder } from "../opt_outs/opt_out_recorder.ts";
import type { PassPlan } from "../pass_plan.ts";
import { nonceOf, seedOf } from "../random_numbers.ts";
import { sentTo } from "../requested_names.ts";
import type { ScanConnections } from "../scan_connections.ts";
import type { ScanSetup } from "../scan_setup.ts";
import type { ScanTables } from "../scan_tables.ts";
import type { SkippedTargets } from "./skipped_targets.ts";
import { TransportProgress } from "./transport_progress.ts";

/** The parts of the scan that TCP passes use, apart from the tables. */
export interface TcpSweepParts {
  /** The rate limit and the caps of connections and requests. */
  readonly throttle: Throttle;
  /** Opens connections, a limited number at once. */
  readonly connections: ScanConnections;
  /** The targets that are skipped. */
  readonly skipped: SkippedTargets;
  /** Queues each server that replied, with its status. */
  readonly admission: Pick<SightingAdmission, "push">;
  /** The queue of sightings; the sweep waits while it is full. */
  readonly sightings: Pick<SightingQueue, "isFull">;
  /** Records opt-outs. */
  readonly optOuts: OptOutRecorder;
}

/** How a connection ends if the peer closes it: in order, or because it has not read the request. */
const CLOSED: ReadonlySet<string | undefined> = new Set(["closed", "reset"]);

/** The start of the first pass. */
const START: Mark = { pass: 1, position: 0 };

/** Runs the TCP passes: connects to targets, queries them, and counts the outcomes. */
export class TcpSweep {
  readonly #options: ScanSetup;
  readonly #plan: PassPlan;
  readonly #tables: ScanTables;
  readonly #parts: TcpSweepParts;
  #visitor: ConnectionVisitor | undefined;
  #history: MarkHistory;
  readonly #progress: TransportProgress;
  /**
   * Endpoints with an open port that did not reply in a protocol, by its name. They are not probed again
   * in it.
   */
  readonly #others: ReadonlyMap<string, EndpointSet>;
  /** The latest of them that did not reply at all, and when they were added. */
  #slow: { readonly protocol: string; readonly endpoint: Endpoint; readonly at: number }[] = [];
  /** Targets that were not probed yet, because no descriptor was free. */
  readonly #unprobed: EndpointSet;
  /**
   * The mark when the first unprobed target was found; `undefined`: there is no unprobed target.
   */
  #held: Mark | undefined;

  /** Prepares the passes. {@linkcode run} opens the connections. */
  constructor(options: ScanSetup, plan: PassPlan, tables: ScanTables, parts: TcpSweepParts) {
    this.#options = options;
    this.#plan = plan;
    this.#tables = tables;
    this.#parts = parts;
    const seed = seedOf(options.io.random);
    const streams = options.targets.protocols.filter(({ transport }) => transport === "tcp");
    this.#others = new Map(streams.map(({ name }) => [name, new EndpointSet(seed)]));
    this.#unprobed = new EndpointSet(seed);
    tables.optedOut.onAdd((address) => this.#forgetUnprobed(address));
    this.#progress = new TransportProgress(options, "tcp");
    this.#history = this.#historyFrom(options.order.from.tcp);
  }

  #historyFrom(mark: Mark): MarkHistory {
    return new MarkHistory(mark, this.#options.io.clock.now(), KEPT_MARKS_MS);
  }

  #newVisitor(signal: AbortSignal, progress: PassProgress): ConnectionVisitor {
    const { skipped, sightings, connections: { slots }, throttle } = this.#parts;
    return new ConnectionVisitor({
      slots,
      throttle,
      clock: this.#options.io.clock,
      signal,
      skip: (target, protocol) =>
        skipped.has(target, protocol) || this.#others.get(protocol)!.has(target),
      backlogged: () => sightings.isFull,
      visit: (protocol, target) => this.#visit(this.#named(protocol), target),
      progress,
    });
  }

  /**
   * The low-water mark. All targets before the mark were visited, and each was probed in at least
   * one pass.
   */
  get mark(): Mark {
    const sure = this.#history.before(this.#tables.network.sureUntil);
    return this.#held ?? sure ?? this.#visitor?.mark ?? this.#options.order.from.tcp;
  }

  /** Runs the passes; returns the mark after them. */
  async run(): Promise<Mark> {
    const { order } = this.#options;
    const { tcp: passes } = this.#plan;
    const end = await this.#sweep(passes, order, order.from.tcp, this.#progress);
    return this.#held ?? end;
  }

  /** Runs passes from a mark on, and repeats what an outage swallows. */
  #sweep(
    passes: readonly Pass[],
    order: TargetOrder,
    from: Mark,
    progress: PassProgress,
  ): Promise<Mark> {
    const { gapMs } = this.#plan;
    const { io: { clock } } = this.#options;
    return runRepeatedly(this.#tables, clock, from, {
      run: async (start, signal) => {
        const visitor = this.#visitor = this.#newVisitor(signal, progress);
        this.#history = this.#historyFrom(start);
        const options = { passes, order, from: start, gapMs, clock, signal, progress };
        return await runPasses(options, visitor);
      },
      before: (time) => this.#history.before(time),
      forget: (time) => {
        for (const { protocol, endpoint, at } of this.#slow) {
          if (at >= time) this.#others.get(protocol)!.delete(endpoint);
        }
      },
    });
  }

  /** Runs passes of an adaptive scan. */
  async runPlanned(passes: readonly Pass[], number: number): Promise<void> {
    const { io: { state } } = this.#options;
    state.tcp.passes = number;
    await this.#sweep(passes, { seed: undefined }, START, {
      begin: (pass, { position }, size) =>
        this.#progress.begin(pass, { pass: number, position }, size),
      note: (visited, sent) => this.#progress.note(visited, sent),
    });
  }

  #named(name: string): Protocol {
    return this.#options.targets.protocols.find((protocol) => protocol.name === name)!;
  }

  /** Connects to a target and queries it; false when a resumed scan must repeat the visit. */
  async #visit(protocol: Protocol, target: Endpoint): Promise<boolean> {
    const { optedOut, signals } = this.#tables;
    const isWhole = await signals.run(
      target.address,
      (signal) =>
        this.#exchange(protocol, target, { ...this.#parts.connections.sweepLink, signal }),
    );
    this.#record();
    if (isWhole || !optedOut.has(target.address)) return isWhole;
    this.#options.io.state.tcp.counts.cancelled++;
    return true;
  }

  /** Records the progress when a visit ends. */
  #record(): void {
    const { mark } = this.#visitor!;
    if (mark !== undefined) {
      this.#history.record(mark.pass, mark.position, this.#options.io.clock.now());
    }
  }

  /** Connects to a target and queries it; false when the visit was cancelled. */
  async #exchange(
    protocol: Protocol,
    target: Endpoint,
    link: StreamLinkOptions,
  ): Promise<boolean> {
    const { counts } = this.#options.io.state.tcp;
    const outcome = await this.#parts.connections.visit(target, protocol.name, async () => {
      const stream = await dial(target, link);
      if (stream !== "cancelled") this.#note(target, stream !== "exhausted");
      if (typeof stream === "string") return stream;
      counts.open++;
      return await this.#query(protocol, target, stream, link);
    });
    if (outcome === "cancelled") return false;
    if (typeof outcome === "string") {
      counts[outcome === "exhausted" ? "failed" : outcome]++;
      return true;
    }
    this.#judge(protocol, target, outcome);
    return outcome.kind !== "cancelled";
  }

  /** Records whether a target was probed. The mark stays before targets that were never probed. */
  #note(target: Endpoint, probed: boolean): void {
    if (probed) this.#unprobed.delete(target);
    else this.#unprobed.add(target);
    this.#held = this.#unprobed.size === 0 ? undefined : this.mark;
    this.#options.io.state.tcp.unprobed = this.#unprobed.size;
  }

  /**
   * Removes the unprobed targets of an address that opted out, because no pass visits them again.
   */
  #forgetUnprobed(address: Address): void {
    if (this.#unprobed.size === 0) return;
    const { targets: { protocols, ports }, io: { state } } = this.#options;
    for (const { name } of protocols.filter(({ transport }) => transport === "tcp")) {
      for (const port of ports(name, family(address))) this.#unprobed.delete({ address, port });
    }
    if (this.#unprobed.size === 0) this.#held = undefined;
    state.tcp.unprobed = this.#unprobed.size;
  }

  #query(
    protocol: Protocol,
    target: Endpoint,
    stream: Stream,
    link: StreamLinkOptions,
  ): Promise<Outcome<unknown>> {
    const { targets, io: { clock, random } } = this.#options;
    return queryWithRetries(protocol, {
      endpoint: target,
      open: () => Promise.resolve(new StreamLink(target, link, stream)),
      exclusive: true,
      ...sentTo(targets, target),
      statusOnly: true,
      timeoutMs: Infinity, // the link has its own time limits
      stopsWithoutFirstReply: true,
    }, { retries: 0, clock, signal: link.signal, nonce: () => nonceOf(random) });
  }

  /**
   * Queues a sighting. If the endpoint has already replied over UDP, the sighting is only searched
   * for an opt-out.
   */
  #take(sighting: Sighting): void {
    const { optOuts, admission } = this.#parts;
    if (this.#tables.responders.add(sighting.endpoint)) admission.push(sighting);
    else optOuts.take(sighting);
  }

  #addSlow({ name: protocol }: Protocol, endpoint: Endpoint): void {
    const at = this.#options.io.clock.now();
    this.#others.get(protocol)!.add(endpoint);
    this.#slow.push({ protocol, endpoint, at });
    if (at - this.#slow[0].at <= 2 * KEPT_MARKS_MS) return;
    this.#slow = this.#slow.filter((one) => at - one.at <= KEPT_MARKS_MS);
  }

  /** Whether a target is a server that has replied in a protocol or a sibling before. */
  #isKnown(protocol: Protocol, target: Endpoint): boolean {
    return isKnownFor(protocol, this.#tables.known.spokenBy(target));
  }

  #judge(protocol: Protocol, target: Endpoint, outcome: Outcome<unknown>): void {
    const { clock, state: { tcp: { counts } } } = this.#options.io;
    switch (outcome.kind) {
      case "replied":
        if (protocol.isWeak?.(outcome.status, this.#isKnown(protocol, target))) {
          counts.invalid++;
          this.#others.get(protocol.name)!.add(target);
          break;
        }
        counts.valid++;
        this.#take({
          endpoint: target,
          protocol: protocol.name,
          status: outcome.status,
          raw: outcome.raw,
          latencyMs: outcome.latencyMs,
          verified: true,
          at: clock.now(),
          socket: -1,
        });
        break;
      case "malformed":
        counts.invalid++;
        this.#others.get(protocol.name)!.add(target);
        break;
      case "noReply":
        counts[CLOSED.has(outcome.why) ? "closed" : "unresponsive"]++;
        // TCP resends lost packets. A host that did not reply in this time is therefore not probed
        // again.
        if (outcome.why === "slow") this.#addSlow(protocol, target);
    }
  }
}
