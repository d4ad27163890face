/**
 * Prepares a watch whose options were read: opens its databases, and finds its servers. Nothing is
 * polled.
 *
 * @module
 */
import type { Clock } from "../../net/clock.ts";
import type { Network } from "../../net/mod.ts";
import { OptedOutAddresses, seedOf } from "../../scan/mod.ts";
import type { WatchedServer, WatchRules } from "../../watch/mod.ts";
import type { Database } from "../../store/database/database.ts";
import { parseDatabaseLocation } from "../../store/database_location.ts";
import type { Range } from "../../targets/ranges.ts";
import { contextNetwork } from "../network/call_context.ts";
import { WatchDatabases } from "./watch_databases.ts";
import { namesFile } from "../options/path_conflicts.ts";
import { protocolsOf } from "../settings/chosen_protocols.ts";
import { eventIds, newScanId, randomBytes } from "../system_random.ts";
import { readWatchTargets, withoutOptedOut } from "../targets/watch_targets.ts";
import type { WatchRequest } from "./read_watch.ts";

/** A watch that is ready to run. It owns its open databases. */
export interface PreparedWatch extends WatchRequest, AsyncDisposable {
  readonly network: Network;
  readonly rules: WatchRules;
  readonly databases: WatchDatabases;
  /** The last id of the servers in each watched database before it was read. */
  readonly lastIds: ReadonlyMap<Database, number>;
  /** The servers. It grows while servers are added to databases. */
  readonly servers: WatchedServer[];
  readonly optOuts: OptedOutAddresses;
  /** The version of the list of opt-outs before it was read. */
  readonly optOutVersion: string;
}

/**
 * Opens the databases of a watch, and finds its servers.
 *
 * @throws InputError for servers, files and databases that cannot be used, and if every server opted
 * out; Interrupted if an interruption ends the wait for a locked database.
 */
export async function prepareWatch(request: WatchRequest): Promise<PreparedWatch> {
  const { options, command, words, context } = request;
  const writesSpans = command === "watch";
  const network = contextNetwork(context, options.optOutFile);
  const rules = watchRules(request, network.clock);
  await using stack = new AsyncDisposableStack();
  const databases = stack.use(
    await WatchDatabases.open({ ...options, words, writesSpans }, rules, {
      ...context,
      clock: network.clock,
    }),
  );
  const optOutVersion = await network.optOuts.version?.() ?? "";
  const noted = await network.optOuts.read();
  const lastIds = await databases.lastIds();
  const before = [...noted, ...await databases.optedOut()];
  const named = await findServers(request, { network, rules, databases }, before);
  await databases.openOutputs(); // no database is created before all arguments are checked
  const optedOut = [...noted, ...await databases.optedOut()];
  const servers = [...withoutOptedOut(named, optedOut, context.warn)];
  const optOuts = new OptedOutAddresses(optedOut, seedOf(randomBytes));
  const opened = stack.move();
  return {
    ...request,
    network,
    rules,
    databases,
    lastIds,
    servers,
    optOuts,
    optOutVersion,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** The rules that the options select. */
function watchRules(
  { command, options: { interval, downAfter, backoff, allProtocols } }: WatchRequest,
  clock: Clock,
): WatchRules {
  const isCrawl = command === "crawl";
  const scanId = newScanId(clock.wall());
  const newEventId = eventIds();
  return { intervalMs: interval, downAfter, backoff, isCrawl, scanId, newEventId, allProtocols };
}

/** The servers that words and files name. */
function findServers(
  { words, options, context }: WatchRequest,
  { network, rules, databases }: Pick<PreparedWatch, "network" | "rules" | "databases">,
  optedOut: readonly Range[],
): Promise<readonly WatchedServer[]> {
  const named = words.filter((word) => parseDatabaseLocation(word) === undefined);
  return readWatchTargets({
    optedOut,
    words: named.filter((word) => !namesFile(word)),
    files: [...named.filter(namesFile), ...options.inputFile],
    allowPrivate: options.allowPrivate,
    strict: options.strict,
    lists: databases.sources,
    protocols: protocolsOf(options),
    names: options.names,
    rules,
    report: context.warn,
    note: context.note,
    lookups: network,
  });
}
