/**
 * Watches known servers from a program.
 *
 * @module
 */
import { openPollingSockets, type PollingSettings } from "../app/engines/watch_sockets.ts";
import { DEFAULTS } from "../app/settings/defaults.ts";
import { protocolsOf } from "../app/settings/chosen_protocols.ts";
import { streamLimits } from "../app/scan/scan_rates.ts";
import { readWatchTargets } from "../app/targets/watch_targets.ts";
import type { Address } from "../core/address.ts";
import { withoutPlayers } from "../protocols/declared_facts.ts";
import type { Network } from "../net/network.ts";
import { OptedOutAddresses } from "../scan/opt_outs/opted_out_addresses.ts";
import type { Range } from "../targets/ranges.ts";
import type { WatchEvent } from "../store/events/watch_event.ts";
import { withEventLimit } from "../watch/event_limit.ts";
import { newWatchCounts, pollServers } from "../watch/watch.ts";
import { firstPollsMs, MIN_INTERVAL_MS } from "../watch/poll_loop.ts";
import type { WatchedServer, WatchRules } from "../watch/watched_server.ts";
import {
  checked,
  checkedMs,
  checkedRetries,
  checkedTimeout,
  type InquiryOptions,
  networkOf,
  noteOf,
  protocolChoice,
  signalOf,
} from "./common_options.ts";
import { iterateTask, type Results } from "./iterate_task.ts";
import { eventIds, newScanId, randomBytes } from "../app/system_random.ts";
import { seedOf } from "../scan/random_numbers.ts";

/** Options of a watch. They have the names and defaults of the options of `blocksweep watch`. */
export interface WatchOptions extends InquiryOptions {
  /** Interval between two polls of a server, milliseconds, at least 5000. Default: 60,000. */
  readonly intervalMs?: number;
  /**
   * Number of successive polls without a reply after which a server counts as offline, 1 to 100.
   * Default: 3.
   */
  readonly downAfter?: number;
  /**
   * Whether servers that have been offline for long are polled less often, at least once an hour.
   * Default: no.
   */
  readonly backoff?: boolean;
  /**
   * Number of repetitions of an exchange without a reply, 0 to 3.
   *
   * @default 2
   */
  readonly retries?: number;
  /** Packets per second. Default: 1000, or no limit if all servers are on loopback. */
  readonly rate?: number;
  /** Maximum number of concurrent polls. Default: 256, or more if the interval requires more. */
  readonly concurrency?: number;
  /** Whether records and events contain names of players. Default: no. */
  readonly names?: boolean;
  /** The opt-out file. Default: `blocksweep/opt-out.txt` in the user's configuration folder. */
  readonly optOutFile?: string;
}

/**
 * Polls servers at a regular interval, and yields an event for each change: a server goes online or
 * offline, its columns or players change, it was restarted, or it opted out. Events of the watch itself
 * (`watcher_offline`, `watcher_online`) have no host. The watch runs until the
 * loop is left. Its sockets are then closed. While the loop is busy with an event, no further polls
 * start.
 *
 * Needs `--allow-net`, `--allow-env` and `--allow-read` (`--allow-write` to record opt-outs), and
 * `"unstable": ["net"]` in deno.json.
 *
 * @param hosts Addresses and names, each optionally with a port, in the form of {@linkcode query}.
 * @throws InputError for a host or an option that cannot be used, and when every host opted out.
 *
 * @example Wait until a server is online
 * ```ts
 * import { watch } from "blocksweep";
 * import { SimulatedNetwork } from "blocksweep/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const network = new SimulatedNetwork();
 * network.addServer({ host: "10.0.0.7", software: "bds", status: { name: "Lobby" } });
 * const waitUntilOnline = async () => {
 *   for await (const event of watch(["10.0.0.7:19132"], { network })) {
 *     if (event.event === "online") return event.server.name;
 *   }
 * };
 * assertEquals(await network.run(waitUntilOnline()), "Lobby");
 * ```
 */
export function watch(
  hosts: readonly string[],
  options: WatchOptions = {},
): AsyncGenerator<WatchEvent, void, undefined> {
  return iterateTask((results) => run(hosts, options, results));
}

async function run(
  hosts: readonly string[],
  options: WatchOptions,
  { add, room, left }: Results<WatchEvent>,
): Promise<void> {
  const { names = false } = options;
  const polling = pollingOf(options);
  const rules = rulesOf(options);
  const network = networkOf(options, options.optOutFile);
  const before = await network.optOuts.read();
  const servers = await findServers(hosts, options, rules, network, before);
  const failing = new AbortController(); // if one of the two tasks fails, the other is cancelled
  const signal = AbortSignal.any([signalOf(options), left, failing.signal]);
  const optOuts = new OptedOutAddresses(before, seedOf(randomBytes));
  const optedOut = (address: Address) => optOuts.has(address);
  const around = {
    network,
    scanId: rules.scanId,
    signal,
    report: noteOf(options),
    attach: undefined,
    optedOut,
  };
  const report = withEventLimit((event) => void add(event));
  const { poller, sockets, pool } = await openPollingSockets(servers, polling, around);
  const polls = pollServers({
    servers,
    rules,
    pool,
    optedOut,
    signal,
    clock: network.clock,
    random: Math.random,
    counts: newWatchCounts(),
    spreadMs: firstPollsMs(servers.length, rules.intervalMs),
    poll: async (server) => {
      await room();
      const polled = await poller.poll(server);
      return typeof polled !== "object" || names
        ? polled
        : withoutPlayers(polled, rules.allProtocols);
    },
    onOptOut: (address) => {
      optOuts.add(address);
      network.optOuts.note(address);
    },
    onEvent: (event) => report(event),
    onWatcherEvent: (event) => report(event),
  });
  await endTogether([polls, sockets.listen()], failing);
}

/** The servers at the given hosts. */
function findServers(
  hosts: readonly string[],
  options: WatchOptions,
  rules: WatchRules,
  network: Network,
  optedOut: readonly Range[],
): Promise<readonly WatchedServer[]> {
  const { names = false, allowPrivate = false } = options;
  const note = noteOf(options);
  return readWatchTargets({
    words: hosts,
    files: [],
    lists: [],
    optedOut,
    names,
    rules,
    protocols: protocolsOf(protocolChoice(options)),
    allowPrivate,
    lookups: network,
    report: note,
    note,
  });
}

/** Waits for all tasks. The first task that ends aborts the others. Throws the first error. */
async function endTogether(
  tasks: readonly Promise<void>[],
  others: AbortController,
): Promise<void> {
  const ends = await Promise.allSettled(tasks.map((task) => task.finally(() => others.abort())));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

function pollingOf(options: WatchOptions): PollingSettings {
  const choice = protocolChoice(options);
  const timeoutMs = checkedTimeout(options);
  return {
    protocols: protocolsOf(choice),
    allProtocols: choice.allProtocols,
    timeoutMs: timeoutMs ?? DEFAULTS.timeoutMs,
    limits: streamLimits(timeoutMs),
    concurrency: checked("concurrency", options.concurrency, { least: 1, most: 100_000 }),
    retries: checkedRetries(options, "watch"),
    rate: checked("rate", options.rate, { least: 0.001, most: 1e9, fractions: true }),
  };
}

function rulesOf(options: WatchOptions): WatchRules {
  const { intervalMs, downAfter } = DEFAULTS.watch;
  return {
    allProtocols: protocolChoice(options).allProtocols,
    intervalMs: checkedMs("intervalMs", options.intervalMs, MIN_INTERVAL_MS) ?? intervalMs,
    backoff: options.backoff,
    downAfter: checked("downAfter", options.downAfter, { least: 1, most: 100 }) ?? downAfter,
    scanId: newScanId(Date.now()),
    newEventId: eventIds(),
  };
}
