/**
 * The watch command: polls known servers, and prints an event for each change.
 *
 * @module
 */
import { family } from "../../core/address.ts";
import { systemClock } from "../../net/clock.ts";
import { OptedOutAddresses } from "../../scan/opt_outs/opted_out_addresses.ts";
import { withoutPlayers } from "../../protocols/declared_facts.ts";
import type { Range } from "../../targets/ranges.ts";
import { namesFile } from "../../app/outputs/path_conflicts.ts";
import { parseDatabaseLocation } from "../../store/database_location.ts";
import {
  firstPollsMs,
  newWatchCounts,
  type PollingSetup,
  pollServers,
  type WatchCounts,
  type WatchedServer,
  type WatchEvent,
  type WatchRules,
  type Webhook,
  withEventLimit,
} from "../../watch/mod.ts";
import {
  connectionEnvironment,
  withoutSecrets,
} from "../../app/databases/connection_environment.ts";
import { formatConfig } from "../../app/options/config_file.ts";
import { type OptionsOf, optionsOf } from "../../app/options/option_table.ts";
import { type CommandCall, readCommandLine } from "../options/command_line.ts";
import { draw, isDumb, reportError, reportLine, terminalSize } from "../term/console.ts";
import { EventPrinter } from "../term/event_lines.ts";
import { openWatchTable } from "../term/live/watch_table.ts";
import { useColor } from "../term/server_description.ts";
import { startLine, watchSummary } from "../term/watch_summary.ts";
import { EXIT } from "../../app/exit_codes.ts";
import { onInterrupt } from "../../app/interrupt_signals.ts";
import { probedEndpoints, serveWatch } from "../../app/metrics/serve_watch.ts";
import { readServerRows } from "../../app/targets/servers_in_files.ts";
import { systemNetwork } from "../../app/system_network.ts";
import type { Network } from "../../net/network.ts";
import { keepPruned } from "../../app/databases/prune.ts";
import { keepRolledUp } from "../../app/databases/roll_up_databases.ts";
import {
  openPollingSockets,
  type PollingSettings,
  pollingSettings,
  type PollingSockets,
} from "../../app/engines/watch_sockets.ts";
import { WatchDatabases } from "../../app/databases/watch_databases.ts";
import {
  type WatchMetricsSettings,
  watchMetricsSettings,
} from "../../app/metrics/watch_metrics_settings.ts";
import { findAddedServers } from "../../app/targets/added_servers.ts";
import { MovedNames } from "../../app/targets/moved_names.ts";
import type { Database } from "../../store/database/database.ts";
import { readWatchTargets, withoutOptedOut } from "../../app/targets/watch_targets.ts";
import { openWebhook, readWebhook, type WebhookSetup } from "../../app/outputs/watch_webhook.ts";
import { eventIds, newScanId, randomBytes } from "../../app/system_random.ts";
import { seedOf } from "../../scan/random_numbers.ts";

/** The options of the command. */
interface Chosen {
  readonly options: OptionsOf<"watch">;
  readonly rules: WatchRules;
  readonly polling: PollingSettings;
  readonly webhook: WebhookSetup | undefined;
  /** What is measured and served; `undefined`: nothing. */
  readonly measured: WatchMetricsSettings | undefined;
  /** The options without secrets, as JSON. */
  readonly config: string;
}

/** Runs `watch` until Ctrl-C; returns the exit code. */
export async function runWatch(call: CommandCall): Promise<number> {
  const { words, options, given } = readCommandLine("watch", call);
  const chosen: Chosen = {
    options,
    rules: watchRules(options),
    polling: pollingSettings(options),
    webhook: await readWebhook(options, reportError),
    measured: await watchMetricsSettings(options),
    config: formatConfig("watch", withoutSecrets(given, optionsOf("watch"))),
  };
  await using lists = await WatchDatabases.open({ ...options, words }, chosen.rules, reportLine);
  const network = systemNetwork({
    optOutFile: options.optOutFile,
    note: reportError,
    report: reportLine,
    allProtocols: options.allProtocols,
  });
  const noted = await network.optOuts.read();
  const lastIds = await lists.lastIds();
  const named = await findServers(words, [...noted, ...await lists.optedOut()], {
    chosen,
    network,
    lists,
  });
  await lists.openOutputs(); // no database is created before all arguments are checked
  const before = [...noted, ...await lists.optedOut()];
  const servers = withoutOptedOut(named, before, reportLine);
  const optedOut = new OptedOutAddresses(before, seedOf(randomBytes));
  return await watchServers({ servers: [...servers], lastIds, chosen, network, lists, optedOut });
}

/** The servers that the words and files of the command line name. */
function findServers(
  words: readonly string[],
  optedOut: readonly Range[],
  { chosen: { options, rules, polling }, network, lists }: Pick<
    Watch,
    "chosen" | "network" | "lists"
  >,
): Promise<readonly WatchedServer[]> {
  const named = words.filter((word) => parseDatabaseLocation(word) === undefined);
  return readWatchTargets({
    optedOut,
    words: named.filter((word) => !namesFile(word)),
    files: [...named.filter(namesFile), ...options.inputFile],
    allowPrivate: options.allowPrivate,
    lists: lists.sources,
    protocols: polling.protocols,
    names: options.names,
    rules,
    report: reportLine,
    note: reportError,
    lookups: network,
    readRows: readServerRows,
  });
}

/** A watch: its servers, and what it reads and writes. */
interface Watch {
  /** The servers. It grows while servers are added to databases. */
  readonly servers: WatchedServer[];
  /** The last id of the servers in each watched database before it was read. */
  readonly lastIds: ReadonlyMap<Database, number>;
  readonly chosen: Chosen;
  readonly network: Network;
  readonly lists: WatchDatabases;
  /** All addresses that opted out. */
  readonly optedOut: OptedOutAddresses;
}

/** Polls the servers until Ctrl-C; returns the exit code. */
async function watchServers(watch: Watch): Promise<number> {
  const { servers, chosen: { options, rules, webhook, measured, config }, lists } = watch;
  using interrupt = onInterrupt(() => {});
  const atTerminal = Deno.stdout.isTerminal();
  const printer = new EventPrinter(options.json || !atTerminal);
  const signal = AbortSignal.any([interrupt.signal, printer.signal]);
  await using hook = webhook && await openHook(webhook, watch);
  const polling = await openPolling(watch, signal);
  if (!options.quiet) reportLine(startLine(servers.length, rules));
  const counts = newWatchCounts();
  const setup = pollingSetup(watch, polling);
  const { journals } = lists;
  const webhooks = hook === undefined ? [] : [hook];
  const { allowPrivate } = options;
  const sources = { rules, polling, counts, journals, webhooks, allowPrivate, signal };
  await using served = serveWatch(measured, { ...watch, ...setup, ...sources }, reportLine);
  const reportEvent = withEventLimit((event, isStored) => {
    counts.events++;
    [served.metrics, printer].forEach((one) => one.add(event));
    hook?.add(event, isStored);
  });
  lists.onEvent = reportEvent;
  const countOnline = () => servers.filter((server) => server.reportedOnline).length;
  lists.numbers = () => {
    const { polls: probesSent, replied: replies } = counts;
    return { probesSent, replies, found: countOnline() };
  };
  await lists.begin(config);
  const onPoll = (lateMs: number) => served.metrics.late(lateMs);
  const isLive = atTerminal && !isDumb() && !options.json && !options.plain && !options.quiet;
  using table = isLive ? openTable(watch, counts) : undefined;
  signal.addEventListener("abort", () => table?.[Symbol.dispose](), { once: true });
  await runTogether(watch, polling, setup, { signal, counts, onPoll, reportEvent });
  const online = countOnline();
  (await lists.end(counts, online)).forEach(reportLine);
  await hook?.close();
  await printer.printed();
  if (!options.quiet) reportLine(watchSummary(online, servers.length, counts, hook));
  return EXIT.interrupted; // only a signal ends a watch without an error
}

/** Opens the live table of the watched servers. */
function openTable(
  { servers, chosen: { options: { noColor } } }: Watch,
  counts: WatchCounts,
): Disposable {
  return openWatchTable({
    servers,
    counts,
    clock: systemClock,
    size: terminalSize,
    draw,
    color: useColor(noColor),
  });
}

/** What is common to the activities of a watch. */
interface Activities extends Required<Pick<PollingSetup, "signal" | "counts" | "onPoll">> {
  readonly reportEvent: (event: WatchEvent) => void;
}

/** Polls the servers, follows their names, and maintains the databases, until the signal. */
async function runTogether(
  watch: Watch,
  polling: PollingSockets,
  setup: ReturnType<typeof pollingSetup>,
  { signal, counts, onPoll, reportEvent }: Activities,
): Promise<void> {
  const { servers, lists, chosen: { options } } = watch;
  const names = movedNames(watch, polling, signal);
  const environment = connectionEnvironment(reportLine);
  await Promise.all([
    pollServers({
      ...setup,
      ...pollResults(watch, setup, names, reportEvent),
      signal,
      counts,
      findServers: (add) => findServersAdded(watch, polling, signal, add),
      onPoll,
    }),
    polling.sockets.listen(),
    names.follow(servers),
    keepRolledUp(lists.places, environment, signal, report),
    keepPruned(lists.places, options.keep, environment, signal, report),
  ]);
}

/** Opens the webhook of a watch. */
function openHook(
  webhook: WebhookSetup,
  { lists, chosen: { rules: { scanId }, options: { names, allProtocols } } }: Watch,
): Promise<Webhook> {
  return openWebhook(webhook, {
    scanId,
    places: lists.places,
    openFirstAgain: () => lists.openFirstAgain(),
    shown: (record) => names ? record : withoutPlayers(record, allProtocols),
  }, reportError);
}

/** Stores the results of polls in databases, and reports events that no database decides. */
function pollResults(
  { lists }: Watch,
  { onPolled }: OptOutHooks,
  names: MovedNames,
  reportEvent: (event: WatchEvent) => void,
): Pick<PollingSetup, "onPolled" | "onEvent" | "onWatcherEvent"> {
  return {
    onPolled: (server, ...result) => {
      onPolled(server, ...result);
      if (server.misses === 1) void names.lookUp(server);
    },
    onEvent: (event, server) => {
      if (!lists.decideEvents) {
        server.reported(event);
        reportEvent(event);
      } else if (event.event === "opted_out") {
        lists.journals.forEach((journal) => journal.drop(server, event));
      }
    },
    onWatcherEvent: (event) => {
      if (!lists.decideEvents) reportEvent(event);
      lists.journals.forEach((journal) => journal.addWatcherEvent(event));
    },
  };
}

/** The lookups of servers' names, which may lead to other addresses during the watch. */
function movedNames(
  { network, chosen: { options: { allowPrivate } } }: Watch,
  { families, limitRate }: PollingSockets,
  signal: AbortSignal,
): MovedNames {
  const shared = { allowPrivate, families, clock: systemClock, signal, report };
  return new MovedNames({ ...shared, lookups: network, onMove: limitRate });
}

/** Finds servers that are added to the watched databases, until the signal. */
function findServersAdded(
  { chosen: { rules, options: { names } }, lastIds, servers, optedOut }: Watch,
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
      !optedOut.has(address) && families.includes(family(address)),
    clock: systemClock,
    signal,
  });
}

/** Prints a line that begins with the name of the program. */
function report(line: string): void {
  reportLine(`blocksweep: ${line}`);
}

/** Opens the sockets of a watch. */
function openPolling(
  { servers, chosen: { polling, options, rules, measured }, network, lists, lastIds, optedOut }:
    Watch,
  signal: AbortSignal,
): Promise<PollingSockets> {
  return openPollingSockets(servers, polling, {
    network,
    scanId: rules.scanId,
    signal,
    report,
    attach: attachedTo(lists, options.names),
    optedOut: (address) => optedOut.has(address),
    others: probedEndpoints(measured),
    mayGrow: lastIds.size > 0,
  });
}

/** Reads and records opt-outs. */
type OptOutHooks = Required<Pick<PollingSetup, "optedOut" | "onOptOut" | "onPolled">>;

/** The servers to poll, their schedule, and the recording of opt-outs and replies. */
function pollingSetup(
  { servers, chosen: { options: { names, allProtocols }, rules }, network, lists, optedOut }: Watch,
  { poller, pool }: PollingSockets,
): Omit<PollingSetup, "signal" | "counts" | "onEvent"> & OptOutHooks {
  return {
    servers,
    rules,
    pool,
    random: Math.random,
    clock: systemClock,
    spreadMs: firstPollsMs(servers.length, rules.intervalMs),
    poll: async (server) => {
      const polled = await poller.poll(server);
      return typeof polled !== "object" || names ? polled : withoutPlayers(polled, allProtocols);
    },
    optedOut: (address) => optedOut.has(address),
    onOptOut: (address) => {
      optedOut.add(address);
      network.optOuts.note(address);
      lists.journals.forEach((journal) => journal.optOut(address, Date.now()));
    },
    onPolled: (...polled) => lists.journals.forEach((journal) => journal.addPoll(...polled)),
  };
}

/** The attachments that databases store: raw replies only with `--names`, because they may name players. */
function attachedTo(lists: WatchDatabases, names: boolean): "icons" | "all" | undefined {
  if (lists.places.length === 0) return undefined;
  return names ? "all" : "icons";
}

/** The rules that the options select. */
function watchRules(
  { interval, downAfter, backoff, allProtocols }: OptionsOf<"watch">,
): WatchRules {
  const scanId = newScanId(Date.now());
  const newEventId = eventIds();
  return { intervalMs: interval, downAfter, backoff, scanId, newEventId, allProtocols };
}
