/**
 * The lines at the start and at the end of a watch, and those about the freshness of a crawl.
 *
 * @module
 */
import { countOf, withCommas } from "../../core/quantities.ts";
import { ago } from "../../app/databases/mod.ts";
import { webhookSummary } from "../../app/webhooks/mod.ts";
import type {
  CrawlStatus,
  DiscoveryCounts,
  WatchCounts,
  WatchRules,
  Webhook,
} from "../../watch/mod.ts";

/** The line with the number of endpoints and the interval. */
export function startLine(endpoints: number, { intervalMs }: WatchRules): string {
  return `watching ${countOf(endpoints, "endpoint")}, polled every ${intervalMs / 1000} s`;
}

/** The line with the number of servers and the budget of a crawl, and whether it discovers servers. */
export function crawlStartLine(servers: number, perDay: number, discovers: boolean): string {
  return `crawling ${countOf(servers, "server")} with at most ${withCommas(perDay)} probes a day` +
    (discovers ? "" : "; no discovery: the database has no public IPv4 servers");
}

/** The line about how well a crawl knows its servers. */
export function freshnessLine(
  { servers, believed, medianMs, p95Ms, discovery }: CrawlStatus,
  { polls }: Pick<WatchCounts, "polls">,
): string {
  return `${(100 * believed).toFixed(1)} % of ${countOf(servers, "server")} ` +
    `probably unchanged since the last probe: ${ago(0, medianMs)} ago (median), ${
      ago(0, p95Ms)
    } (95th percentile); ${countOf(polls, "poll")}; ${discoveryText(discovery)}`;
}

/** The figures of {@linkcode freshnessLine}, for messages as JSON. */
export function freshnessFigures(
  { servers, believed, medianMs, p95Ms, discovery }: CrawlStatus,
  { polls }: Pick<WatchCounts, "polls">,
): Record<string, number> {
  return {
    servers,
    believed: Number(believed.toFixed(4)),
    last_probe_median_s: Math.round(medianMs / 1000),
    last_probe_p95_s: Math.round(p95Ms / 1000),
    polls,
    ...discoveryFigures(discovery),
  };
}

/** The figures of {@linkcode discoveryText}, for messages as JSON. */
export function discoveryFigures({ probes, found }: DiscoveryCounts): Record<string, number> {
  return { discovery_probes: probes, discovery_found: found };
}

/** What discovery has done, in words. */
export function discoveryText({ probes, found }: DiscoveryCounts): string {
  return `${countOf(probes, "discovery probe")}, ${withCommas(found)} found`;
}

/** The line with the counts of a watch that has ended. */
export function watchSummary(
  online: number,
  all: number,
  counts: WatchCounts,
  hook?: Webhook,
): string {
  const late = counts.maxLateMs < 1000
    ? ""
    : `, delayed by up to ${(counts.maxLateMs / 1000).toFixed(1)} s`;
  const sent = hook === undefined ? "" : webhookSummary(hook);
  const deferred = counts.deferred === 0
    ? ""
    : `, ${withCommas(counts.deferred)} deferred for lack of descriptors (ulimit -n)`;
  return `${withCommas(online)} of ${countOf(all, "endpoint")} online; ` +
    `${countOf(counts.polls, "poll")}${late}, ${
      withCommas(counts.replied)
    } with a reply${deferred}; ` +
    `${countOf(counts.events, "event")}${sent}`;
}

/** The figures of {@linkcode watchSummary}, for messages as JSON. */
export function watchFigures(
  online: number,
  all: number,
  { polls, replied, deferred, events, maxLateMs }: WatchCounts,
): Record<string, number> {
  return {
    endpoints: all,
    online,
    polls,
    replied,
    deferred,
    events,
    max_late_ms: Math.round(maxLateMs),
  };
}
