/**
 * Runs a prepared crawl: polls the known servers that are due, until the signal.
 *
 * @module
 */
import { systemDisk } from "../../sinks/file_operations.ts";
import { CrawlLoop, type Freshness, freshnessOf } from "../../watch/crawl_loop.ts";
import type { WatchCounts, WatchEvent } from "../../watch/mod.ts";
import { runPreparedWatch, type WatchResult } from "../watch/run_watch.ts";
import { writeCrawlFile } from "./crawl_file.ts";
import type { PreparedCrawl } from "./prepare_crawl.ts";

/** What follows a running crawl. */
export interface RunCrawlOptions {
  /** Ends the crawl. */
  readonly signal: AbortSignal;
  /** Receives the events. */
  readonly onEvent: (event: WatchEvent) => void;
  /** Called when everything is open, before the first poll. */
  readonly begin?: (counts: WatchCounts, freshness: () => Freshness) => void;
}

/**
 * Polls the servers of a crawl until the signal.
 *
 * @throws InputError and StoreError as a watch; Deno.errors.NotCapable.
 */
export async function runPreparedCrawl(
  crawl: PreparedCrawl,
  { signal, onEvent, begin }: RunCrawlOptions,
): Promise<WatchResult> {
  const { polls, perDay, recentYield, path } = crawl;
  const { clock } = polls.network;
  const freshness = () => freshnessOf(polls.servers.map(({ known }) => known), clock.wall());
  try {
    return await runPreparedWatch(polls, {
      signal,
      onEvent,
      freshness,
      begin: (counts) => begin?.(counts, freshness),
      openLoop: (options) =>
        new CrawlLoop({
          ...options,
          perDay,
          recentYield,
          minDiscovery: 1,
          discover: () => Promise.resolve(0),
        }),
    });
  } finally {
    if (path !== undefined) await writeCrawlFile(systemDisk, path, recentYield.batches);
  }
}
