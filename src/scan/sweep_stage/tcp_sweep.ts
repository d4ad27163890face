/**
 * The TCP passes of a scan: SYN packets to all targets. The ports that are open are queried apart from
 * the passes.
 *
 * @module
 */
import type { PortSocket, Throttle } from "../../net/mod.ts";
import {
  type FoundPorts,
  KEPT_MARKS_MS,
  type Mark,
  MarkHistory,
  type Pass,
  type PassProgress,
  type ProbeWindow,
  runRepeatedly,
  sweep,
  type SweepOptions,
} from "../../sweep/mod.ts";
import type { PortQueries } from "../inspect_stage/port_queries.ts";
import type { SightingQueue } from "../inspect_stage/sighting_queue.ts";
import type { PassPlan } from "../plan/pass_plan.ts";
import type { ScanSetup } from "../setup/scan_setup.ts";
import type { ScanTables } from "../tables/scan_tables.ts";
import type { LossAndRate } from "../tables/loss_and_rate.ts";
import type { SkippedTargets } from "./skipped_targets.ts";
import { pendingOf } from "../tables/socket_counts.ts";
import { TransportProgress } from "./transport_progress.ts";

/** The objects of the scan that TCP passes use, apart from the tables. */
export interface TcpSweepDependencies {
  /** The sockets that send SYN packets, of one or both address families; none without TCP passes. */
  readonly sockets: readonly PortSocket[];
  /** The rate limit and the caps of SYN packets. */
  readonly throttle: Throttle;
  /** Limits the probes in flight. */
  readonly window: ProbeWindow;
  /** The targets that are skipped, apart from open ports. */
  readonly skipped: SkippedTargets;
  /** The open ports that no pass probes again. */
  readonly foundPorts: FoundPorts;
  /** The open ports that are queried; the sweep waits while there are too many. */
  readonly queries: Pick<PortQueries, "isFull" | "size" | "onlyDeferred">;
  /** The queue of sightings; the sweep waits while it is full. */
  readonly sightings: Pick<SightingQueue, "isFull">;
  /** Measures the loss and adjusts the rate. */
  readonly lossAndRate: LossAndRate;
}

/**
 * Time after a SYN packet in which connections end, milliseconds: the longest time for their reply, and
 * late timers.
 */
const CONNECTION_MS = 1500;

/** The start of the first pass. */
const START: Mark = { pass: 1, position: 0 };

/** Runs the TCP passes of a scan. */
export class TcpSweep {
  readonly #options: ScanSetup;
  readonly #plan: PassPlan;
  readonly #tables: ScanTables;
  readonly #dependencies: TcpSweepDependencies;
  /** How long replies are awaited, milliseconds. */
  readonly #cooldownMs: number;
  readonly #progress: TransportProgress;
  #history: MarkHistory;

  /** Prepares the passes. {@linkcode run} sends the probes. */
  constructor(
    options: ScanSetup,
    plan: PassPlan,
    tables: ScanTables,
    dependencies: TcpSweepDependencies,
  ) {
    this.#options = options;
    this.#plan = plan;
    this.#tables = tables;
    this.#dependencies = dependencies;
    const { cooldownMs } = options.limits;
    this.#cooldownMs = this.#pending === undefined
      ? cooldownMs
      : Math.min(cooldownMs, CONNECTION_MS);
    this.#progress = new TransportProgress(options, "tcp");
    this.#history = this.#historyFrom(options.order.from.tcp);
  }

  /** Number of probes that wait for a reply; `undefined`: a socket does not know. */
  get #pending(): number | undefined {
    return pendingOf(this.#dependencies.sockets);
  }

  #historyFrom(mark: Mark): MarkHistory {
    const { clock } = this.#options.io;
    return new MarkHistory(mark, clock.now(), this.#cooldownMs, this.#cooldownMs + KEPT_MARKS_MS);
  }

  /**
   * The low-water mark. All targets before the mark were probed, and had time to reply.
   */
  get mark(): Mark {
    const { clock } = this.#options.io;
    const { sureUntil } = this.#tables.network;
    return this.#history.settled(Math.min(clock.now(), sureUntil + this.#cooldownMs));
  }

  /** Runs the passes; returns the mark after them. */
  async run(): Promise<Mark> {
    const { tcp: from } = this.#options.order.from;
    const { tcp: passes } = this.#plan;
    if (passes.length === 0) return from;
    const { lossAndRate } = this.#dependencies;
    const { clock } = this.#options.io;
    const mark = await this.#sweep(passes, from, this.#cooldownMs, (pass, mark, size) => {
      const isFirst = passes.find(({ protocol }) => protocol === pass.protocol) === pass;
      lossAndRate.portPasses.begin(pass.protocol, clock.now(), isFirst && mark.position === 0);
      this.#progress.begin(pass, mark, size);
    });
    if (!this.#tables.stop.sweepSignal.aborted) lossAndRate.portPasses.end();
    lossAndRate.endPorts();
    return mark;
  }

  /**
   * Runs passes of an adaptive scan, and waits for late replies and for the queries of open ports, apart
   * from those in unresponsive networks: the next pass is planned from the servers that were found.
   */
  async runPlanned(passes: readonly Pass[], number: number, cooldownMs: number): Promise<void> {
    const { state } = this.#options.io;
    await this.#sweep(passes, START, Math.min(cooldownMs, this.#cooldownMs), (pass, mark, size) => {
      state.tcp.passes = number;
      this.#progress.begin(pass, { pass: number, position: mark.position }, size);
    });
    await this.#dependencies.queries.onlyDeferred();
  }

  /** Ends the passes of an adaptive scan. */
  endPlanned(): void {
    this.#dependencies.lossAndRate.endPorts();
  }

  /** Runs passes from a mark on, and repeats what an outage swallows. */
  #sweep(
    passes: readonly Pass[],
    from: Mark,
    cooldownMs: number,
    begin: PassProgress["begin"],
  ): Promise<Mark> {
    const { clock } = this.#options.io;
    return runRepeatedly(this.#tables, clock, from, {
      run: async (start, signal) => {
        const history = this.#history = this.#historyFrom(start);
        const own = { signal, passes, from: start, history, cooldownMs };
        return await sweep({ ...this.#sweepOptions(begin), ...own });
      },
      before: (time) => this.#history.before(time - this.#cooldownMs),
      forget: () => this.#dependencies.lossAndRate.forget(),
    });
  }

  #sweepOptions(
    begin: PassProgress["begin"],
  ): Omit<SweepOptions, "passes" | "from" | "signal" | "cooldownMs"> {
    const { order, io: { clock, threads, state } } = this.#options;
    const { tokens, filter, stop } = this.#tables;
    const { sockets, throttle, window, skipped, foundPorts, queries, sightings, lossAndRate } =
      this.#dependencies;
    return {
      kinds: this.#plan.tcpKinds,
      order,
      gapMs: this.#plan.gapMs,
      sockets,
      threads: sockets.some(({ thread }) => thread !== undefined) ? threads : 0,
      throttle,
      window,
      tokens,
      canaries: lossAndRate.portCanaries,
      clock,
      waitSignal: stop.sweepSignal,
      skipsCooldown: () => stop.skipsCooldown,
      filter,
      skip: (targets, i, protocol) =>
        foundPorts.hasAt(targets, i, protocol) || skipped.hasAt(targets, i, protocol),
      mayProbeAgain: () => state.inspecting > 0 || queries.size > 0,
      isBusy: () => state.inspecting > 0 || queries.size > 0,
      backlogged: () => sightings.isFull || queries.isFull,
      isAwaiting: this.#pending === undefined ? undefined : () => this.#pending! > 0,
      progress: {
        begin,
        note: (visited, sent, refused) => {
          state.tcp.refused += refused;
          state.tcp.pending = this.#pending ?? 0;
          this.#progress.note(visited, sent);
          lossAndRate.update();
        },
      },
    };
  }
}
