/**
 * The UDP passes of a scan. The first ones are detecting passes, which only find servers of protocols
 * that suppress others. The passes of the scan follow, and then repetitions of passes that floods
 * disturbed.
 *
 * @module
 */
import type { DatagramSocket, Throttle } from "../../net/mod.ts";
import {
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
import { sleep } from "../../net/clock.ts";
import type { SightingQueue } from "../inspect_stage/sighting_queue.ts";
import type { PassPlan } from "../plan/pass_plan.ts";
import type { ScanSetup } from "../setup/scan_setup.ts";
import type { ScanTables } from "../tables/scan_tables.ts";
import type { LossAndRate } from "../tables/loss_and_rate.ts";
import type { SkippedTargets } from "./skipped_targets.ts";
import { TransportProgress } from "./transport_progress.ts";

/** The objects of the scan that UDP passes use, apart from the tables. */
export interface UdpSweepDependencies {
  /** The sockets that send probes, of one or both address families. */
  readonly sockets: readonly DatagramSocket[];
  /** The rate limit and the caps. */
  readonly throttle: Throttle;
  /** Limits the probes in flight. */
  readonly window: ProbeWindow;
  readonly skipped: SkippedTargets;
  /** The queue of sightings; the sweep waits while it is full. */
  readonly sightings: SightingQueue;
  /** Measures the loss and adjusts the rate. */
  readonly lossAndRate: LossAndRate;
}

/**
 * Maximum number of repetitions of disturbed passes, including those of earlier runs of the scan.
 */
const MAX_FURTHER = 2;

/** The start of the first pass. */
const START: Mark = { pass: 1, position: 0 };

/** The options of one run of passes. */
type SweepRun = Pick<SweepOptions, "progress"> & Partial<Pick<SweepOptions, "cooldownMs">>;

/** Runs the UDP passes of a scan. */
export class UdpSweep {
  readonly #options: ScanSetup;
  readonly #plan: PassPlan;
  readonly #tables: ScanTables;
  readonly #dependencies: UdpSweepDependencies;
  #history: MarkHistory;
  readonly #progress: TransportProgress;
  #isCut = false;

  /** Prepares the passes. {@linkcode run} sends the probes. */
  constructor(
    options: ScanSetup,
    plan: PassPlan,
    tables: ScanTables,
    dependencies: UdpSweepDependencies,
  ) {
    this.#options = options;
    this.#plan = plan;
    this.#tables = tables;
    this.#dependencies = dependencies;
    this.#history = this.#historyFrom(options.order.from.udp);
    this.#progress = new TransportProgress(options, "udp");
  }

  /**
   * The low-water mark. All targets before the mark were probed, and had the time of a cooldown to
   * reply.
   */
  get mark(): Mark {
    const { limits: { cooldownMs }, io: { clock } } = this.#options;
    return this.#history.settled(
      Math.min(clock.now(), this.#tables.network.sureUntil + cooldownMs),
    );
  }

  #historyFrom(mark: Mark): MarkHistory {
    const { limits: { cooldownMs }, io: { clock } } = this.#options;
    return new MarkHistory(mark, clock.now(), cooldownMs, cooldownMs + KEPT_MARKS_MS);
  }

  /** Whether repetitions of disturbed passes are left. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** Runs all passes; returns the mark of the scan's passes. */
  async run(): Promise<Mark> {
    const { floods, stop } = this.#tables;
    const { udp: from } = this.#options.order.from;
    const { udp: passes } = this.#plan;
    if (passes.length === 0) return from;
    if (this.#plan.detectionPasses.length > 0) await this.#detectSuppressors();
    try {
      const mark = await this.#sweep(passes, from, (start, history) => {
        this.#history = history;
        return { progress: this.#publish(start, passes) };
      });
      if (!stop.sweepSignal.aborted) {
        floods.end();
        this.#dependencies.lossAndRate.passes.end();
      }
      this.#isCut = await this.#repeatDisturbed();
      return mark;
    } finally {
      this.#dependencies.lossAndRate.end();
    }
  }

  /** Runs passes of an adaptive scan, and waits for late replies. */
  async runPlanned(passes: readonly Pass[], number: number, cooldownMs: number): Promise<void> {
    const { floods } = this.#tables;
    const { state } = this.#options.io;
    this.#dependencies.skipped.isFirst = number === 1;
    await this.#sweep(passes, START, () => ({
      cooldownMs,
      progress: this.#progressOf((pass, { position }, size) => {
        floods.begin(pass.protocol);
        state.passes = number;
        this.#progress.begin(pass, { pass: number, position }, size);
      }),
    }));
  }

  /** Ends the passes of an adaptive scan. */
  endPlanned(): void {
    this.#tables.floods.end();
    this.#dependencies.lossAndRate.end();
  }

  /**
   * Runs passes from a mark on, and repeats what an outage swallows.
   *
   * @param options Returns the options of the run that begins at a mark.
   */
  #sweep(
    passes: readonly Pass[],
    from: Mark,
    options: (from: Mark, history: MarkHistory) => SweepRun,
  ): Promise<Mark> {
    const { limits: { cooldownMs }, io: { clock } } = this.#options;
    let history = this.#historyFrom(from);
    return runRepeatedly(this.#tables, clock, from, {
      run: async (start, signal) => {
        history = this.#historyFrom(start);
        const shared = { ...this.#sweepOptions(), signal, passes, from: start, history };
        return await sweep({ ...shared, ...options(start, history) });
      },
      before: (time) => history.before(time - cooldownMs),
      forget: () => this.#dependencies.lossAndRate.forget(),
    });
  }

  #sweepOptions(): Omit<SweepOptions, "passes" | "from" | "progress" | "signal"> {
    const { order, limits: { cooldownMs }, io: { clock, threads } } = this.#options;
    const { tokens, filter, floods, stop } = this.#tables;
    const { sockets, throttle, window, skipped, sightings, lossAndRate } = this.#dependencies;
    const { state } = this.#options.io;
    return {
      kinds: this.#plan.allKinds,
      order,
      gapMs: this.#plan.gapMs,
      cooldownMs,
      sockets,
      threads,
      throttle,
      window,
      tokens,
      canaries: lossAndRate.canaries,
      clock,
      waitSignal: stop.sweepSignal,
      skipsCooldown: () => stop.skipsCooldown,
      filter,
      skip: (targets, i, protocol) => skipped.hasAt(targets, i, protocol),
      mayProbeAgain: () => state.inspecting > 0,
      isBusy: () => state.inspecting > 0 || state.tcp.passes > 0,
      backlogged: () => sightings.isFull || floods.pauses(clock.now()),
    };
  }

  /** Runs the detecting passes. */
  async #detectSuppressors(): Promise<void> {
    const { detectionPasses: passes, gapMs } = this.#plan;
    const { suppression } = this.#tables;
    const { retries } = this.#options.limits;
    suppression.isDetecting = true;
    await this.#sweep(passes, START, () => ({
      cooldownMs: gapMs,
      progress: this.#progressOf((_, { pass }, size) => {
        this.#dependencies.skipped.isFirst = (pass - 1) % (retries + 1) === 0;
        this.#progress.begin(undefined, { pass: 0, position: 0 }, size);
      }),
    }));
    suppression.isDetecting = false;
  }

  /** Publishes the progress of the scan's passes. */
  #publish(from: Mark, passes: readonly Pass[]): PassProgress {
    const { floods, suppression } = this.#tables;
    return this.#progressOf((pass, mark, size) => {
      const { protocol } = pass;
      floods.begin(protocol, mark.pass === from.pass && mark.position > 0);
      suppression.begin(protocol);
      const isFirst = passes.find((one) => one.protocol === protocol) === pass;
      this.#dependencies.skipped.isFirst = isFirst;
      const now = this.#options.io.clock.now();
      this.#dependencies.lossAndRate.passes.begin(protocol, now, isFirst && mark.position === 0);
      this.#progress.begin(pass, mark, size);
    });
  }

  #progressOf(begin: PassProgress["begin"]): PassProgress {
    const { state } = this.#options.io;
    return {
      begin,
      note: (visited, sent, refused) => {
        this.#progress.note(visited, sent);
        state.refused += refused;
        this.#dependencies.lossAndRate.update();
      },
    };
  }

  /**
   * Probes unresponsive targets again in each protocol in which floods disturbed every pass. It
   * does so up to twice, and at most as often as retries are allowed. Hosts that flooded are
   * skipped.
   *
   * @returns Whether repetitions are left, because the sweep was stopped.
   */
  async #repeatDisturbed(): Promise<boolean> {
    const { limits: { retries }, io: { clock, state } } = this.#options;
    const { floods, stop: { sweepSignal: signal } } = this.#tables;
    for (;;) {
      const passes = disturbedPasses(this.#plan.udp, state.floods.disturbed);
      if (passes.length === 0 || state.floods.passes.further >= Math.min(retries, MAX_FURTHER)) {
        return false;
      }
      if (signal.aborted) return true;
      await sleep(clock, this.#plan.gapMs, signal);
      if (signal.aborted) return true;
      floods.beginFurther();
      await this.#sweep(passes, START, () => ({
        progress: this.#progressOf(({ protocol }, _, size) => {
          floods.begin(protocol);
          Object.assign(state, { size, position: 0, total: state.total + size });
        }),
      }));
      if (!signal.aborted) floods.end();
    }
  }
}

/** One further pass for each of the given protocols, each with a new order. */
function disturbedPasses(passes: readonly Pass[], names: readonly string[]): Pass[] {
  const last = new Map(passes.map((pass) => [pass.protocol, pass]));
  return [...last.values()].filter(({ protocol }) => names.includes(protocol))
    .map((pass, i) => ({ ...pass, number: i + 1 }));
}
