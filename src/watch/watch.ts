/**
 * The watch loop: polls each server on its own schedule, with one timer for all servers.
 *
 * @module
 */
import { InspectionPool } from "../inspect/inspection_pool.ts";
import type { Clock } from "../net/clock.ts";
import type { Address } from "../core/address.ts";
import type { ServerRecord } from "../core/record.ts";
import type { WatchEvent } from "../store/events/watch_event.ts";
import { Schedule } from "./schedule.ts";
import type { WatchedServer } from "./watched_server.ts";

/** Counters of a watch. */
export interface WatchCounts {
  /** Number of finished polls. */
  polls: number;
  /** Number of polls with a reply. */
  replied: number;
  /** Number of polls that were postponed for lack of file descriptors. */
  deferred: number;
  /** Number of reported events. Whoever reports them counts them. */
  events: number;
  /** Maximum delay of a poll behind its due time, milliseconds. */
  maxLateMs: number;
  /** When the poll loop last ran, milliseconds of the clock; `undefined`: it has not begun. */
  loopAt: number | undefined;
}

/**
 * The result of a poll: the server's record; `undefined` without a reply; `opted out` when the reply
 * contains an opt-out; `not probed` when no file descriptor was left.
 */
export type PollResult = ServerRecord | undefined | "opted out" | "not probed";

/** The servers, functions and limits of {@linkcode watch}. */
export interface PollingSetup {
  /** The servers to poll. */
  readonly servers: readonly WatchedServer[];
  /** Polls a server. It must not throw for anything that a peer does. */
  readonly poll: (server: WatchedServer) => Promise<PollResult>;
  /** Whether an address has opted out: its servers are polled no more. Default: no address has. */
  readonly optedOut?: (address: Address) => boolean;
  /** Called with an address when a reply from it contains an opt-out. */
  readonly onOptOut?: (address: Address) => void;
  /** Where polls run. */
  readonly pool: PollPool;
  /** The first polls of all servers are spread evenly over this time, milliseconds. */
  readonly spreadMs: number;
  /** Returns random numbers from 0 to 1, for jitter. */
  readonly random: () => number;
  /** The clock of the schedule and of events' times. */
  readonly clock: Clock;
  /** Stops the watch: no further poll starts. */
  readonly signal: AbortSignal;
  /** Called for each event of a server. The events of one server come in order. */
  readonly onEvent: (event: WatchEvent, server: WatchedServer) => void;
  /** Called after each poll, with its events, its end (Unix milliseconds) and the reply. */
  readonly onPolled?: (
    server: WatchedServer,
    events: readonly WatchEvent[],
    at: number,
    reply: ServerRecord | undefined,
  ) => void;
  /** Called at the start of each poll with its delay behind the due time, milliseconds. */
  readonly onPoll?: (lateMs: number) => void;
  /** Counters that the watch increments. */
  readonly counts: WatchCounts;
}

/** The counters of a watch that has not begun. */
export function newWatchCounts(): WatchCounts {
  return { polls: 0, replied: 0, deferred: 0, events: 0, maxLateMs: 0, loopAt: undefined };
}

/** Minimum poll interval, milliseconds. Servers cache a full stat for this time. */
export const MIN_INTERVAL_MS = 5000;
/** Maximum rate of first polls, polls per second. */
const FIRST_POLLS_PER_SECOND = 200;

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

/** Polls servers until the signal. Polls that are in flight at that time report no events. */
export async function pollServers(options: PollingSetup): Promise<void> {
  const { servers, clock, signal, spreadMs, pool: { tasks: pool, failed } } = options;
  const schedule = new Schedule<{ readonly server: WatchedServer; readonly at: number }>();
  let wake: (() => void) | undefined;
  const plan = (server: WatchedServer, at: number) => {
    const first = at < schedule.next;
    schedule.add({ server, at }, at);
    if (first) wake?.();
  };
  const start = clock.now();
  for (const [i, server] of servers.entries()) {
    const delayMs = server.firstDelayMs(clock.wall(), options.random);
    plan(server, start + Math.max(delayMs, spreadMs * i / servers.length));
  }
  const pollDueServers = async () => {
    while (!signal.aborted) {
      options.counts.loopAt = clock.now();
      for (let due; (due = schedule.due(clock.now())) !== undefined;) {
        const { server, at } = due;
        pool.add(server.endpoint.address, async () => {
          if (signal.aborted) return;
          if (await poll(server, at, options) === "dropped") return;
          plan(server, clock.now() + server.nextDelayMs(options.random()));
        });
      }
      await new Promise<void>((resolve) => {
        const cancel = clock.after(Math.min(schedule.next - clock.now(), MAX_TIMER_MS), resolve);
        wake = () => {
          cancel();
          resolve();
        };
        signal.addEventListener("abort", wake, { once: true });
        if (signal.aborted) wake();
      }).finally(() => wake && signal.removeEventListener("abort", wake));
    }
    await pool.idle();
  };
  await Promise.race([pollDueServers(), failed]);
}

/** Maximum duration of a timer, milliseconds: the clock may step while the machine is suspended. */
const MAX_TIMER_MS = 1000;

/** Polls a server. A server whose address has opted out is dropped from the watch. */
async function poll(
  server: WatchedServer,
  dueAt: number,
  options: PollingSetup,
): Promise<"dropped" | void> {
  const { clock, counts, signal, onEvent, onPolled, onPoll, optedOut, onOptOut } = options;
  const { address } = server.endpoint;
  if (optedOut?.(address)) return drop(server, options);
  const lateMs = Math.max(0, clock.now() - dueAt);
  counts.maxLateMs = Math.max(counts.maxLateMs, lateMs);
  onPoll?.(lateMs);
  const result = await options.poll(server);
  if (signal.aborted) return;
  if (result === "not probed") {
    counts.deferred++;
    return;
  }
  counts.polls++;
  if (result !== undefined) counts.replied++;
  if (result === "opted out") {
    onOptOut?.(address);
    return drop(server, options);
  }
  const at = Math.round(clock.wall());
  const events = result === undefined ? server.addFailure(at) : server.addReply(result, at);
  for (const event of events) onEvent(event, server);
  onPolled?.(server, events, at, result);
}

function drop(server: WatchedServer, { clock, onEvent }: PollingSetup): "dropped" {
  onEvent(server.optedOut(Math.round(clock.wall())), server);
  return "dropped";
}
