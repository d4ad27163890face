/**
 * Distinguishes failures of the watch's own network from failures of servers. When many servers
 * stop responding at the same time, the watch polls servers that have replied lately (canaries).
 * Until the result is known, failed polls are withheld: they are not counted, and no server is
 * reported offline.
 *
 * @module
 */
import type { Clock } from "../net/clock.ts";
import type { OfflineReason } from "../store/events/watch_event.ts";
import { RECHECK_MS, type WatchedServer } from "./watched_server.ts";

/** Minimum number of servers that stop responding within one interval before a check begins. */
export const MIN_STOPPED = 10;
/** The stopped servers of a crawl are compared with at least this number of polled ones. */
const MIN_POLLED = 2 * MIN_STOPPED;
/** Maximum number of canaries of a check. */
const MAX_CANARIES = 16;
/** Share of the canaries of a watch, and of a crawl, that must reply. */
const REPLYING_SHARE = { watch: 1 / 4, crawl: 1 / 2 };
/** Number of canaries that are polled every {@linkcode RECHECK_MS} while the watch is offline. */
const RECHECKED = 4;
/** After this number of rechecks of a crawl, 2 minutes, each further one takes twice as long to begin. */
const FAST_RECHECKS = 24;
/** Maximum time between two rechecks of a crawl, milliseconds. */
const MAX_RECHECK_MS = 600_000;

/** Whether the watch reaches its servers; `checking`: not yet known. */
export type Reachability = "online" | "checking" | "offline";

export interface FailedPoll {
  readonly server: WatchedServer;
  /** When the poll ended, Unix milliseconds. */
  readonly at: number;
}

/** Options of {@linkcode WatchNetwork}. */
export interface OwnNetworkOptions {
  /** The clock of the watch. */
  readonly clock: Clock;
  /** Time between two polls of a server, milliseconds. */
  readonly intervalMs: number;
  /**
   * Whether servers are not polled once per interval: those that stop responding are then compared with
   * the online servers that were polled within it, or with the last 20 of these. Canaries are spread over
   * all servers that have replied before: in a partial outage the last ones to reply are those that the
   * crawl still reaches. Default: no.
   */
  readonly isCrawl?: boolean;
  /** Polls canaries soon, also while the watch is offline. */
  readonly pollCanaries: (servers: readonly WatchedServer[]) => void;
  /**
   * Counts a withheld failed poll, because its reason is the server, and not the watch's network.
   */
  readonly release: (failed: FailedPoll) => void;
  /**
   * Called when the watch is offline. Polls are paused until {@linkcode onOnline}.
   *
   * @param since The last reply, or the start of the watch, Unix milliseconds.
   */
  readonly onOffline: (since: number, reason: OfflineReason) => void;
  /**
   * Called when the watch is online again.
   *
   * @param offlineMs The time since `since` of {@linkcode onOffline}, milliseconds of the clock.
   */
  readonly onOnline: (offlineMs: number) => void;
}

/** Polls of canaries. */
interface Check {
  /** Canaries whose polls have not ended. */
  readonly pending: Set<WatchedServer>;
  /** Number of canaries that were polled, or will be. */
  canaries: number;
  /** Servers that have replied since the check began, canaries or not. */
  readonly replied: Set<WatchedServer>;
  /** Whether the system has refused every datagram to canaries so far. */
  areRefused: boolean;
  /**
   * Whether the watch is offline and this is a recheck, in which one reply starts a full check.
   */
  readonly isRecheck: boolean;
}

/** The state of the watch's own network, as far as polls show it. */
export class WatchNetwork {
  #state: Reachability = "online";
  /** The servers that are online, in the order of their last replies. */
  readonly #responding = new Set<WatchedServer>();
  /** When the first failed poll in a row of each server ended, milliseconds of the clock. */
  readonly #failing = new Map<WatchedServer, number>();
  /**
   * The servers of `#responding` that stopped responding within the last interval, in order. Those of a
   * crawl stay until they leave `#polled`, also if they go offline.
   */
  readonly #stopped = new Map<WatchedServer, number>();
  /** Of a crawl: when servers that were online replied or stopped responding, in order. */
  readonly #polled = new Map<WatchedServer, number>();
  /** The servers of `#responding` that have replied to the watch itself. */
  readonly #replied = new Set<WatchedServer>();
  /** The times of failed polls that are not counted yet, Unix milliseconds. */
  readonly #withheld = new Map<WatchedServer, number[]>();
  /** When the last reply arrived, milliseconds of the clock. */
  #repliedAt = -Infinity;
  /** Since when the watch would be offline, Unix milliseconds, and milliseconds of the clock. */
  #since: { readonly wall: number; readonly now: number };
  #check: Check | undefined;
  /** The servers that are rechecked while the watch is offline, the next ones first. */
  #rechecked: WatchedServer[] = [];
  #cancelRecheck: (() => void) | undefined;
  /** Number of rechecks since the watch is offline. */
  #rechecks = 0;

  /** Starts online, without servers. */
  constructor(private readonly options: OwnNetworkOptions) {
    this.#since = timesOf(options.clock);
  }

  /** Whether the watch reaches its servers. */
  get state(): Reachability {
    return this.#state;
  }

  /** Adds a server with its state in the database. */
  add(server: WatchedServer): void {
    if (server.online) this.#responding.add(server);
  }

  /** Removes a server that is polled no more. */
  remove(server: WatchedServer): void {
    this.#forget(server);
    this.#rechecked = this.#rechecked.filter((one) => one !== server);
    this.skipped(server);
  }

  /** Records a poll that sent nothing. */
  skipped(server: WatchedServer): void {
    const check = this.#check;
    if (check?.pending.delete(server) !== true) return;
    check.canaries--;
    this.#settle(check);
  }

  /** Records a reply. Withheld failed polls of the server are discarded. */
  replied(server: WatchedServer): void {
    const { clock } = this.options;
    this.#repliedAt = clock.now();
    if (this.#state !== "offline") this.#since = timesOf(clock);
    this.#forget(server);
    this.#responding.add(server);
    this.#replied.add(server);
    if (server.online) this.#notePoll(server, this.#repliedAt);
    const check = this.#check;
    if (check === undefined) return;
    check.pending.delete(server);
    check.replied.add(server);
    check.areRefused = false;
    this.#settle(check);
  }

  /**
   * Records a failed poll.
   *
   * @param at When the poll ended, Unix milliseconds.
   * @param isRefused Whether the system refused to send: no route, or the interface is down.
   * @returns Whether the failure counts. Other failures are withheld: they are counted later, or
   * discarded.
   */
  failed(server: WatchedServer, at: number, isRefused: boolean): boolean {
    if (this.#state === "online") {
      this.#noteFailure(server);
      if (!this.#isSuspicious(server, isRefused)) {
        this.#forgetOffline(server);
        return true;
      }
    }
    this.#withheld.getOrInsertComputed(server, () => []).push(at);
    if (this.#state === "online") this.#begin(isRefused);
    else if (this.#check?.pending.delete(server)) {
      this.#check.areRefused &&= isRefused;
      this.#settle(this.#check);
    }
    return false;
  }

  /** Ends all checks. */
  close(): void {
    this.#cancelRecheck?.();
    this.#check = undefined;
  }

  /** Forgets the polls of a server. */
  #forget(server: WatchedServer): void {
    const polls = [this.#failing, this.#stopped, this.#polled, this.#withheld];
    for (const servers of [this.#responding, this.#replied, ...polls]) servers.delete(server);
  }

  /** Leaves a server out of the checks if this failed poll makes it offline. */
  #forgetOffline(server: WatchedServer): void {
    if (!server.wouldGoOffline) return;
    for (const servers of [this.#responding, this.#replied, this.#failing]) servers.delete(server);
    if (!this.options.isCrawl) this.#stopped.delete(server);
  }

  #noteFailure(server: WatchedServer): void {
    if (server.online === false || this.#failing.has(server)) return;
    const now = this.options.clock.now();
    this.#failing.set(server, now);
    if (this.#responding.has(server)) {
      this.#stopped.set(server, now);
      this.#notePoll(server, now);
    }
    if (this.options.isCrawl) return;
    for (const [stopped, at] of this.#stopped) {
      if (now - at < this.options.intervalMs) break;
      this.#stopped.delete(stopped);
    }
  }

  /** Records when a server of a crawl replied or stopped responding, and forgets what is too old. */
  #notePoll(server: WatchedServer, now: number): void {
    const { isCrawl, intervalMs } = this.options;
    if (!isCrawl) return;
    this.#polled.delete(server);
    this.#polled.set(server, now);
    for (const [polled, at] of this.#polled) {
      if (now - at < intervalMs || this.#polled.size <= MIN_POLLED) break;
      for (const servers of [this.#polled, this.#stopped]) servers.delete(polled);
    }
  }

  /** Whether a failed poll may be due to the watch's own network. */
  #isSuspicious(server: WatchedServer, isRefused: boolean): boolean {
    const { size } = this.#responding;
    const all = this.options.isCrawl ? this.#polled.size : size;
    if (this.#stopped.size >= MIN_STOPPED && 2 * this.#stopped.size >= all) return true;
    if (!server.wouldGoOffline) return false;
    // No server has replied since this one stopped responding.
    return this.#repliedAt <= this.#failing.get(server)! && (size >= MIN_STOPPED || isRefused);
  }

  #begin(isRefused: boolean): void {
    const isSmall = this.#responding.size < MIN_STOPPED;
    if (isSmall && isRefused) return this.#goOffline("no_route");
    this.#state = "checking";
    this.#startCheck(this.#canaries(), false);
  }

  #startCheck(canaries: readonly WatchedServer[], isRecheck: boolean): void {
    const check = {
      pending: new Set(canaries),
      canaries: canaries.length,
      replied: new Set<WatchedServer>(),
      areRefused: true,
      isRecheck,
    };
    this.#check = check;
    if (canaries.length === 0) return this.#settle(check);
    // The poll whose result begins the check has to end first: its server may be a canary too.
    this.options.clock.after(0, () => {
      if (this.#check === check) this.options.pollCanaries([...check.pending]);
    });
  }

  /**
   * The servers with the latest replies; in a crawl, some of all that have replied. A server whose last
   * poll failed is taken only if too few others are left.
   */
  #canaries(): WatchedServer[] {
    const own = [...this.#replied].filter((server) => !this.#failing.has(server));
    if (this.options.isCrawl && own.length >= MAX_CANARIES) {
      const step = own.length / MAX_CANARIES;
      return Array.from({ length: MAX_CANARIES }, (_, i) => own[Math.floor(i * step)]);
    }
    const latest = [...this.#responding].reverse();
    const replying = latest.filter((server) => !this.#failing.has(server));
    const failing = latest.filter((server) => this.#failing.has(server));
    const few = failing.slice(0, Math.max(0, RECHECKED - replying.length));
    return [...replying.slice(0, MAX_CANARIES), ...few];
  }

  /** Ends a check when its result is certain. */
  #settle(check: Check): void {
    if (this.#check !== check) return;
    const { pending, replied, canaries, isRecheck } = check;
    if (isRecheck) {
      // While few servers are watched, only link and route are checked: refusals show their state.
      const isSmall = this.#responding.size < MIN_STOPPED;
      if (isSmall && (canaries === 0 || !check.areRefused)) return this.#goOnline();
      if (replied.size > 0 || canaries === 0) return this.#startCheck(this.#canaries(), false);
      if (pending.size === 0) this.#check = undefined;
      return;
    }
    const share = REPLYING_SHARE[this.options.isCrawl ? "crawl" : "watch"];
    if (replied.size >= Math.max(1, Math.ceil(canaries * share)) || canaries === 0) {
      return this.#goOnline();
    }
    if (pending.size > 0) return;
    this.#check = undefined;
    if (this.#state === "checking") this.#goOffline(check.areRefused ? "no_route" : "no_reply");
  }

  #goOffline(reason: OfflineReason): void {
    this.#state = "offline";
    this.#check = undefined;
    for (const server of [...this.#failing.keys(), ...this.#withheld.keys()]) {
      server.forgetFailures();
    }
    const servers = this.#responding.size > 0 ? this.#responding : this.#withheld.keys();
    this.#rechecked = [...servers].reverse();
    const polls = [this.#failing, this.#stopped, this.#polled, this.#withheld];
    for (const servers of polls) servers.clear();
    this.options.onOffline(this.#since.wall, reason);
    this.#rechecks = 0;
    this.#recheckLater();
  }

  #recheckLater(): void {
    const doublings = Math.max(0, ++this.#rechecks - FAST_RECHECKS);
    const delayMs = this.options.isCrawl
      ? Math.min(MAX_RECHECK_MS, RECHECK_MS * 2 ** doublings)
      : RECHECK_MS;
    this.#cancelRecheck = this.options.clock.after(delayMs, () => {
      if (this.#check === undefined) {
        const next = this.#rechecked.splice(0, RECHECKED);
        this.#rechecked.push(...next);
        this.#startCheck(next, true);
      }
      if (this.#state === "offline") this.#recheckLater();
    });
  }

  /**
   * Ends a check with the result that the watch's own network works. Withheld failed polls are
   * counted, unless the watch was offline.
   */
  #goOnline(): void {
    const wasOffline = this.#state === "offline";
    const withheld = [...this.#withheld];
    this.#state = "online";
    this.#check = undefined;
    this.#cancelRecheck?.();
    for (const failures of [this.#stopped, this.#withheld]) failures.clear();
    if (wasOffline) {
      const { now } = this.#since;
      this.#since = timesOf(this.options.clock);
      return this.options.onOnline(this.#since.now - now);
    }
    for (const [server, times] of withheld) {
      for (const at of times) {
        this.#forgetOffline(server);
        this.options.release({ server, at });
      }
    }
  }
}

function timesOf(clock: Clock): { wall: number; now: number } {
  return { wall: clock.wall(), now: clock.now() };
}
