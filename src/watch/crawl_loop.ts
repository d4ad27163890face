/**
 * Decides when a crawl polls each server, and how many probes are left for discovery: see
 * `src/discovery/freshness.ts`.
 *
 * @module
 */
import { DAY_MS } from "../core/quantities.ts";
import {
  changeRate,
  jitterOf,
  type LastProbe,
  MIN_REPROBE_MS,
  type RecentYield,
  reprobeMs,
  reprobeScale,
  unchangedChance,
} from "../discovery/mod.ts";
import { sleep } from "../net/clock.ts";
import type { PollLoopOptions, ServerLoop } from "./poll_loop.ts";
import { MIN_INTERVAL_MS } from "./schedule.ts";
import type { WatchedServer } from "./watched_server.ts";

/** Time between two choices of the servers to poll, milliseconds. */
const SLICE_MS = 30_000;
/** Time between the failed polls of an online server: two more fit into 10 minutes, milliseconds. */
const CONFIRM_MS = 0.4 * MIN_REPROBE_MS;
/** Unused probes of known servers are kept for this time, milliseconds. */
const KEPT_MS = 3_600_000;
/** Share of the budget of a day that is kept for discovery at most. */
const MAX_LEFT_SHARE = 1 / 12;
/** Share of the budget that discovery gets at least, as long as its yield is unknown, and later. */
const MIN_DISCOVERY = { unsure: 0.1, sure: 0.01 };

/** The budget of a crawl, and its discovery. */
export interface CrawlOptions {
  /** Probes per day, of known servers and of discovery. */
  readonly perDay: number;
  /** The yield of discovery. */
  readonly recentYield: Pick<RecentYield, "perProbe" | "isSure">;
  /**
   * Finds servers with at most a number of probes. Returns how many it has used. Must not reject.
   * `undefined`: known servers may use the whole budget.
   */
  readonly discover: ((probes: number) => Promise<number>) | undefined;
  /** Minimum number of probes of a discovery. */
  readonly minDiscovery: number;
}

/** How well the states of the known servers are known. */
export interface Freshness {
  /** Number of known servers. */
  readonly servers: number;
  /** Expected share of servers whose state has not changed since the last probe, 0 to 1. */
  readonly believed: number;
  /** The time since the last probe of a server, milliseconds: the median. */
  readonly medianMs: number;
  /** The time since the last probe of a server, milliseconds: the 95th percentile. */
  readonly p95Ms: number;
}

export interface DiscoveryCounts {
  /** Number of probes, without those of passes that still run. */
  readonly probes: number;
  /** Number of servers that it has found. */
  readonly found: number;
}

/** The numbers that a crawl reports of its state. */
export interface CrawlStatus extends Freshness {
  readonly discovery: DiscoveryCounts;
}

/** A server of a crawl. */
interface Turn {
  readonly server: WatchedServer;
  /** A factor of the time between two polls. */
  readonly jitter: number;
  /** Square root of the rate of change at the last poll, per day. */
  root: number;
  /** The server's time of the last poll that counted, Unix milliseconds: it changes with each. */
  probedAt: number;
  /** The time of that poll, milliseconds of the clock: the wall clock may be set while the crawl runs. */
  countedAt: number;
  /** When the last poll ended, milliseconds of the clock. */
  polledAt: number;
  /** Number of failed polls in a row. They may be counted or forgotten after a check of the network. */
  misses: number;
  /** Whether the next poll confirms the last one, which failed. */
  isUnconfirmed: boolean;
  /** Whether a poll runs, or waits in the pool. */
  isPolling: boolean;
}

/** A server that is due. */
interface Due {
  readonly turn: Turn;
  readonly overdue: number;
}

/** Polls the most overdue servers within the budget, and gives the rest of it to discovery. */
export class CrawlLoop implements ServerLoop {
  readonly #turns = new Map<WatchedServer, Turn>();
  /** Probes that known servers, and discovery, may use now. */
  #probes = 0;
  #left = 0;
  #discovery: Promise<void> | undefined;

  /** Starts without servers. */
  constructor(private readonly options: PollLoopOptions & CrawlOptions) {}

  add(servers: readonly WatchedServer[]): void {
    for (const server of servers) {
      const jitter = jitterOf(server.identity.key);
      const turn = {
        ...{ server, jitter, root: 0, probedAt: NaN, countedAt: -Infinity, polledAt: -Infinity },
        ...{ misses: 0, isUnconfirmed: false, isPolling: false },
      };
      this.#update(turn);
      this.#turns.set(server, turn);
    }
  }

  /** Polls servers at once. Other polls wait for it. */
  pollCanaries(servers: readonly WatchedServer[]): void {
    const { clock } = this.options;
    this.#probes -= servers.length;
    for (const server of servers) {
      const turn = this.#turns.get(server)!;
      const delayMs = turn.polledAt + MIN_INTERVAL_MS - clock.now();
      clock.after(Math.max(0, delayMs), () => this.#start(turn, true));
    }
  }

  /** Does nothing: the next slice polls the most overdue servers. */
  resume(): void {}

  /** Polls servers until the signal. */
  async run(): Promise<void> {
    const { clock, signal, pool: { tasks }, onIteration, isPaused, perDay } = this.options;
    let before = clock.now() - SLICE_MS;
    while (!signal.aborted) {
      const now = clock.now();
      onIteration(now);
      const days = (now - before) / DAY_MS;
      // The budget of an outage is only for its canaries: its servers are polled one after the other later.
      if (!isPaused()) this.#slice(days);
      else if (this.#probes < 0) this.#probes = Math.min(0, this.#probes + perDay * days);
      before = now;
      await sleep(clock, SLICE_MS, signal);
    }
    await Promise.all([tasks.idle(), this.#discovery]);
  }

  /** Divides the budget of a time, in days, and uses it. */
  #slice(days: number): void {
    const { perDay, recentYield, clock, discover } = this.options;
    const now = clock.now();
    const least = discover && MIN_DISCOVERY[recentYield.isSure ? "sure" : "unsure"];
    const most = perDay * (1 - (least ?? 0));
    let rootSum = 0;
    for (const turn of this.#turns.values()) {
      const { server } = turn;
      if (turn.misses !== server.misses || turn.probedAt !== server.probedAt) this.#update(turn);
      rootSum += turn.root;
    }
    const scale = reprobeScale(rootSum, most, recentYield.perProbe);
    const due: Due[] = [];
    let wanted = 0; // polls per day
    let reserved = 0; // probes that confirm failed polls
    for (const turn of this.#turns.values()) {
      const ms = reprobeMs(turn.root, scale, turn.jitter);
      wanted += DAY_MS / ms;
      if (turn.isUnconfirmed) reserved += confirmations(turn) - (turn.isPolling ? 1 : 0);
      const overdue = turn.isUnconfirmed ? Infinity : (now - turn.countedAt) / ms;
      if (turn.isPolling || overdue < 1) continue;
      if (turn.isUnconfirmed && now - turn.polledAt < CONFIRM_MS) continue;
      due.push({ turn, overdue });
    }
    wanted = Math.min(wanted, most);
    const kept = wanted * KEPT_MS / DAY_MS + 1;
    const behind = due.length - this.#probes - wanted * days;
    const share = wanted * days + Math.max(0, Math.min(behind, (most - wanted) * days));
    const unused = Math.max(0, this.#probes + share - Math.max(kept, due.length));
    this.#probes += share - unused;
    this.#left += perDay * days - share + unused;
    due.sort((a, b) => a.overdue === b.overdue ? 0 : b.overdue - a.overdue);
    for (const { turn } of due) {
      // Probes were reserved for confirmations. If canaries have used them, other polls wait instead.
      if (turn.isUnconfirmed) reserved--;
      else if (this.#probes < 1 + reserved) break;
      this.#probes--;
      this.#start(turn);
    }
    this.#left = Math.min(this.#left, perDay * MAX_LEFT_SHARE);
    if (discover) {
      this.#discovery ??= this.#discover(discover).finally(() => this.#discovery = undefined);
    }
  }

  /** Discovers servers with the probes that are left, until no discovery uses any. */
  async #discover(discover: (probes: number) => Promise<number>): Promise<void> {
    const { minDiscovery, signal, isPaused } = this.options;
    while (this.#left >= minDiscovery && !signal.aborted && !isPaused()) {
      const probes = Math.floor(this.#left);
      this.#left -= probes;
      const used = await discover(probes);
      this.#left += probes - used;
      if (used === 0) return;
    }
  }

  #start(turn: Turn, isCanary = false): void {
    const { pool: { tasks }, signal, clock, poll, isPaused } = this.options;
    if (turn.isPolling || signal.aborted) return;
    turn.isPolling = true;
    const startedAt = clock.now();
    tasks.add(turn.server.endpoint.address, async () => {
      const isCancelled = signal.aborted || !isCanary && isPaused();
      const next = isCancelled ? "scheduled" : await poll(turn.server, startedAt);
      turn.isPolling = false;
      if (!isCancelled) turn.polledAt = clock.now();
      if (next === "dropped") this.#turns.delete(turn.server);
      else this.#update(turn);
    });
  }

  /** Updates a turn from the state of its server. */
  #update(turn: Turn): void {
    const { server, server: { known } } = turn;
    const { clock } = this.options;
    turn.root = Math.sqrt(changeRate(known));
    if (turn.probedAt !== known.probedAt) {
      const ageMs = Math.max(0, clock.wall() - known.probedAt);
      turn.countedAt = Math.max(turn.countedAt, clock.now() - ageMs);
    }
    turn.probedAt = known.probedAt;
    turn.misses = server.misses;
    turn.isUnconfirmed = server.online === true && server.misses > 0;
  }
}

/** Number of further failed polls that make a server offline. */
function confirmations({ server, misses }: Turn): number {
  return server.rules.downAfter - misses;
}

/**
 * How well states are known at a time.
 *
 * @param now Unix milliseconds.
 */
export function freshnessOf(states: readonly LastProbe[], now: number): Freshness {
  const ages = Float64Array.from(states, ({ probedAt }) => Math.max(0, now - probedAt)).sort();
  const sum = states.reduce((all, state) => all + unchangedChance(state, now), 0);
  const at = (share: number) => ages.at(Math.floor(share * ages.length)) ?? 0;
  return {
    servers: states.length,
    believed: states.length === 0 ? 1 : sum / states.length,
    medianMs: at(0.5),
    p95Ms: at(0.95),
  };
}
