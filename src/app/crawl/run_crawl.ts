/**
 * Runs a prepared crawl: polls the known servers that are due, and finds new ones, until the signal.
 *
 * @module
 */
import { type ScanControls, throttleOf } from "../../scan/mod.ts";
import {
  CrawlLoop,
  type CrawlStatus,
  type DiscoveryCounts,
  freshnessOf,
  type WatchCounts,
  type WatchedServer,
} from "../../watch/mod.ts";
import type { WatchEvent } from "../../store/events/watch_event.ts";
import { systemDisk } from "../../sinks/file_operations.ts";
import { runPreparedScan } from "../scan/run_scan.ts";
import { runPreparedWatch, type WatchResult } from "../watch/run_watch.ts";
import { writeCrawlFile } from "./crawl_file.ts";
import { DiscoveryRounds } from "./discovery_rounds.ts";
import { prepareRound } from "./discovery_scan.ts";
import { RoundEvents } from "./round_events.ts";
import { withoutPlayers } from "../../protocols/declared_facts.ts";
import type { PreparedCrawl } from "./prepare_crawl.ts";
import { formatHost } from "../../core/address.ts";
import type { ServerRecord } from "../../core/record.ts";
import { RowObserver } from "../outputs/row_observer.ts";

/** Share of the budget of a day for which a pass of discovery waits, unless it needs less. */
const PASS_SHARE = 1 / 24;

export interface RunCrawlOptions {
  /** Ends the crawl. */
  readonly signal: AbortSignal;
  readonly onEvent: (event: WatchEvent) => void;
  /** Called when everything is open, before the first poll. */
  readonly begin?: (
    counts: WatchCounts,
    hasProgress: () => boolean,
    crawlStatus: () => CrawlStatus,
  ) => void;
}

export interface CrawlResult extends WatchResult {
  readonly discovery: DiscoveryCounts;
}

/**
 * Polls the servers of a crawl, and discovers new ones, until the signal. Servers that discovery finds
 * are polled from then on, because they are in the database.
 *
 * @throws InputError and StoreError as a watch; Deno.errors.NotCapable.
 */
export async function runPreparedCrawl(
  crawl: PreparedCrawl,
  { signal, onEvent, begin }: RunCrawlOptions,
): Promise<CrawlResult> {
  const { polls, perDay, recentYield, path, limits, context: { warn } } = crawl;
  const { clock } = polls.network;
  let isUnsaved = false;
  const save = async () => {
    if (path === undefined) return;
    try {
      await writeCrawlFile(systemDisk, path, recentYield.batches);
    } catch (error) {
      if (isUnsaved) return; // reported before
      isUnsaved = true;
      const reason = (error as Error).message;
      warn(`blocksweep: cannot write "${path}": ${reason}; the yield of discovery is not saved`);
    }
  };
  const throttle = limits && throttleOf(limits);
  await using events = limits && await openEvents(crawl);
  let controls: ScanControls | undefined;
  const rounds = new DiscoveryRounds({
    ...{ recentYield, clock, signal, minProbes: perDay * PASS_SHARE, onPass: save },
    report: (line) => warn(`blocksweep: ${line}`),
    run: async (beforePass) => {
      const { scan, writes } = await prepareRound(crawl, crawl.ranges, polls);
      const onStart = (started: ScanControls) => {
        controls = started;
      };
      const found = new NewServers(polls.servers);
      const known = scan.adaptive?.known.length ?? 0;
      const { end } = await runPreparedScan(scan, writes, {
        ...{ signal, throttle, onStart },
        isBesidePolls: true, // polls notice an outage here
        beforePass: (pass) =>
          beforePass({ ...pass, known, found: found.count, hasReplies: found.hasReplies }),
        begin: ({ state: { scanId } }) => {
          events?.scans.add(scanId);
          return [found];
        },
      });
      controls = undefined;
      if (end.error !== undefined) throw end.error;
    },
  });
  const discovery = rounds.counts;
  const crawlStatus = () => ({
    ...freshnessOf(polls.servers.map(({ known }) => known), clock.wall()),
    discovery,
  });
  const discover = limits && ((probes: number) => rounds.discover(probes));
  try {
    const result = await runPreparedWatch(polls, {
      ...{ signal, onEvent, throttle, crawlStatus },
      onOptOut: (address) => controls?.optOut(address),
      begin: (counts, hasProgress) => begin?.(counts, hasProgress, crawlStatus),
      openLoop: (options) =>
        new CrawlLoop({ ...options, perDay, recentYield, minDiscovery: 1, discover }),
    });
    return { ...result, discovery };
  } finally {
    await rounds.end();
    await save();
  }
}

/** Begins to report the events of discovery as the events of polls that a database has. */
async function openEvents(
  { polls: { databases, network: { clock } }, options, context: { warn } }: PreparedCrawl,
): Promise<RoundEvents | undefined> {
  const database = await databases.openFirstAgain();
  return database && await RoundEvents.open({
    database,
    clock,
    shown: (record) => options.names ? record : withoutPlayers(record, options.allProtocols),
    onEvent: (event) => databases.onEvent(event, true),
    report: (line) => warn(`blocksweep: ${line}`),
  });
}

/**
 * Counts new servers, each once. Further ports of one server are not counted. The reply of a known
 * server counts as that of a poll, unless the server is polled by a name, which the scan did not send.
 */
export class NewServers extends RowObserver {
  /** Number of new servers. */
  count = 0;
  /** Whether any server has replied. */
  hasReplies = false;
  readonly #known: Map<string, WatchedServer[]>;

  constructor(known: Iterable<WatchedServer>) {
    super();
    this.#known = Map.groupBy(
      known,
      ({ endpoint }) => keyOf({ host: formatHost(endpoint), port: endpoint.port }),
    );
  }

  override read(records: readonly ServerRecord[]): void {
    this.hasReplies ||= records.length > 0;
    for (const record of records) {
      const key = keyOf(record);
      const known = this.#known.get(key);
      for (const server of known ?? []) if (server.name === null) server.seen(record.seen_at);
      if (record.alias_of !== null || known !== undefined) continue;
      this.#known.set(key, []);
      this.count++;
    }
  }
}

function keyOf({ host, port }: Pick<ServerRecord, "host" | "port">): string {
  return `${host} ${port}`;
}
