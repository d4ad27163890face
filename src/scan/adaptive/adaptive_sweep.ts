/**
 * The sweep of an adaptive scan: plans a pass, probes it over UDP and TCP, waits for late replies,
 * records what was found, and plans the next pass from it.
 *
 * @module
 */
import type { DiscoveryPass, PassInput } from "../../discovery/mod.ts";
import type { Pass } from "../../sweep/mod.ts";
import { sleep } from "../../net/clock.ts";
import type { Marks } from "../setup/low_water_mark.ts";
import { inPassOrder } from "../plan/pass_plan.ts";
import type { SightingQueue } from "../inspect_stage/sighting_queue.ts";
import type { ScanSetup } from "../setup/scan_setup.ts";
import type { ScanTables } from "../tables/scan_tables.ts";
import type { AdaptiveEnd, AdaptiveReport } from "../setup/adaptive_report.ts";
import {
  type AdaptiveScan,
  budgetProbes,
  passProbes,
  UNLIMITED_RATE,
} from "../setup/adaptive_setup.ts";
import { DiscoveredServers } from "../tables/discovered_servers.ts";
import { formatPassRecord } from "./pass_record.ts";

export { DiscoveredServers };

import { type Endpoint, endpointKey } from "../../core/address.ts";

/** Maximum time for late replies between two passes; later replies count for the next pass. */
const BETWEEN_PASSES_MS = 2000;
/** A cap per /24 and one per host allow at least this many probes in a pass. */
const MIN_PER_NETWORK = 64;
const MIN_PER_HOST = 16;
/** Assumed loss until enough canaries were probed, per mille. */
const USUAL_LOSS = 24;
/** Number of canary probes after which their loss is used. */
const ENOUGH_CANARIES = 1000;

/** Fewer probes than this, one to each /24 of a /20, may be too few for any part of a plan. */
const MIN_PROBES = 16;

/** Pause while the queue of interviews is full, milliseconds. */
const PAUSE_MS = 10;

/** Probes planned passes over one transport. */
export interface PlannedSweep {
  /** Runs passes one after the other, and waits up to `cooldownMs` for late replies. */
  runPlanned(passes: readonly Pass[], number: number, cooldownMs: number): Promise<void>;
  /** Ends the measurements after the last pass. */
  endPlanned(): void;
}

/** The objects of the scan that the adaptive sweep uses, apart from the tables. */
export interface AdaptiveSweepDependencies {
  readonly udp: PlannedSweep;
  readonly tcp: PlannedSweep;
  /** The queue of servers to interview. */
  readonly sightings: Pick<SightingQueue, "add" | "isFull">;
  /** The servers of the open pass. */
  readonly found: DiscoveredServers;
}

/** Runs the passes of an adaptive scan. */
export class AdaptiveSweep {
  readonly #adaptive: AdaptiveScan;
  readonly #options: ScanSetup;
  readonly #tables: Pick<ScanTables, "stop">;
  readonly #dependencies: AdaptiveSweepDependencies;
  readonly #report: AdaptiveReport;
  readonly #endsAt: number;
  /** When the scan would have begun if it had run without interruptions. */
  readonly #begunAt: number;

  /** Prepares the passes. {@linkcode run} probes them. */
  constructor(
    adaptive: AdaptiveScan,
    options: ScanSetup,
    tables: Pick<ScanTables, "stop">,
    dependencies: AdaptiveSweepDependencies,
  ) {
    this.#adaptive = adaptive;
    this.#options = options;
    this.#tables = tables;
    this.#dependencies = dependencies;
    const { budget, earlier, discovery: { evenSweep } } = adaptive;
    const { clock, state } = options.io;
    this.#begunAt = clock.now() - (earlier.at(-1)?.elapsedMs ?? 0);
    this.#endsAt = "ms" in budget ? this.#begunAt + budget.ms : Infinity;
    this.#report = state.adaptive = {
      spent: 0,
      budget: "ms" in budget ? undefined : budgetProbes(budget, { evenSweep, rate: undefined }),
      evenSweep,
      found: 0,
      recentYield: 0,
      level: 0,
      estimates: [],
      endedHosts: 0,
      endedNetworks: 0,
    };
    const { limits: { rates: { rate } } } = options;
    state.total = budgetProbes(budget, { evenSweep, rate });
    this.#publish();
  }

  /** Runs passes until the budget is used up; returns the marks after them. */
  async run(): Promise<Marks> {
    try {
      return await this.#runPasses();
    } finally {
      this.#dependencies.udp.endPlanned();
      this.#dependencies.tcp.endPlanned();
    }
  }

  async #runPasses(): Promise<Marks> {
    const { order: { from }, limits: { cooldownMs }, io: { clock, state } } = this.#options;
    const { discovery } = this.#adaptive;
    const { sweepSignal: signal } = this.#tables.stop;
    await this.#interviewWithoutRow();
    let isFirst = true;
    while (!signal.aborted) {
      const input = this.#nextInput(await this.#mostProbes());
      if (signal.aborted) break;
      const pass = this.#end() ?? discovery.plan(input);
      if (typeof pass === "string" || pass.probes === 0) {
        const isRest = input.probes < MIN_PROBES;
        this.#report.ended = typeof pass === "string" ? pass : isRest ? "budget" : "nothing-left";
        if (state.firstProbeAt !== undefined) {
          await sleep(clock, Math.max(0, cooldownMs - BETWEEN_PASSES_MS), signal);
        }
        const last = { pass: discovery.next + 1, position: 0 };
        return { udp: last, tcp: last };
      }
      this.#report.level = 1e6 * pass.level;
      if (isFirst) this.#addWritten(pass);
      isFirst = false;
      await this.#probe(pass);
      if (signal.aborted) break;
      const found = this.#dependencies.found.take();
      const { number, digest } = pass;
      const elapsedMs = Math.round(clock.now() - this.#begunAt);
      const line = formatPassRecord({ pass: number, input, digest, found, elapsedMs });
      await this.#options.io.checkpoint?.passed?.(line);
      discovery.fold(found);
      this.#publish();
    }
    return from;
  }

  /** Why no further pass is planned; `undefined`: one is. */
  #end(): AdaptiveEnd | undefined {
    const { discovery: { spent, recentYield, next }, stopBelow } = this.#adaptive;
    if (spent >= (this.#report.budget ?? Infinity)) return "budget";
    if (this.#options.io.clock.now() >= this.#endsAt) return "budget";
    return next >= 2 && recentYield < stopBelow ? "stop-below" : undefined;
  }

  /** Waits until the next pass may begin. Returns its maximum number of probes. */
  async #mostProbes(): Promise<number> {
    const { beforePass } = this.#options.hooks ?? {};
    if (beforePass === undefined) return Infinity;
    const { spent } = this.#adaptive.discovery;
    return await beforePass({ spent, probes: this.#nextInput(Infinity).probes });
  }

  /**
   * What the next pass is planned with.
   *
   * @param most Maximum number of its probes.
   */
  #nextInput(most: number): PassInput {
    const { limits: { rates: { rate, netRate, hostRate } }, io: { state } } = this.#options;
    const { spent, evenSweep } = this.#adaptive.discovery;
    const now = state.rate?.rate ?? rate ?? UNLIMITED_RATE;
    const inTime = Math.ceil((this.#endsAt - this.#options.io.clock.now()) / 1000 * now);
    const left = Math.min((this.#report.budget ?? Infinity) - spent, inTime);
    const probes = Math.max(1, Math.min(most, left, passProbes(spent, { evenSweep, rate: now })));
    const seconds = probes / now;
    const within = (cap: number | undefined, least: number) =>
      cap === undefined ? Infinity : Math.max(least, Math.floor(cap * seconds));
    const { sent, lost } = state.canaries;
    // A resumed scan keeps what earlier runs measured, until it has measured enough itself.
    const before = this.#adaptive.earlier.at(-1)?.input.lossPerMille ?? USUAL_LOSS;
    return {
      probes,
      perNetwork: within(netRate, MIN_PER_NETWORK),
      perHost: within(hostRate, MIN_PER_HOST),
      lossPerMille: sent < ENOUGH_CANARIES ? before : Math.min(999, Math.round(1000 * lost / sent)),
    };
  }

  /**
   * Interviews the servers that closed passes of earlier runs found, and that have no row yet. The
   * runs ended before these rows were written.
   */
  async #interviewWithoutRow(): Promise<void> {
    const { earlier, protocols } = this.#adaptive;
    const { targets: { responders, protocols: all }, io: { clock } } = this.#options;
    const { sightings } = this.#dependencies;
    const { sweepSignal: signal } = this.#tables.stop;
    const written = new Set([...responders].map(endpointKey));
    for (const { found } of earlier) {
      for (const [i, { hits }] of found.entries()) {
        const protocol = protocols[i];
        const plan = { known: [protocol.name], probed: [protocol], all, interviewed: true };
        for (const { address, port } of hits) {
          const endpoint = { address, port };
          if (written.has(endpointKey(endpoint))) continue;
          while (sightings.isFull && !signal.aborted) await sleep(clock, PAUSE_MS, signal);
          if (signal.aborted) return;
          sightings.add({ endpoint, plan, onFinished: () => {} });
        }
      }
    }
  }

  /** Counts the rows that an earlier run wrote in the open pass as servers that the pass found. */
  #addWritten({ protocols: passes }: DiscoveryPass): void {
    const { earlier, protocols, discovery } = this.#adaptive;
    const known = new Set(
      earlier.flatMap(({ found }) => found.flatMap(({ hits }) => hits.map(endpointKey))),
    );
    const fresh = [...this.#options.targets.responders].filter((one) =>
      !known.has(endpointKey(one))
    );
    if (fresh.length === 0) return;
    const spaces = passes.map((pass) => pass.space());
    // a late reply in the open pass may be from an earlier one
    const isProbed = (i: number, { address, port }: Endpoint) =>
      spaces[i].has({ address, port }) || discovery.wasProbed(i, address, port);
    this.#dependencies.found.addWritten(
      fresh,
      (endpoint) => protocols.find((_, i) => isProbed(i, endpoint))?.name,
    );
  }

  /** Probes a pass over both transports at the same time, and waits for late replies. */
  async #probe({ number, protocols }: DiscoveryPass): Promise<void> {
    const { limits: { cooldownMs } } = this.#options;
    const waitMs = Math.min(cooldownMs, BETWEEN_PASSES_MS);
    const passes = protocols.map((planned, i) => ({
      protocol: this.#adaptive.protocols[i],
      pass: {
        protocol: this.#adaptive.protocols[i].name,
        segments: [],
        number,
        planned: () => planned.space(),
      },
      isEmpty: planned.probes === 0,
    }));
    await Promise.all((["udp", "tcp"] as const).map(async (transport) => {
      const own = inPassOrder(this.#adaptive.protocols, this.#options.targets).flatMap((one) =>
        passes.filter(({ protocol, isEmpty }) =>
          protocol === one && protocol.transport === transport && !isEmpty
        )
      );
      if (own.length === 0) return;
      await this.#dependencies[transport].runPlanned(
        own.map(({ pass }) => pass),
        number + 1,
        waitMs,
      );
    }));
  }

  /** Publishes what the discovery knows. */
  #publish(): void {
    const { discovery, protocols } = this.#adaptive;
    const { spent, found, recentYield } = discovery;
    const estimates = protocols.flatMap(({ name }, i) => {
      const estimate = discovery.estimate(i);
      return estimate === undefined ? [] : [{ protocol: name, estimate }];
    });
    const { ended } = this.#dependencies.found;
    Object.assign(this.#report, { spent, found, recentYield, estimates, ...ended });
    this.#options.io.state.visited = spent;
  }
}
