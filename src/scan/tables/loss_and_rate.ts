/**
 * Measures packet loss while a scan runs, and searches for the highest rate without more loss.
 *
 * @module
 */
import type { Address } from "../../core/address.ts";
import type { ProbeSocket, Throttle } from "../../net/mod.ts";
import { Canaries, LossTally, PassTally, type ProbeKind, RateSearch } from "../../sweep/mod.ts";
import type { Sighting } from "../../core/record.ts";
import { seedOf } from "../setup/random_numbers.ts";
import { networkOf } from "../../targets/shards.ts";
import { canaryBudget } from "../setup/adaptive_setup.ts";
import type { ScanSetup } from "../setup/scan_setup.ts";
import type { ScanTables } from "./scan_tables.ts";

/** Number of canary probes per probe of the sweep: one in a hundred. */
const CANARY_SHARE = 0.01;
/**
 * Number of canary probes per second during a rate search, and the limits of their number per probe
 * of the sweep.
 */
const SEARCH_CANARY_RATE = 200;
const MIN_SEARCH_SHARE = 0.05;
const MAX_SEARCH_SHARE = 0.1;
/** Minimum time between two canary probes to one server, milliseconds. */
const GAP_MS = 2000;
/** Minimum time between two canary probes to one server during a rate search, milliseconds. */
const SEARCH_GAP_MS = 1000;
/** Longest timeout of a canary probe, milliseconds. */
const LATEST_MS = 5000;
/** Interval between two measurements, milliseconds. */
const INTERVAL_MS = 20;
/** After a gap of at least this length between two measurements, the process was stalled, milliseconds. */
const STALL_MS = 100;

/** The objects of the scan that the measurement uses. */
export interface LossAndRateDependencies {
  /** The sockets of the sweep. */
  readonly sockets: readonly ProbeSocket[];
  /** The rate limit and the caps. */
  readonly throttle: Throttle;
  /** The probes of all protocols. */
  readonly kinds: readonly ProbeKind[];
}

/** Measures packet loss with canary probes, and runs the rate search if the user requested it. */
export class LossAndRate {
  readonly canaries: Canaries;
  /** The canaries of the sweep over TCP, which runs at the same time. */
  readonly portCanaries: Canaries;
  /** Counts the servers that each of the first two passes found. */
  readonly passes: PassTally;
  /** Counts the open ports that each of the first two passes over TCP found. */
  readonly portPasses: PassTally;
  /** Names of the protocols that are probed over TCP. */
  readonly #overTcp: ReadonlySet<string>;
  readonly #options: ScanSetup;
  readonly #dependencies: LossAndRateDependencies;
  readonly #kinds: ReadonlyMap<string, ProbeKind>;
  #search: RateSearch | undefined;
  /** State of the last measurement: time, packets granted, and times that a buffer was full. */
  #measuredAt = -Infinity;
  #stalled = false;
  #granted = 0;
  #full = 0;

  /** Starts without canaries. It starts the rate search if `--rate auto` was given. */
  constructor(options: ScanSetup, tables: ScanTables, dependencies: LossAndRateDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    const { io: { clock, state, random }, limits: { cooldownMs } } = options;
    const { throttle } = dependencies;
    const { tokens, optedOut, floods, interviewed } = tables;
    const spent = canaryCounts(options);
    const isExcluded = (address: Address) =>
      optedOut.has(address) || floods.has(address) || spent?.isSpent(address) === true;
    this.#kinds = new Map(dependencies.kinds.map((kind) => [kind.protocol, kind]));
    this.#search = this.#begin(clock.now());
    this.passes = new PassTally(state.canaries);
    this.portPasses = new PassTally(state.canaries);
    const overTcp = options.targets.protocols.filter(({ transport }) => transport === "tcp");
    this.#overTcp = new Set(overTcp.map(({ name }) => name));
    const tally = new LossTally(state.canaries);
    const newCanaries = () =>
      new Canaries({
        tokens,
        clock,
        share: CANARY_SHARE,
        seed: seedOf(random),
        tally,
        gapMs: this.#search === undefined ? GAP_MS : SEARCH_GAP_MS,
        timeoutMs: Math.min(LATEST_MS, Math.max(GAP_MS, cooldownMs)),
        mayProbe: (endpoint) =>
          isExcluded(endpoint.address) ? "never" : interviewed.has(endpoint) ? "later" : "yes",
        lastTo: (address) => throttle.lastTo(address),
        onSent: spent && (({ address }) => spent.add(address)),
        onReply: ({ address }) => tables.network.prove(address),
        onOutcome: (lost, sentAt) => this.#search?.outcome(lost, sentAt),
      });
    [this.canaries, this.portCanaries] = [newCanaries(), newCanaries()];
    this.#publishSearch();
  }

  #begin(now: number): RateSearch | undefined {
    const { autoRate, rates } = this.#options.limits;
    if (autoRate === undefined) return undefined;
    const { most } = autoRate;
    const search = new RateSearch({ start: rates.rate ?? most, most }, now);
    this.#dependencies.throttle.setRate(search.rate, now);
    return search;
  }

  /**
   * Adds a server with a row to the canaries, if its reply repeated the token.
   *
   * @param protocols The protocols in which the server replied.
   */
  add(sighting: Sighting, protocols: readonly string[]): void {
    const { protocol, endpoint, verified, at, latencyMs } = sighting;
    const kind = this.#kinds.get(protocol);
    if (kind === undefined || !verified) return;
    const canaries = this.#overTcp.has(protocol) ? this.portCanaries : this.canaries;
    canaries.add(kind, endpoint);
    // Without a round trip it is unknown which pass sent the probe. By their time of arrival, slow replies
    // to the first pass would count for the second one, as if packets were lost.
    if (latencyMs === undefined) return;
    // The second pass skips servers that were found over TCP meanwhile.
    const isOverTcp = protocols.some((name) => this.#overTcp.has(name));
    if (!isOverTcp) this.passes.add(protocol, at - latencyMs);
  }

  /** Evaluates the canary probes and adjusts the rate, at most every 20 ms. */
  update(): void {
    const now = this.#options.io.clock.now();
    const ms = now - this.#measuredAt;
    if (ms < INTERVAL_MS) return;
    this.#measuredAt = now;
    this.#stalled = ms > STALL_MS && !this.#stalled;
    if (this.#stalled) return; // replies that arrived meanwhile are read first
    this.canaries.settle();
    this.portCanaries.settle();
    const search = this.#search;
    if (search === undefined) return;
    const { throttle } = this.#dependencies;
    const [granted, full] = [throttle.granted, this.#countFull()];
    const [sent, refused] = [granted - this.#granted, full - this.#full];
    [this.#granted, this.#full] = [granted, full];
    const isTcpOnly = this.#overTcp.size === this.#options.targets.protocols.length;
    const { earlyTimeoutMs } = isTcpOnly ? this.portCanaries : this.canaries;
    if (search.step(now, sent, refused, earlyTimeoutMs)) {
      throttle.setRate(search.rate, now);
    }
    this.#publishSearch();
  }

  /** Number of times that a send or receive buffer was full. */
  #countFull(): number {
    const { sockets } = this.#dependencies;
    let sum = sockets.reduce((all, { dropped }) => all + dropped, 0);
    for (const { send, waits } of new Set(sockets.map(({ errors }) => errors))) {
      for (const code of ["ENOBUFS", "EAGAIN"]) {
        sum += (send.get(code) ?? 0) + (waits.get(code) ?? 0);
      }
    }
    return sum;
  }

  /** Sets the share of canary probes that the search needs, and publishes its report. */
  #publishSearch(): void {
    const search = this.#search;
    if (search === undefined) return;
    const wanted = Math.min(
      MAX_SEARCH_SHARE,
      Math.max(MIN_SEARCH_SHARE, SEARCH_CANARY_RATE / search.rate),
    );
    for (const canaries of [this.canaries, this.portCanaries]) {
      canaries.share = search.needsCanaries ? wanted : CANARY_SHARE;
    }
    this.#options.io.state.rate = search.report;
  }

  /** Forgets what an outage of the scan's own network has disturbed. The rate search begins again. */
  forget(): void {
    this.canaries.forget();
    this.portCanaries.forget();
    this.passes.forget();
    this.portPasses.forget();
    this.#search = this.#begin(this.#options.io.clock.now());
    this.#publishSearch();
  }

  /** Ends the measurement when the sweep over UDP has ended. */
  end(): void {
    this.canaries.end();
  }

  /** Ends the measurement when the sweep over TCP has ended. */
  endPorts(): void {
    this.portCanaries.end();
  }
}

/** Counts canary probes by network in an adaptive scan, whose networks have a budget. */
function canaryCounts({ adaptive }: ScanSetup) {
  if (adaptive === undefined) return undefined;
  const most = canaryBudget(adaptive.netBudget);
  const counts = new Map<Address, number>();
  return {
    isSpent: (address: Address) => (counts.get(networkOf(address)) ?? 0) >= most,
    add(address: Address) {
      const network = networkOf(address);
      counts.set(network, 1 + (counts.get(network) ?? 0));
    },
  };
}
