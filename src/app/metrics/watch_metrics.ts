/**
 * The metrics of a watch.
 *
 * @module
 */
import { formatEndpoint } from "../../core/address.ts";
import type { Journal, WatchCounts, WatchedServer, WatchEvent } from "../../watch/mod.ts";
import { type Family, Histogram, type Sample } from "./prometheus_text.ts";
import { counter, gauge, metricFamily } from "./scan_metrics.ts";

/** Maximum number of servers with a time series of their own; later ones have none. */
const MOST_SERVERS = 10_000;
/** Bucket bounds of the delay of polls, seconds. */
const LATE = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5, 30];
/** The kinds of events: each has a value from the start. */
const EVENTS: readonly WatchEvent["event"][] = [
  ...["online", "offline", "changed", "players", "restarted", "opted_out"] as const,
];

/** Counts what a watch does. */
export class WatchMetrics {
  readonly #late = new Histogram(LATE);
  readonly #events = new Map<string, number>(EVENTS.map((event) => [event, 0]));

  /** Starts with zero events and no late polls. */
  constructor(
    private readonly servers: readonly WatchedServer[],
    private readonly counts: WatchCounts,
    private readonly journals: readonly Journal[],
  ) {}

  /** Counts the delay of a poll against its schedule, milliseconds. */
  late(ms: number): void {
    this.#late.add(ms / 1000);
  }

  /** Counts an event by its kind. */
  add({ event }: WatchEvent): void {
    this.#events.set(event, this.#events.get(event)! + 1);
  }

  /** All metric families, with their current values. */
  families(): Family[] {
    const { servers, counts, journals } = this;
    const listed = servers.slice(0, MOST_SERVERS).map((server) => ({
      server,
      labels: { server: formatEndpoint(server.endpoint) },
    }));
    const each = (value: (server: WatchedServer) => number): Sample[] =>
      listed.map(({ server, labels }) => ({ labels, value: value(server) }));
    const up = (state: boolean | undefined) => servers.filter(({ online }) => online === state);
    const sum = (of: (journal: Journal) => number) =>
      journals.reduce((all, journal) => all + of(journal), 0);
    return [
      metricFamily(
        "up",
        "gauge",
        "1: the server is online; 0: offline; NaN: not yet known.",
        each(upOf),
      ),
      metricFamily("players", "gauge", "Players online; NaN: unknown.", each(playersOf)),
      metricFamily(
        "latency_seconds",
        "gauge",
        "Round-trip time; NaN: offline or unknown.",
        each(latencyOf),
      ),
      metricFamily("servers", "gauge", "Watched servers by state.", [
        { labels: { state: "online" }, value: up(true).length },
        { labels: { state: "offline" }, value: up(false).length },
        { labels: { state: "unknown" }, value: up(undefined).length },
      ]),
      gauge(
        "servers_without_series",
        `Servers beyond the first ${MOST_SERVERS}, which have no series of their own.`,
        servers.length - listed.length,
      ),
      counter("polls", "Finished polls.", counts.polls),
      counter("polls_replied", "Polls with a reply.", counts.replied),
      counter("polls_deferred", "Polls deferred for lack of descriptors.", counts.deferred),
      metricFamily(
        "poll_delay_seconds",
        "histogram",
        "Delay of polls against their schedule.",
        this.#late.samples,
      ),
      gauge(
        "poll_delay_max_seconds",
        "Longest delay of a poll against its schedule.",
        counts.maxLateMs / 1000,
      ),
      metricFamily(
        "events",
        "counter",
        "Events by kind.",
        [...this.#events].map(([event, value]) => ({ labels: { event }, value })),
      ),
      counter(
        "observations_written",
        "Observations written to databases.",
        sum(({ written }) => written),
      ),
      counter(
        "observations_lost",
        "Observations that no database accepted.",
        sum(({ lost }) => lost),
      ),
    ];
  }
}

function upOf({ online }: WatchedServer): number {
  return online === undefined ? NaN : online ? 1 : 0;
}

/** An offline server has no players. */
function playersOf({ online, row }: WatchedServer): number {
  return online === false ? 0 : row?.players_online ?? NaN;
}

function latencyOf({ online, row }: WatchedServer): number {
  return online ? (row?.latency_ms ?? NaN) / 1000 : NaN;
}
