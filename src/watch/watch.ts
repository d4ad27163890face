/**
 * The watch: each server on its own schedule, one timer for all of them.
 *
 * @module
 */
import { InspectionPool } from "../inspect/inspection_pool.ts";
import type { Clock } from "../net/clock.ts";
import type { Address } from "../core/address.ts";
import type { ServerRecord } from "../core/record.ts";
import type { WatchEvent } from "./events.ts";
import { Schedule } from "./schedule.ts";
import type { WatchedServer } from "./watched_server.ts";

/** What a watch has done so far. */
export interface WatchCounts {
  /** Polls that ended. */
  polls: number;
  /** Those that were answered. */
  replied: number;
  /** Polls that were put off, because this machine had no descriptors left. */
  deferred: number;
  /** Events that were told. */
  events: number;
  /** How much later than planned the latest poll began, milliseconds. */
  worstLateMs: number;
}

/**
 * What a poll found: the server's answer, `undefined` for none; that it asks scanners to stay away; or
 * that the poll could not be made.
 */
export type PollResult = ServerRecord | undefined | "opted out" | "not probed";

/** What a watch needs. */
export interface PollingSetup {
  /** The servers. */
  readonly servers: readonly WatchedServer[];
  /** Polls one. What a peer does is never thrown. */
  readonly poll: (server: WatchedServer) => Promise<PollResult>;
  /** Whether an address has opted out: its servers are polled no more. Default: none has. */
  readonly optedOut?: (address: Address) => boolean;
  /** Told of an address whose server asks scanners to stay away. */
  readonly onOptOut?: (address: Address) => void;
  /** Polls at once. */
  readonly concurrency: number;
  /** In how long all are asked for the first time, milliseconds. */
  readonly spreadMs: number;
  /** Numbers from 0 to 1, for jitter. */
  readonly random: () => number;
  /** The clock. */
  readonly clock: Clock;
  /** Ends the watch. */
  readonly signal: AbortSignal;
  /** Told of every event, in the order of each server. */
  readonly onEvent: (event: WatchEvent) => void;
  /** Told of every poll that ended, with what it told, when, Unix milliseconds, and the answer. */
  readonly onPolled?: (
    server: WatchedServer,
    events: readonly WatchEvent[],
    at: number,
    answer: ServerRecord | undefined,
  ) => void;
  /** Told how late a poll began, milliseconds. */
  readonly onPoll?: (lateMs: number) => void;
  /** What to count in. */
  readonly counts: WatchCounts;
}

/** Nothing done yet. */
export function noCounts(): WatchCounts {
  return { polls: 0, replied: 0, deferred: 0, events: 0, worstLateMs: 0 };
}

/** Servers cache a full stat for so long: more frequent polls find nothing new, milliseconds. */
export const LEAST_INTERVAL_MS = 5000;
/** First polls a second at most. */
const FIRST_POLLS = 200;

/** Over how long the first polls of so many servers are spread, milliseconds. */
export function firstPollsMs(servers: number, intervalMs: number): number {
  return Math.min(intervalMs, 1000 * servers / FIRST_POLLS);
}

/** Watches until the signal. Polls that are under way then tell nothing more. */
export async function pollServers(options: PollingSetup): Promise<void> {
  const { servers, clock, signal, spreadMs, concurrency } = options;
  const { promise: failed, reject } = Promise.withResolvers<never>();
  const schedule = new Schedule<{ readonly server: WatchedServer; readonly at: number }>();
  const pool = new InspectionPool(concurrency, reject);
  let wake: (() => void) | undefined;
  const plan = (server: WatchedServer, at: number) => {
    const first = at < schedule.next;
    schedule.add({ server, at }, at);
    if (first) wake?.();
  };
  const start = clock.now();
  for (const [i, server] of servers.entries()) {
    const rest = server.rest(clock.wall(), options.random);
    plan(server, start + Math.max(rest, spreadMs * i / servers.length));
  }
  const tour = async () => {
    while (!signal.aborted) {
      for (let due; (due = schedule.due(clock.now())) !== undefined;) {
        const { server, at } = due;
        pool.add(server.endpoint.address, async () => {
          if (signal.aborted) return;
          if (await poll(server, at, options) === "dropped") return;
          plan(server, clock.now() + server.pause(options.random()));
        });
      }
      await new Promise<void>((resolve) => {
        const cancel = clock.after(Math.min(schedule.next - clock.now(), LONGEST_WAIT_MS), resolve);
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
  await Promise.race([tour(), failed]);
}

/** The clock may step while a machine sleeps: it is looked at now and then. */
const LONGEST_WAIT_MS = 1000;

/** Polls a server, unless its address has opted out: then it is dropped, and so are its neighbours. */
async function poll(
  server: WatchedServer,
  dueAt: number,
  options: PollingSetup,
): Promise<"dropped" | void> {
  const { clock, counts, signal, onEvent, onPolled, onPoll, optedOut, onOptOut } = options;
  const { address } = server.endpoint;
  if (optedOut?.(address)) return drop(server, options);
  const lateMs = Math.max(0, clock.now() - dueAt);
  counts.worstLateMs = Math.max(counts.worstLateMs, lateMs);
  onPoll?.(lateMs);
  const polled = await options.poll(server);
  if (signal.aborted) return;
  if (polled === "not probed") {
    counts.deferred++;
    return;
  }
  counts.polls++;
  if (polled !== undefined) counts.replied++;
  if (polled === "opted out") {
    onOptOut?.(address);
    return drop(server, options);
  }
  const at = Math.round(clock.wall());
  const events = polled === undefined ? server.missed(at) : server.answered(polled, at);
  counts.events += events.length;
  for (const event of events) onEvent(event);
  onPolled?.(server, events, at, polled);
}

function drop(server: WatchedServer, { clock, counts, onEvent }: PollingSetup): "dropped" {
  counts.events++;
  onEvent(server.optedOut(Math.round(clock.wall())));
  return "dropped";
}
