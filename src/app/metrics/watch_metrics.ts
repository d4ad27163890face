/**
 * The metrics of a watch.
 *
 * @module
 */
import { endpointKey } from "../../core/address.ts";
import type { Clock } from "../../net/clock.ts";
import { EVENT_KINDS, type WatchEvent } from "../../store/events/watch_event.ts";
import type { CrawlStatus, Journal, WatchCounts, WatchedServer } from "../../watch/mod.ts";
import { type Family, Histogram, type Sample } from "./prometheus_text.ts";
import { counter, databaseFamilies, gauge, metricFamily } from "./scan_metrics.ts";
import type { ServerInfoSeries } from "./server_info.ts";

/** Maximum number of servers with a time series of their own; later ones have none. */
const MAX_SERVERS = 10_000;
/** Bucket bounds of the delay of polls, seconds. */
export const DELAY_BOUNDS: readonly number[] = [
  0.001,
  0.002,
  0.005,
  0.01,
  0.02,
  0.05,
  0.1,
  0.2,
  0.5,
  1,
  5,
  30,
];

/** The family of the delay of polls, without its values. */
export const POLL_DELAY: Omit<Family, "samples"> = metricFamily(
  "poll_delay_seconds",
  "histogram",
  "Delay of polls against their schedule.",
  [],
);

export interface WebhookCounts {
  /** Number of events that the receiver accepted. */
  readonly delivered: number;
  /** Number of lost events. */
  readonly lost: number;
  /** Number of events in the queue. */
  readonly waiting: number;
}

/** The parts of a watch that metrics describe. */
export interface MeasuredWatch {
  readonly servers: readonly WatchedServer[];
  readonly counts: WatchCounts;
  readonly journals: readonly Journal[];
  /** Its webhooks. Default: none. */
  readonly webhooks?: readonly WebhookCounts[];
  /** The state of the crawl of which the watch is a part. Default: there is none. */
  readonly crawlStatus?: () => CrawlStatus;
  /** The labels of the servers' info series. Default: there are no such series. */
  readonly info?: ServerInfoSeries;
  /** Called with the delay of each poll, seconds. Default: delays are only counted. */
  readonly onDelay?: (seconds: number) => void;
  /** The clock of the info series. */
  readonly clock: Pick<Clock, "now">;
}

export class WatchMetrics {
  readonly #late = new Histogram(DELAY_BOUNDS);
  readonly #events = new Map(EVENT_KINDS.map((event) => [event, 0]));

  /** Starts with zero events and no late polls. */
  constructor(private readonly watch: MeasuredWatch) {}

  /** Counts the delay of a poll against its schedule, milliseconds. */
  late(ms: number): void {
    this.#late.add(ms / 1000);
    this.watch.onDelay?.(ms / 1000);
  }

  /** Counts an event by its kind. */
  add({ event }: WatchEvent): void {
    this.#events.set(event, this.#events.get(event)! + 1);
  }

  /** All metric families, with their current values. */
  families(): Family[] {
    const { servers, journals, webhooks = [], info, crawlStatus } = this.watch;
    return [
      ...serverFamilies(servers),
      ...(info === undefined ? [] : [this.#infoFamily(info)]),
      ...this.#pollFamilies(),
      ...journalFamilies(journals),
      ...webhookFamilies(webhooks),
      ...(crawlStatus === undefined ? [] : crawlFamilies(crawlStatus())),
    ];
  }

  /** The family of the names, editions, software and versions of servers. */
  #infoFamily(info: ServerInfoSeries): Family {
    const { servers, clock } = this.watch;
    const now = clock.now();
    const samples = servers.slice(0, MAX_SERVERS).flatMap((server): Sample[] => {
      if (server.row === undefined) return [];
      const labels = info.labelsOf(server, server.row, now);
      return [{ value: 1, labels: { ...serverLabel(server), ...labels } }];
    });
    return metricFamily(
      "server_info",
      "gauge",
      "What a server publishes about itself; read anew once an hour.",
      samples,
    );
  }

  /** The families of polls, and of the events that they led to. */
  #pollFamilies(): Family[] {
    const { polls, replied, deferred, maxLateMs } = this.watch.counts;
    return [
      counter("polls", "Finished polls.", polls),
      counter("polls_replied", "Polls with a reply.", replied),
      counter("polls_deferred", "Polls deferred for lack of descriptors.", deferred),
      { ...POLL_DELAY, samples: this.#late.samples },
      gauge(
        "poll_delay_max_seconds",
        "Longest delay of a poll against its schedule.",
        maxLateMs / 1000,
      ),
      metricFamily(
        "events",
        "counter",
        "Events by kind.",
        [...this.#events].map(([event, value]) => ({ labels: { event }, value })),
      ),
    ];
  }
}

/** The families of the results that databases store. */
function journalFamilies(journals: readonly Journal[]): Family[] {
  return [
    counter(
      "observations_written",
      "Observations written to databases.",
      sumOf(journals, ({ written }) => written),
    ),
    counter(
      "observations_lost",
      "Observations that no database accepted.",
      sumOf(journals, ({ lost }) => lost),
    ),
    ...databaseFamilies(journals, "Results of polls that are not in the databases yet."),
  ];
}

/** The families of webhooks. Without a webhook all their values are 0. */
function webhookFamilies(webhooks: readonly WebhookCounts[]): Family[] {
  return [
    gauge(
      "webhook_backlog",
      "Events that wait for the webhook.",
      sumOf(webhooks, ({ waiting }) => waiting),
    ),
    counter(
      "webhook_events_delivered",
      "Events that the webhook's receiver accepted.",
      sumOf(webhooks, ({ delivered }) => delivered),
    ),
    counter(
      "webhook_events_lost",
      "Events that the webhook's receiver did not get.",
      sumOf(webhooks, ({ lost }) => lost),
    ),
  ];
}

function crawlFamilies({ believed, medianMs, p95Ms, discovery }: CrawlStatus): Family[] {
  return [
    gauge(
      "servers_believed_ratio",
      "Expected share of servers whose state has not changed since their last probe.",
      believed,
    ),
    metricFamily(
      "probe_age_seconds",
      "gauge",
      "Time since the last probe of a server, by quantile.",
      [
        { labels: { quantile: "0.5" }, value: medianMs / 1000 },
        { labels: { quantile: "0.95" }, value: p95Ms / 1000 },
      ],
    ),
    counter("crawl_discovery_probes", "Probes of discovery.", discovery.probes),
    counter("crawl_discovered", "Servers that discovery found.", discovery.found),
  ];
}

function sumOf<T>(parts: readonly T[], value: (part: T) => number): number {
  return parts.reduce((sum, part) => sum + value(part), 0);
}

/** The label of a server: its key in databases, because two names may lead to one address. */
function serverLabel({ identity }: WatchedServer): { readonly server: string } {
  return { server: identity.key };
}

/** The families of the servers: their number by state, and series for each of the first ones. */
function serverFamilies(servers: readonly WatchedServer[]): Family[] {
  const listed = servers.slice(0, MAX_SERVERS).map((server) => ({
    server,
    labels: serverLabel(server),
  }));
  const each = (value: (server: WatchedServer) => number): Sample[] =>
    listed.map(({ server, labels }) => ({ labels, value: value(server) }));
  const states = [...statesOf(servers).values()];
  const countOf = (state: boolean | undefined) => states.filter((one) => one === state).length;
  return [
    metricFamily(
      "up",
      "gauge",
      "1: the server is online by the reported events; 0: offline; NaN: not yet known.",
      each(upOf),
    ),
    metricFamily("players", "gauge", "Players online; NaN: unknown.", each(playersOf)),
    metricFamily("players_max", "gauge", "Player slots; NaN: unknown.", each(slotsOf)),
    metricFamily(
      "latency_seconds",
      "gauge",
      "Round-trip time; NaN: offline or unknown.",
      each(latencyOf),
    ),
    metricFamily("servers", "gauge", "Watched addresses and ports by state.", [
      { labels: { state: "online" }, value: countOf(true) },
      { labels: { state: "offline" }, value: countOf(false) },
      { labels: { state: "unknown" }, value: countOf(undefined) },
    ]),
    gauge(
      "servers_without_series",
      `Servers beyond the first ${MAX_SERVERS}, which have no series of their own.`,
      servers.length - listed.length,
    ),
  ];
}

/** The state of each address and port: several names of one are several servers. */
function statesOf(
  servers: readonly WatchedServer[],
): ReadonlyMap<number | bigint, boolean | undefined> {
  const states = new Map<number | bigint, boolean | undefined>();
  for (const { endpoint, reportedOnline: online } of servers) {
    const key = endpointKey(endpoint);
    const other = states.get(key);
    states.set(key, online || other ? true : online ?? other);
  }
  return states;
}

/** The state by the reported events: an alert from it and one from a webhook agree. */
function upOf({ reportedOnline: online }: WatchedServer): number {
  return online === undefined ? NaN : online ? 1 : 0;
}

/** An offline server has no players. Those of a server that only other watches reach are unknown. */
function playersOf({ reportedOnline, online, row }: WatchedServer): number {
  return reportedOnline === false ? 0 : online === false ? NaN : row?.players_online ?? NaN;
}

/** The slots of an offline server are those of its last reply. */
function slotsOf({ row }: WatchedServer): number {
  return row?.players_max ?? NaN;
}

function latencyOf({ reportedOnline, online, row }: WatchedServer): number {
  return reportedOnline && online ? (row?.latency_ms ?? NaN) / 1000 : NaN;
}
