/**
 * The path between us and the servers, while a scan runs: how much of what goes over it is lost, and
 * how fast it may be.
 *
 * @module
 */
import type { Address } from "../../core/address.ts";
import type { DatagramSocket } from "../../net/socket.ts";
import type { Throttle } from "../../net/throttle.ts";
import type { Sighting } from "../../core/record.ts";
import { Canaries } from "../../sweep/canaries/canaries.ts";
import { LossTally } from "../../sweep/canaries/loss_estimate.ts";
import { RateSearch } from "../../sweep/rate/rate_search.ts";
import type { ProbeKind } from "../../sweep/receiver.ts";
import { seedOf } from "../random_numbers.ts";
import type { ScanSetup } from "../scan_setup.ts";
import type { ScanTables } from "../scan_tables.ts";

/** Of a hundred probes, one more to a server that has answered. */
const SHARE = 0.01;
/** While a rate is looked for, so many a second, and this share at least and at most. */
const CURIOUS = 200;
const LEAST_CURIOUS = 0.05;
const MOST_CURIOUS = 0.1;
/** The least time between two questions to one of them, milliseconds. */
const GAP_MS = 2000;
/** The same while a rate is looked for. */
const CURIOUS_GAP_MS = 1000;
/** How late an answer may come at the most, milliseconds. */
const LATEST_MS = 5000;
/** How often it is looked what the rate does, milliseconds. */
const LOOK_MS = 20;
/** Who did not look for so long stood still, or had something else to do, milliseconds. */
const STALL_MS = 100;

/** What the rest of the scan offers. */
export interface LossAndRateParts {
  /** The sockets. */
  readonly sockets: readonly DatagramSocket[];
  /** When datagrams may leave. */
  readonly throttle: Throttle;
  /** All kinds of probes. */
  readonly kinds: readonly ProbeKind[];
}

/** Measures the path, and finds the rate that it is good for where that is wanted. */
export class LossAndRate {
  readonly canaries: Canaries;
  readonly #options: ScanSetup;
  readonly #parts: LossAndRateParts;
  readonly #kinds: ReadonlyMap<string, ProbeKind>;
  readonly #search: RateSearch | undefined;
  /** When the rate was looked at, what had left by then, and how often there was no room. */
  #looked = -Infinity;
  #stalled = false;
  #granted = 0;
  #full = 0;

  /** Nobody is asked yet. */
  constructor(options: ScanSetup, tables: ScanTables, parts: LossAndRateParts) {
    this.#options = options;
    this.#parts = parts;
    const { io: { clock, state, random }, limits: { cooldownMs } } = options;
    const { throttle } = parts;
    const { tokens, optedOut, floods, interviewed } = tables;
    const isLeftAlone = (address: Address) => optedOut.has(address) || floods.has(address);
    this.#kinds = new Map(parts.kinds.map((kind) => [kind.protocol, kind]));
    this.#search = this.#begin(clock.now());
    this.canaries = new Canaries({
      tokens,
      clock,
      share: SHARE,
      seed: seedOf(random),
      tally: new LossTally(state.canaries),
      gapMs: this.#search === undefined ? GAP_MS : CURIOUS_GAP_MS,
      lateMs: Math.min(LATEST_MS, Math.max(GAP_MS, cooldownMs)),
      mayAsk: (endpoint) =>
        isLeftAlone(endpoint.address) ? "never" : interviewed.has(endpoint) ? "later" : "yes",
      lastTo: (address) => throttle.lastTo(address),
      onOutcome: (lost, askedAt) => this.#search?.outcome(lost, askedAt),
    });
    this.#attend();
  }

  #begin(now: number): RateSearch | undefined {
    const { autoRate, rates } = this.#options.limits;
    if (autoRate === undefined) return undefined;
    const { most } = autoRate;
    const search = new RateSearch({ start: rates.rate ?? most, most }, now);
    this.#parts.throttle.setRate(search.rate, now);
    return search;
  }

  /** There is a row of a server: from now on it may be asked again, if it showed our token. */
  add({ protocol, endpoint, verified }: Sighting): void {
    const kind = this.#kinds.get(protocol);
    if (kind !== undefined && verified) this.canaries.add(kind, endpoint);
  }

  /** Looks what became of canaries, and what that means for the rate. */
  look(): void {
    const now = this.#options.io.clock.now();
    const ms = now - this.#looked;
    if (ms < LOOK_MS) return;
    this.#looked = now;
    this.#stalled = ms > STALL_MS && !this.#stalled;
    if (this.#stalled) return; // answers that came meanwhile are read first
    this.canaries.settle();
    const search = this.#search;
    if (search === undefined) return;
    const { throttle } = this.#parts;
    const [granted, full] = [throttle.granted, this.#countFull()];
    const [sent, refused] = [granted - this.#granted, full - this.#full];
    [this.#granted, this.#full] = [granted, full];
    if (search.step(now, sent, refused, this.canaries.patienceMs)) {
      throttle.setRate(search.rate, now);
    }
    this.#attend();
  }

  /** How often there was no room for a datagram on its way out, or back. */
  #countFull(): number {
    const { sockets } = this.#parts;
    let sum = sockets.reduce((all, { dropped }) => all + dropped, 0);
    for (const { send, waits } of new Set(sockets.map(({ errors }) => errors))) {
      for (const code of ["ENOBUFS", "EAGAIN"]) {
        sum += (send.get(code) ?? 0) + (waits.get(code) ?? 0);
      }
    }
    return sum;
  }

  /** Has as many asked as the search can use, and tells what it has come to. */
  #attend(): void {
    const search = this.#search;
    if (search === undefined) return;
    const wanted = Math.min(MOST_CURIOUS, Math.max(LEAST_CURIOUS, CURIOUS / search.rate));
    this.canaries.share = search.curious ? wanted : SHARE;
    this.#options.io.state.rate = search.report;
  }

  /** The sweep is over. */
  end(): void {
    this.canaries.end();
  }
}
