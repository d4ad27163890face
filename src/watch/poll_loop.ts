/**
 * Decides when each server of a watch is polled: on its own schedule, and at once as a canary. Polls are
 * paused while the watch's own network is down.
 *
 * @module
 */
import { InspectionPool } from "../inspect/mod.ts";
import type { Clock } from "../net/clock.ts";
import { RECHECK_MS, type WatchedServer } from "./watched_server.ts";
import { MIN_INTERVAL_MS, Schedule } from "./schedule.ts";

/** Maximum rate of first polls, polls per second. */
const FIRST_POLLS_PER_SECOND = 200;
/** Maximum duration of a timer, milliseconds: the clock may step while the machine is suspended. */
const MAX_TIMER_MS = 1000;

/** The time over which to spread the first polls of a number of servers, milliseconds. */
export function firstPollsMs(servers: number, intervalMs: number): number {
  return Math.min(intervalMs, 1000 * servers / FIRST_POLLS_PER_SECOND);
}

/** Runs polls: a limited number at a time, and one at a time for each address. */
export interface PollPool {
  /** The pool of running and waiting polls. */
  readonly tasks: InspectionPool;
  /** Rejects with the error of a poll. */
  readonly failed: Promise<never>;
}

/**
 * Creates a pool without polls.
 *
 * @param concurrency Maximum number of polls at a time.
 */
export function newPollPool(concurrency: number): PollPool {
  const { promise: failed, reject } = Promise.withResolvers<never>();
  return { tasks: new InspectionPool(concurrency, reject), failed };
}

/** What follows a poll: the next one, the next one soon because the poll does not count, or none. */
export type Next = "scheduled" | "soon" | "dropped";

/** Options of {@linkcode PollLoop}. */
export interface PollLoopOptions {
  /** Polls a server that was due at a time, milliseconds of the clock. */
  readonly poll: (server: WatchedServer, dueAt: number) => Promise<Next>;
  /** Whether polls are paused. Canaries are polled nevertheless. */
  readonly isPaused: () => boolean;
  readonly pool: PollPool;
  /** Returns random numbers from 0 to 1, for jitter. */
  readonly random: () => number;
  /** The clock of the schedule. */
  readonly clock: Clock;
  /** Stops the loop: no further poll starts. */
  readonly signal: AbortSignal;
  /** Called with the time of each iteration, milliseconds of the clock. */
  readonly onIteration: (now: number) => void;
}

/** Decides when each server is polled. */
export interface ServerLoop {
  /** Adds servers. Their first polls may be spread over a time, milliseconds. */
  add(servers: readonly WatchedServer[], spreadMs: number): void;
  /** Polls servers at once, but no server more often than every {@linkcode MIN_INTERVAL_MS}. */
  pollCanaries(servers: readonly WatchedServer[]): void;
  /**
   * Continues after a pause.
   *
   * @param spreadMs Returns the time over which to spread a number of polls, milliseconds.
   */
  resume(spreadMs: (servers: number) => number): void;
  /** Polls servers until the signal. */
  run(): Promise<void>;
}

/** The schedule of one server: its next poll. Times are milliseconds of the clock. */
interface Turn {
  readonly server: WatchedServer;
  /** When the next poll is due. Entries of the queue with another time are void. */
  dueAt: number;
  /** When its last poll ended. */
  polledAt: number;
  /** Whether a poll runs, or waits in the pool. */
  isPolling: boolean;
  /** Whether the poll is that of a canary. */
  isCanary: boolean;
}

/** An entry of the queue: a poll that is due at a time, unless it was moved. */
interface Due {
  readonly turn: Turn;
  readonly at: number;
}

/** Polls servers, with one timer for all of them. */
export class PollLoop implements ServerLoop {
  readonly #turns = new Map<WatchedServer, Turn>();
  readonly #schedule = new Schedule<Due>();
  /** Polls that came due during a pause. */
  readonly #paused = new Set<Turn>();
  #wake: (() => void) | undefined;

  /** Starts without servers. */
  constructor(private readonly options: PollLoopOptions) {}

  /** Adds servers. Their first polls are spread evenly over a time, milliseconds. */
  add(servers: readonly WatchedServer[], spreadMs: number): void {
    const { clock, random } = this.options;
    const start = clock.now();
    for (const [i, server] of servers.entries()) {
      const delayMs = server.firstDelayMs(clock.wall(), random);
      const turn = { server, dueAt: 0, polledAt: -Infinity, isPolling: false, isCanary: false };
      this.#turns.set(server, turn);
      this.#plan(turn, start + Math.max(delayMs, spreadMs * i / servers.length));
    }
  }

  /** Polls servers at once, but no server more often than every {@linkcode MIN_INTERVAL_MS}. */
  pollCanaries(servers: readonly WatchedServer[]): void {
    const now = this.options.clock.now();
    for (const server of servers) {
      const turn = this.#turns.get(server)!;
      turn.isCanary = true;
      this.#paused.delete(turn);
      if (!turn.isPolling) this.#plan(turn, Math.max(now, turn.polledAt + MIN_INTERVAL_MS));
    }
  }

  /** Polls the servers that came due during a pause, spread evenly over a time, milliseconds. */
  resume(spreadMs: (servers: number) => number): void {
    const now = this.options.clock.now();
    const turns = [...this.#paused];
    this.#paused.clear();
    const overMs = spreadMs(turns.length);
    for (const [i, turn] of turns.entries()) this.#plan(turn, now + overMs * i / turns.length);
  }

  /** Polls servers until the signal. */
  async run(): Promise<void> {
    const { clock, signal, pool: { tasks }, onIteration } = this.options;
    while (!signal.aborted) {
      onIteration(clock.now());
      for (let due; (due = this.#schedule.due(clock.now())) !== undefined;) this.#startPoll(due);
      await new Promise<void>((resolve) => {
        const waitMs = Math.min(this.#schedule.next - clock.now(), MAX_TIMER_MS);
        const cancel = clock.after(waitMs, resolve);
        const wake = this.#wake = () => {
          cancel();
          resolve();
        };
        signal.addEventListener("abort", wake, { once: true });
        if (signal.aborted) wake();
      }).finally(() => this.#wake && signal.removeEventListener("abort", this.#wake));
    }
    await tasks.idle();
  }

  #plan(turn: Turn, at: number): void {
    const isFirst = at < this.#schedule.next;
    turn.dueAt = at;
    this.#schedule.add({ turn, at }, at);
    if (isFirst) this.#wake?.();
  }

  #startPoll({ turn, at }: Due): void {
    if (turn.dueAt !== at || turn.isPolling) return;
    if (this.#isPaused(turn)) return;
    turn.isPolling = true;
    const { address } = turn.server.endpoint;
    this.options.pool.tasks.add(address, () => this.#poll(turn, at));
  }

  /** Whether a poll has to wait for the end of a pause. */
  #isPaused(turn: Turn): boolean {
    if (turn.isCanary || !this.options.isPaused()) return false;
    this.#paused.add(turn);
    return true;
  }

  async #poll(turn: Turn, at: number): Promise<void> {
    const { clock, signal, random, poll } = this.options;
    if (signal.aborted) return;
    if (this.#isPaused(turn)) {
      turn.isPolling = false;
      return;
    }
    const { server } = turn;
    const next = await poll(server, at);
    turn.isPolling = turn.isCanary = false;
    turn.polledAt = clock.now();
    if (next === "dropped") {
      this.#turns.delete(server);
      return;
    }
    const delayMs = server.nextDelayMs(random());
    this.#plan(turn, turn.polledAt + (next === "soon" ? Math.min(delayMs, RECHECK_MS) : delayMs));
  }
}
