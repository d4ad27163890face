/**
 * A watch: polls servers, and turns the results into events.
 *
 * @module
 */
import type { Clock } from "../net/clock.ts";
import type { Address } from "../core/address.ts";
import type { ServerRecord } from "../core/record.ts";
import {
  newWatcherEvent,
  type ServerEvent,
  type WatcherEvent,
  type WatcherEventBody,
} from "../store/events/watch_event.ts";
import { type FailedPoll, WatchNetwork } from "./watch_network.ts";
import {
  firstPollsMs,
  type Next,
  PollLoop,
  type PollLoopOptions,
  type PollPool,
  type ServerLoop,
} from "./poll_loop.ts";
import type { WatchedServer, WatchRules } from "./watched_server.ts";

export interface WatchCounts {
  /** Number of finished polls. */
  polls: number;
  /** Number of polls with a reply. */
  replied: number;
  /** Number of polls that were postponed for lack of file descriptors. */
  deferred: number;
  /** Number of reported events. The code that reports an event increments it. */
  events: number;
  /** Maximum delay of a poll behind its due time, milliseconds. */
  maxLateMs: number;
  /** When the poll loop last ran, milliseconds of the clock; `undefined`: it has not begun. */
  loopAt: number | undefined;
}

/**
 * The result of a poll: the server's record; `undefined` without a reply; `unreachable` when the system
 * refused to send, because there is no route or the interface is down; `opted out` when the reply
 * contains an opt-out; `not probed` when no file descriptor was left.
 */
export type PollResult = ServerRecord | undefined | "unreachable" | "opted out" | "not probed";

/** The servers, functions and limits of {@linkcode watch}. */
export interface PollingSetup {
  readonly servers: readonly WatchedServer[];
  readonly rules: WatchRules;
  /** Polls a server. It must not throw for anything that a peer does. */
  readonly poll: (server: WatchedServer) => Promise<PollResult>;
  /** Whether an address has opted out: its servers are polled no more. Default: no address has. */
  readonly optedOut?: (address: Address) => boolean;
  /** Called with an address when a reply from it contains an opt-out. */
  readonly onOptOut?: (address: Address) => void;
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
  readonly onEvent: (event: ServerEvent, server: WatchedServer) => void;
  /** Called after each poll, with its events, its end (Unix milliseconds) and the reply. */
  readonly onPolled?: (
    server: WatchedServer,
    events: readonly ServerEvent[],
    at: number,
    reply: ServerRecord | undefined,
  ) => void;
  /** Called at the start of each poll with its delay behind the due time, milliseconds. */
  readonly onPoll?: (lateMs: number) => void;
  /** Called when the watch reaches no server any more, and when it reaches servers again. */
  readonly onWatcherEvent?: (event: WatcherEvent) => void;
  /** Makes the loop that decides when servers are polled. Default: a {@linkcode PollLoop}. */
  readonly openLoop?: (options: PollLoopOptions) => ServerLoop;
  /** Finds further servers until the signal, and adds them to the watch. Default: there are none. */
  readonly findServers?: (
    add: (servers: readonly WatchedServer[]) => void,
  ) => Promise<void>;
  /** Counters that the watch increments. */
  readonly counts: WatchCounts;
}

/** The counters of a watch that has not begun. */
export function newWatchCounts(): WatchCounts {
  return { polls: 0, replied: 0, deferred: 0, events: 0, maxLateMs: 0, loopAt: undefined };
}

/**
 * Returns a function that reports whether a watch has made progress since its last call: its loop has
 * run, and a poll has ended within the time of the longest poll, unless none was due.
 *
 * @param longestPollMs Maximum duration of a poll of an unresponsive server, milliseconds.
 */
export function pollProgress(
  counts: WatchCounts,
  tasks: { readonly load: number },
  longestPollMs: number,
): () => boolean {
  let [loopBefore, endedBefore, endedAt] = [-Infinity, 0, -Infinity];
  return () => {
    const { loopAt = -Infinity, polls, deferred } = counts;
    const ended = polls + deferred;
    const isFirst = loopBefore === -Infinity;
    if (isFirst || ended !== endedBefore || tasks.load === 0) endedAt = loopAt;
    const hasRun = loopAt !== loopBefore;
    [loopBefore, endedBefore] = [loopAt, ended];
    return hasRun && loopAt - endedAt <= longestPollMs;
  };
}

/** Polls servers until the signal. Polls that are in flight at that time report no events. */
export async function pollServers(options: PollingSetup): Promise<void> {
  const { servers, rules, clock, signal, spreadMs, pool, counts, random } = options;
  const { intervalMs, isCrawl } = rules;
  const network: WatchNetwork = new WatchNetwork({
    clock,
    ...{ intervalMs, isCrawl },
    pollCanaries: (canaries) => loop.pollCanaries(canaries),
    release: (failed) => countFailure(failed, options),
    onOffline: (since, reason) => reportOwn({ event: "watcher_offline", since, reason }, options),
    onOnline: (offlineMs) => {
      const offline_ms = Math.round(offlineMs);
      reportOwn({ event: "watcher_online", offline_ms }, options);
      loop.resume((paused) => firstPollsMs(paused, intervalMs));
    },
  });
  const { openLoop = (all) => new PollLoop(all) } = options;
  const loop: ServerLoop = openLoop({
    pool,
    random,
    clock,
    signal,
    poll: (server, dueAt) => poll(server, dueAt, network, options),
    isPaused: () => network.state === "offline",
    onIteration: (now) => {
      counts.loopAt = now;
    },
  });
  const add = (added: readonly WatchedServer[], overMs: number) => {
    for (const server of added) network.add(server);
    loop.add(added, overMs);
  };
  add(servers, spreadMs);
  const others = options.findServers?.((more) => add(more, firstPollsMs(more.length, intervalMs)));
  await Promise.race([Promise.all([loop.run(), others]), pool.failed])
    .finally(() => network.close());
}

/** Polls a server. A server whose address has opted out is dropped from the watch. */
async function poll(
  server: WatchedServer,
  dueAt: number,
  network: WatchNetwork,
  options: PollingSetup,
): Promise<Next> {
  const { clock, counts, signal, onEvent, onPolled, onPoll, optedOut, onOptOut } = options;
  const { address } = server.endpoint;
  if (optedOut?.(address)) return drop(server, network, options);
  const lateMs = Math.max(0, clock.now() - dueAt);
  counts.maxLateMs = Math.max(counts.maxLateMs, lateMs);
  onPoll?.(lateMs);
  const result = await options.poll(server);
  if (signal.aborted) return "scheduled";
  if (result === "not probed") {
    counts.deferred++;
    network.skipped(server);
    return "scheduled";
  }
  counts.polls++;
  const at = Math.round(clock.wall());
  if (result === undefined || result === "unreachable") {
    if (!network.failed(server, at, result === "unreachable")) return "soon";
    countFailure({ server, at }, options);
    return "scheduled";
  }
  counts.replied++;
  network.replied(server);
  if (result === "opted out") {
    onOptOut?.(address);
    return drop(server, network, options);
  }
  const events = server.addReply(result, at);
  for (const event of events) onEvent(event, server);
  onPolled?.(server, events, at, result);
  return "scheduled";
}

function countFailure({ server, at }: FailedPoll, { onEvent, onPolled }: PollingSetup): void {
  const events = server.addFailure(at);
  for (const event of events) onEvent(event, server);
  onPolled?.(server, events, at, undefined);
}

function drop(
  server: WatchedServer,
  network: WatchNetwork,
  { clock, onEvent }: PollingSetup,
): "dropped" {
  network.remove(server);
  onEvent(server.optedOut(Math.round(clock.wall())), server);
  return "dropped";
}

/** Reports an event of the watch itself. */
function reportOwn(
  body: WatcherEventBody,
  { clock, rules: { scanId: scan_id, newEventId }, onWatcherEvent }: PollingSetup,
): void {
  const at = Math.round(clock.wall());
  onWatcherEvent?.(newWatcherEvent({ at, scan_id, id: newEventId(at) }, body));
}
