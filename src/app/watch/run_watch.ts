/**
 * Runs a prepared watch: opens everything, polls, and closes everything.
 *
 * @module
 */
import { randomFraction } from "../system_random.ts";
import { type Address, family } from "../../core/address.ts";
import type { Throttle } from "../../net/mod.ts";
import {
  type CrawlStatus,
  firstPollsMs,
  newWatchCounts,
  type PollingSetup,
  pollProgress,
  pollServers,
  type WatchCounts,
  type WatchedServer,
  type Webhook,
  withEventLimit,
} from "../../watch/mod.ts";
import type { WatchEvent } from "../../store/events/watch_event.ts";
import { AddressSignals } from "../../scan/mod.ts";
import { withoutPlayers } from "../../protocols/declared_facts.ts";
import { connectionEnvironment } from "../options/connection_environment.ts";
import { keepPruned } from "../databases/prune.ts";
import { keepRolledUp } from "../databases/roll_up_databases.ts";
import {
  longestPollMs,
  openPollingSockets,
  type PollingSockets,
} from "../engines/watch_sockets.ts";
import { probedEndpoints, serveWatch, type WatchServer } from "../metrics/serve_watch.ts";
import { formatConfig } from "../options/config_file.ts";
import { openWebhook, type WebhookSetup } from "../webhooks/open_webhook.ts";
import { findAddedServers } from "../targets/added_servers.ts";
import { MovedNames } from "../names/moved_names.ts";
import { readChangedOptOuts } from "../opt_outs/changed_opt_outs.ts";
import type { PreparedWatch } from "./prepare_watch.ts";

/** What follows a running watch: the terminal of a command, or a program. */
export interface RunWatchOptions {
  /** Ends the watch. */
  readonly signal: AbortSignal;
  readonly onEvent: (event: WatchEvent) => void;
  /**
   * Called when everything is open, before the first poll.
   *
   * @param hasProgress Whether polls were made since its last call: see {@linkcode pollProgress}.
   */
  readonly begin?: (counts: WatchCounts, hasProgress: () => boolean) => void;
  /** Makes the loop that decides when servers are polled. Default: each at the interval. */
  readonly openLoop?: PollingSetup["openLoop"];
  /** The rate limit and the caps, which a scan may share. Default: those of the options. */
  readonly throttle?: Throttle;
  /** Called with an address when a reply from it contains an opt-out. */
  readonly onOptOut?: (address: Address) => void;
  /** The state of the crawl of which the watch is a part. Default: there is none. */
  readonly crawlStatus?: () => CrawlStatus;
  /** Awaited before each poll. Default: polls wait for nothing. */
  readonly beforePoll?: () => Promise<void>;
}

/** How a watch ended. */
export interface WatchResult {
  /** Number of servers that were online at the end. */
  readonly online: number;
  readonly counts: WatchCounts;
  /** The closed webhook; `undefined`: there was none. */
  readonly hook: Webhook | undefined;
}

/**
 * Polls the servers of a watch until the signal.
 *
 * @throws InputError for an outbox, a port or sockets that cannot be opened; StoreError for a database
 * that refuses the watch; Deno.errors.NotCapable.
 */
export async function runPreparedWatch(
  watch: PreparedWatch,
  run: RunWatchOptions,
): Promise<WatchResult> {
  const { databases, webhook, context: { warn } } = watch;
  const failing = new AbortController(); // if one activity fails, the others are cancelled
  const signal = AbortSignal.any([run.signal, failing.signal]);
  await using hook = webhook && await openHook(webhook, watch);
  await using polling = await openPolling(watch, signal, run.throttle);
  const counts = newWatchCounts();
  const { openLoop, crawlStatus } = run;
  const signals = new AddressSignals(signal);
  const setup = { ...pollingSetup(watch, polling, run, signals), openLoop, signal, counts };
  await using served = serve(watch, polling, { ...setup, crawlStatus }, hook);
  const reportEvent = withEventLimit((event, isStored) => {
    counts.events++;
    served.metrics.add(event);
    run.onEvent(event);
    hook?.add(event, isStored);
  });
  await beginDatabases(watch, counts, reportEvent);
  run.begin?.(counts, pollProgress(counts, polling.pool.tasks, longestPollMs(watch.options)));
  await using _followed = followOptOuts(watch, polling, signals);
  const onPoll = (lateMs: number) => served.metrics.late(lateMs);
  const activities = startActivities(watch, polling, { ...setup, onPoll }, reportEvent);
  await endTogether(activities, failing);
  const online = countOnline(watch);
  (await databases.end()).forEach(warn);
  await hook?.close();
  return { online, counts, hook };
}

function countOnline({ servers }: PreparedWatch): number {
  return servers.filter((server) => server.reportedOnline).length;
}

/** Serves the metrics of a watch. */
function serve(
  watch: PreparedWatch,
  polling: PollingSockets,
  setup: OwnSetup & Pick<RunWatchOptions, "crawlStatus">,
  hook: Webhook | undefined,
): WatchServer {
  const { measured, databases: { journals }, options: { allowPrivate }, context: { warn } } = watch;
  const webhooks = hook === undefined ? [] : [hook];
  const sources = { ...watch, ...setup, polling, journals, webhooks, allowPrivate };
  return serveWatch(measured, sources, warn);
}

/** Records the start of the watch in its databases, which report events and store numbers from now on. */
async function beginDatabases(
  watch: PreparedWatch,
  counts: WatchCounts,
  reportEvent: (event: WatchEvent, isStored: boolean) => void,
): Promise<void> {
  const { databases, command, given } = watch;
  databases.onEvent = reportEvent;
  databases.numbers = () => {
    const { polls: probesSent, replied: replies } = counts;
    const [found, total] = [countOnline(watch), watch.servers.length];
    return { probesSent, replies, found, total };
  };
  await databases.begin(formatConfig(command, given));
}

/** Waits for all activities. If one fails, the others are cancelled, and its error is thrown. */
async function endTogether(
  activities: readonly Promise<void>[],
  failing: AbortController,
): Promise<void> {
  const failed: unknown[] = [];
  await Promise.all(activities.map((activity) =>
    activity.catch((error) => {
      failed.push(error);
      failing.abort();
    })
  ));
  if (failed.length > 0) throw failed[0];
}

/** Polls the servers, follows their names, and maintains the databases, until the signal. */
function startActivities(
  watch: PreparedWatch,
  polling: PollingSockets,
  setup: OwnSetup,
  reportEvent: (event: WatchEvent) => void,
): Promise<void>[] {
  const { servers, databases: { locations }, options, network: { clock }, context } = watch;
  const { signal } = setup;
  const report = reporterOf(watch);
  const names = movedNames(watch, polling, signal);
  const environment = connectionEnvironment(context.warn);
  return [
    pollServers({
      ...setup,
      ...pollResults(watch, setup, names, reportEvent),
      findServers: (add) => findServersAdded(watch, polling, signal, add),
    }),
    polling.sockets.listen(),
    names.follow(servers),
    keepRolledUp(locations, environment, signal, report, clock),
    keepPruned(locations, options.keep, environment, signal, report, clock),
  ];
}

/** Opens the webhook of a watch. */
function openHook(
  webhook: WebhookSetup,
  { databases, rules: { scanId }, options: { names, allProtocols }, context }: PreparedWatch,
): Promise<Webhook> {
  return openWebhook(webhook, {
    scanId,
    locations: databases.locations,
    openFirstAgain: () => databases.openFirstAgain(),
    shown: (record) => names ? record : withoutPlayers(record, allProtocols),
  }, context.note);
}

/** Stores the results of polls in databases, and reports events that no database decides. */
function pollResults(
  { databases }: PreparedWatch,
  { onPolled }: OwnSetup,
  names: MovedNames,
  reportEvent: (event: WatchEvent) => void,
): Pick<PollingSetup, "onPolled" | "onEvent" | "onWatcherEvent"> {
  return {
    onPolled: (server, ...result) => {
      onPolled(server, ...result);
      if (server.misses === 1) void names.lookUp(server);
    },
    onEvent: (event, server) => {
      if (!databases.decideEvents) {
        server.reported(event);
        reportEvent(event);
      } else if (event.event === "opted_out") {
        databases.journals.forEach((journal) => journal.drop(server, event));
      }
    },
    onWatcherEvent: (event) => {
      if (!databases.decideEvents) reportEvent(event);
      databases.journals.forEach((journal) => journal.addWatcherEvent(event));
    },
  };
}

/**
 * Leaves out ranges that are added to the list of opt-outs while the watch runs. Polls of addresses
 * that opt out are cancelled.
 */
function followOptOuts(
  watch: PreparedWatch,
  { sockets }: PollingSockets,
  signals: AddressSignals,
): AsyncDisposable {
  const { optOuts, network, optOutVersion } = watch;
  optOuts.onAdd((address) => {
    signals.cancel(address);
    sockets.current.cancelOpen(address);
  });
  return readChangedOptOuts(
    network,
    reporterOf(watch),
    (ranges) => optOuts.addRanges(ranges, signals.addresses),
    optOutVersion,
  );
}

/** The lookups of servers' names, which may lead to other addresses during the watch. */
function movedNames(
  watch: PreparedWatch,
  { families, limitRate }: PollingSockets,
  signal: AbortSignal,
): MovedNames {
  const { network, options: { allowPrivate } } = watch;
  return new MovedNames({
    allowPrivate,
    families,
    clock: network.clock,
    signal,
    report: reporterOf(watch),
    lookups: network,
    onMove: limitRate,
  });
}

/** Finds servers that are added to the watched databases, until the signal. */
function findServersAdded(
  { rules, options: { names }, lastIds, servers, optOuts, network: { clock } }: PreparedWatch,
  { limitRate, families }: PollingSockets,
  signal: AbortSignal,
  add: (servers: readonly WatchedServer[]) => void,
): Promise<void> {
  return findAddedServers({
    databases: lastIds,
    names,
    rules,
    servers,
    add: (added) => {
      for (const { endpoint } of added) limitRate(endpoint.address);
      add(added);
    },
    mayWatch: ({ endpoint: { address } }) =>
      !optOuts.has(address) && families.includes(family(address)),
    clock,
    signal,
  });
}

/** Reports a line that begins with the name of the program. */
function reporterOf({ context: { warn } }: PreparedWatch): (line: string) => void {
  return (line) => warn(`blocksweep: ${line}`);
}

/** Opens the sockets of a watch. */
function openPolling(
  watch: PreparedWatch,
  signal: AbortSignal,
  throttle: Throttle | undefined,
): Promise<PollingSockets> {
  const { servers, options, rules, measured, network, lastIds, optOuts } = watch;
  return openPollingSockets(servers, options, {
    network,
    scanId: rules.scanId,
    signal,
    throttle,
    report: reporterOf(watch),
    attach: attachedTo(watch),
    optedOut: (address) => optOuts.has(address),
    others: probedEndpoints(measured),
    mayGrow: lastIds.size > 0,
  });
}

/** A setup without the receivers of events. */
type OwnSetup =
  & Omit<PollingSetup, "onEvent">
  & Required<Pick<PollingSetup, "optedOut" | "onOptOut" | "onPolled">>;

/** The servers to poll, their schedule, and the recording of opt-outs and replies. */
function pollingSetup(
  { servers, options: { names, allProtocols }, rules, network, databases, optOuts }: PreparedWatch,
  { poller, pool }: PollingSockets,
  { beforePoll, onOptOut }: RunWatchOptions,
  signals: AddressSignals,
): Omit<OwnSetup, "signal" | "counts"> {
  const { clock } = network;
  return {
    servers,
    rules,
    pool,
    random: randomFraction,
    clock,
    spreadMs: firstPollsMs(servers.length, rules.intervalMs),
    poll: async (server) => {
      await beforePoll?.();
      const { address } = server.endpoint;
      if (optOuts.has(address)) return "opted out";
      const polled = await signals.run(address, (signal) => poller.poll(server, signal));
      if (optOuts.has(address)) return "opted out"; // since the poll began
      return typeof polled !== "object" || names ? polled : withoutPlayers(polled, allProtocols);
    },
    optedOut: (address) => optOuts.has(address),
    onOptOut: (address) => {
      if (optOuts.has(address)) return; // the file or another server of the address
      optOuts.add(address);
      network.optOuts.note(address);
      onOptOut?.(address);
      databases.journals.forEach((journal) => journal.optOut(address, clock.wall()));
    },
    onPolled: (...polled) => databases.journals.forEach((journal) => journal.addPoll(...polled)),
  };
}

/** The attachments that databases store: raw replies only with `names`, because they may name players. */
function attachedTo(
  { databases, options: { names } }: PreparedWatch,
): "icons" | "all" | undefined {
  if (databases.locations.length === 0) return undefined;
  return names ? "all" : "icons";
}
